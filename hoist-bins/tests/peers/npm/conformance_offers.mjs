// What conformance_server.mjs offers: the tools, prompts and resources that the official
// conformance suite's scenarios name, with the answers they ask for.

import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import {
  McpServer,
  ResourceTemplate,
  acceptedContent,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  inputResponse,
} from "@modelcontextprotocol/server";

// A red pixel, and a sound of no length.
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQAY3Y2wAAAAAElFTkSuQmCC";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const STEP_MS = 50;

const state = createRequestStateCodec({ key: randomBytes(32) });

const text = (text) => ({ type: "text", text });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const embedded = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
const said = (...content) => ({ content });
const object = (properties, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
});
const string = (description) => ({ type: "string", ...(description && { description }) });

/** What the user is asked for. */
const form = (message, properties, required) =>
  inputRequired.elicit({ message, requestedSchema: object(properties, required) });
const ask = (words, maxTokens) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: text(words) }],
    maxTokens,
  });

const listed = (values, titles) =>
  values.map((value, index) => ({ const: value, title: titles[index] }));

// Every keyword here has to reach the client; nothing is checked against them.
const JSON_SCHEMA_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: string(), city: string() },
    },
  },
  properties: {
    name: string(),
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: string(),
    email: string(),
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

/** Tools that only answer, and what they tell on the way. */
function addTools(tool, notify) {
  // The first, since the suite calls the first tool of the list without arguments.
  tool("test_simple_text", "Answers with text.", () =>
    said(text("This is a simple text response for testing.")));
  tool("test_image_content", "Answers with an image.", () => said(image));
  tool("test_audio_content", "Answers with a sound.", () =>
    said({ type: "audio", data: WAV, mimeType: "audio/wav" }));
  const inner = "This is an embedded resource content.";
  tool("test_embedded_resource", "Answers with a resource.", () =>
    said(embedded("test://embedded-resource", "text/plain", inner)));
  tool("test_multiple_content_types", "Answers with text, an image and a resource.", () =>
    said(
      text("Multiple content types test:"),
      image,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ));
  tool("test_error_handling", "Fails.", () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  tool("test_tool_with_logging", "Logs three messages.", async (_, { mcpReq }) => {
    await mcpReq.log("info", "Tool execution started");
    await delay(STEP_MS);
    await mcpReq.log("info", "Tool processing data");
    await delay(STEP_MS);
    await mcpReq.log("info", "Tool execution completed");
    return said(text("Three messages were logged"));
  });
  tool("test_logging_tool", "Logs, for those who asked for it.", async (_, { mcpReq }) => {
    await mcpReq.log("info", "Only for those who asked for it");
    return said(text("logged"));
  });
  tool("test_tool_with_progress", "Reports progress where asked.", async (_, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        const params = { progressToken, progress, total: 100 };
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      await delay(progress < 100 ? STEP_MS : 0);
    }
    return said(text("Done in three steps"));
  });
  tool("test_reconnection", "Ends its stream before it answers.", async (_, { http }) => {
    http?.closeSSE?.();
    await delay(STEP_MS);
    return said(text("The rest of the stream"));
  });
  tool("json_schema_2020_12_tool", "Has a schema of many keywords.", () => said(text("called")),
    JSON_SCHEMA_2020_12);
  tool("test_x_mcp_header", "Has parameters that a client repeats in headers.",
    ({ region, limit }) => said(text(`${limit} of ${region}`)),
    object({
      region: { ...string("Where to look"), "x-mcp-header": "Region" },
      limit: { type: "integer", "x-mcp-header": "Limit" },
    }));
  // Nothing changes: what matters is who is told.
  tool("test_trigger_tool_change", "Says that the tools have changed.", () => {
    notify.toolsChanged();
    return said(text("told"));
  });
  tool("test_trigger_prompt_change", "Says that the prompts have changed.", () => {
    notify.promptsChanged();
    return said(text("told"));
  });
}

/** Tools that ask for input; before 2026-07-28 the SDK asks with requests of its own. */
function addAskingTools(tool) {
  /** Asks for what has not come yet, and answers when all is there. */
  const asking = (inputRequests, answer) => (args, ctx) => {
    const requests = typeof inputRequests === "function" ? inputRequests(args, ctx) : inputRequests;
    const responses = ctx.mcpReq.inputResponses;
    const missing = Object.entries(requests).filter(
      ([key]) => inputResponse(responses, key).kind === "missing",
    );
    return missing.length > 0
      ? inputRequired({ inputRequests: Object.fromEntries(missing) })
      : answer(responses, ctx);
  };
  const told = (key, prefix) => (responses) => {
    const { action, content } = responses[key];
    return said(text(`${prefix}: action=${action}, content=${JSON.stringify(content)}`));
  };
  const sampled = (key) => (responses) => {
    const content = [responses[key].content].flat();
    return said(text(`LLM response: ${content.map((item) => item.text).join("")}`));
  };

  tool("test_sampling", "Asks the client's model.",
    asking(({ prompt }) => ({ sampling: ask(prompt, 100) }), sampled("sampling")),
    object({ prompt: string("What to ask the model") }));
  tool("test_elicitation", "Asks the user.",
    asking(
      ({ message }) => ({
        user: form(message, {
          username: string("User's response"),
          email: string("User's email address"),
        }),
      }),
      told("user", "User response"),
    ),
    object({ message: string("What to ask the user") }));
  tool("test_elicitation_sep1034_defaults", "Asks the user, with defaults.",
    asking({
      user: form("Correct what is wrong", {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      }, []),
    }, told("user", "Elicitation completed")));
  const options = ["option1", "option2", "option3"];
  const values = ["value1", "value2", "value3"];
  tool("test_elicitation_sep1330_enums", "Asks the user to choose.",
    asking({
      user: form("Choose", {
        untitledSingle: { type: "string", enum: options },
        titledSingle: {
          type: "string",
          oneOf: listed(values, ["First Option", "Second Option", "Third Option"]),
        },
        legacyEnum: {
          type: "string",
          enum: ["opt1", "opt2", "opt3"],
          enumNames: ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti: { type: "array", items: { type: "string", enum: options } },
        titledMulti: {
          type: "array",
          items: { anyOf: listed(values, ["First Choice", "Second Choice", "Third Choice"]) },
        },
      }, []),
    }, told("user", "Elicitation completed")));

  const name = () => form("What is your name?", { name: string() });
  const ok = () => form("Please confirm", { ok: { type: "boolean" } });
  const capital = () => ask("What is the capital of France?", 100);
  tool("test_input_required_result_elicitation", "Asks the user for a name.",
    asking({ user_name: name() }, (responses) =>
      said(text(`Hello, ${acceptedContent(responses, "user_name")?.name ?? "stranger"}!`))));
  tool("test_streaming_elicitation", "Asks the user for a name.",
    asking({ user_name: name() }, told("user_name", "Elicitation completed")));
  tool("test_input_required_result_sampling", "Asks the client's model.",
    asking({ capital_question: capital() }, sampled("capital_question")));
  tool("test_missing_capability", "Asks the client's model.",
    asking({ capital_question: capital() }, sampled("capital_question")));
  tool("test_input_required_result_list_roots", "Asks for the client's roots.",
    asking({ client_roots: inputRequired.listRoots() }, (responses) =>
      said(text(responses.client_roots.roots.map((root) => root.uri).join(", ")))));
  tool("test_input_required_result_capabilities", "Asks for what the client can give.",
    asking(
      (_, { mcpReq }) => {
        const declared = mcpReq.envelope?.["io.modelcontextprotocol/clientCapabilities"] ?? {};
        return {
          ...(declared.elicitation && { user_name: name() }),
          ...(declared.sampling && { capital_question: capital() }),
        };
      },
      (responses) => said(text(`Given: ${Object.keys(responses ?? {}).join(", ")}`)),
    ));

  /** Goes through rounds of input; how far it is goes to the client and comes back. */
  const rounds = (steps, answer) => async (_, { mcpReq }) => {
    const past = mcpReq.requestState() ?? 0;
    const has = (key) => inputResponse(mcpReq.inputResponses, key).kind !== "missing";
    const given = past > 0 && Object.keys(steps[past - 1]).every(has);
    const next = given ? past : Math.max(past - 1, 0);
    return next === steps.length
      ? said(text(answer))
      : inputRequired({ inputRequests: steps[next], requestState: await state.mint(next + 1) });
  };
  tool("test_input_required_result_request_state", "Asks, and keeps its state with the client.",
    rounds([{ confirm: ok() }], "state-ok"));
  tool("test_input_required_result_tampered_state", "Asks, and keeps its state with the client.",
    rounds([{ confirm: ok() }], "state-ok"));
  tool("test_input_required_result_multiple_inputs", "Asks for three things at once.",
    rounds([{
      user_name: name(),
      greeting: ask("Generate a greeting", 50),
      client_roots: inputRequired.listRoots(),
    }], "All three are here"));
  tool("test_input_required_result_multi_round", "Asks twice.",
    rounds([
      { step1: form("Step 1: What is your name?", { name: string() }) },
      { step2: form("Step 2: What is your favorite color?", { color: string() }) },
    ], "Both steps are done"));
}

function addPrompts(server) {
  const prompt = (name, description, get, properties) =>
    server.registerPrompt(
      name,
      { description, ...(properties && { argsSchema: fromJsonSchema(object(properties)) }) },
      get,
    );
  const messages = (...contents) => ({
    messages: contents.map((content) => ({ role: "user", content })),
  });
  prompt("test_simple_prompt", "Has no arguments.", () =>
    messages(text("This is a simple prompt for testing.")));
  prompt("test_prompt_with_arguments", "Has two arguments.",
    ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
    { arg1: string("First test argument"), arg2: string("Second test argument") });
  prompt("test_prompt_with_embedded_resource", "Has a resource.",
    ({ resourceUri }) =>
      messages(
        embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
    { resourceUri: string("URI of the resource to embed") });
  prompt("test_prompt_with_image", "Has an image.", () =>
    messages(image, text("Please analyze the image above.")));
  prompt("test_input_required_result_prompt", "Asks the user.", ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, "user_context");
    const question = "What context should the prompt use?";
    return given
      ? messages(text(`In the context of ${given.context}`))
      : inputRequired({ inputRequests: { user_context: form(question, { context: string() }) } });
  });
}

function addResources(server) {
  const resource = (name, description, mimeType, content) => {
    const uri = `test://${name}`;
    server.registerResource(name, uri, { description, mimeType }, () => ({
      contents: [{ uri, mimeType, ...content }],
    }));
  };
  resource("static-text", "A text.", "text/plain", {
    text: "This is the content of the static text resource.",
  });
  resource("static-binary", "A picture.", "image/png", { blob: PNG });
  resource("watched-resource", "One to subscribe to.", "text/plain", { text: "Never changes." });
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { description: "Data by id.", mimeType: "application/json" },
    (uri, { id }) => ({
      contents: [{
        uri: uri.href,
        mimeType: "application/json",
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
      }],
    }),
  );
}

/** A server that offers all of it; `notify` tells who listens that a list has changed. */
export function offers(notify) {
  const server = new McpServer(
    { name: "conformance-peer", version: "1" },
    {
      instructions: "Offers what the conformance suite asks for.",
      capabilities: { completions: {}, logging: {}, resources: { subscribe: true } },
      requestState: { verify: state.verify },
    },
  );
  const tool = (name, description, call, schema = object({})) =>
    server.registerTool(name, { description, inputSchema: fromJsonSchema(schema) }, call);
  addTools(tool, notify);
  addAskingTools(tool);
  addPrompts(server);
  addResources(server);
  const known = ["paris", "park", "party"];
  server.server.setRequestHandler("completion/complete", ({ params }) => {
    const values = known.filter((word) => word.startsWith(params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  // No resource changes, so there is nobody to remember.
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
  return server;
}
