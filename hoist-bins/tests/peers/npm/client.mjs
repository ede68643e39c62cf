// A client of the TypeScript SDKs: takes the steps of ../steps.md and prints a line for each.
//
//   node client.mjs v1|v2|v2-auto STEPS.json COMMAND [ARGUMENT...]
//   node client.mjs v1|v2|v2-auto STEPS.json URL
//
// By URL, what HOIST_SESSION holds names the session in the header Hoist-Session.

import { readFileSync } from "node:fs";

const [kind, stepsFile, command, ...args] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(stepsFile, "utf8"));
const print = (line) => console.log(JSON.stringify(line));
const byUrl = /^https?:/.test(command);
const { HOIST_SESSION } = process.env;
const named = HOIST_SESSION && { requestInit: { headers: { "Hoist-Session": HOIST_SESSION } } };
const answer = () => ({ action: "accept", content: { name: "Ada" } });
const sample = () => ({
  role: "assistant",
  content: { type: "text", text: "I am the model" },
  model: "test-model",
});

async function connect() {
  const info = { name: `hoist-test-${kind}`, version: "1" };
  const capabilities = { elicitation: {}, sampling: {} };
  if (kind === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const { CreateMessageRequestSchema, ElicitRequestSchema } = await import(
      "@modelcontextprotocol/sdk/types.js"
    );
    const client = new Client(info, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, answer);
    client.setRequestHandler(CreateMessageRequestSchema, sample);
    const { StreamableHTTPClientTransport } = await import(
      "@modelcontextprotocol/sdk/client/streamableHttp.js"
    );
    const transport = byUrl
      ? new StreamableHTTPClientTransport(new URL(command), named)
      : new StdioClientTransport({ command, args });
    await client.connect(transport);
    const call = (params, options) => client.callTool(params, undefined, options);
    return { client, call };
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const auto = kind === "v2-auto" ? { versionNegotiation: { mode: "auto" } } : {};
  const client = new Client(info, { capabilities, ...auto });
  client.setRequestHandler("elicitation/create", answer);
  client.setRequestHandler("sampling/createMessage", sample);
  const transport = byUrl
    ? new StreamableHTTPClientTransport(new URL(command), named)
    : new StdioClientTransport({ command, args });
  await client.connect(transport);
  return { client, call: (params, options) => client.callTool(params, options) };
}

const { client, call } = await connect();

const outcome = (step, options) =>
  shown(call({ name: step.call, arguments: step.arguments }, options));

async function shown(answer) {
  try {
    return { result: await answer };
  } catch (error) {
    const { name, code, message, data } = error;
    return { error: { name, code, message, data } };
  }
}

async function take(step) {
  if (step.list) {
    return (await client.listTools()).tools;
  }
  if (step.resources) {
    const { resources } = await client.listResources();
    return { resources, templates: (await client.listResourceTemplates()).resourceTemplates };
  }
  if (step.read) {
    return shown(client.readResource({ uri: step.read }));
  }
  if (step.prompts) {
    return (await client.listPrompts()).prompts;
  }
  if (step.prompt) {
    return shown(client.getPrompt({ name: step.prompt, arguments: step.arguments }));
  }
  if (step.together) {
    return Promise.all(step.together.map((one) => outcome(one)));
  }
  if (step.cancel) {
    const wanted = new AbortController();
    const slow = outcome(step.cancel, { signal: wanted.signal });
    // The answer to a later call shows that the server has this one.
    const beside = await outcome(step.beside);
    wanted.abort("no longer wanted");
    return { beside, cancelled: await slow };
  }
  if (step.progress) {
    const progress = [];
    let then;
    const onprogress = (note) => {
      if (progress.push(note) === step.progress) {
        then = outcome(step.then);
      }
    };
    return { outcome: await outcome(step, { onprogress }), progress, then: await then };
  }
  return { outcome: await outcome(step) };
}

print({ server: client.getServerVersion(), instructions: client.getInstructions() });
for (const step of steps) {
  print({ step, got: await take(step) });
}
if (client.transport?.terminateSession) {
  // The end of a session is the client's to say.
  await client.transport.terminateSession();
}
await client.close();
