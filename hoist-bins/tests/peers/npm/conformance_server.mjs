// A server for the official conformance suite's server mode: all that its scenarios ask for, at one
// endpoint, in every era the suite knows. Written with the TypeScript SDK; what it offers is in
// conformance_offers.mjs.
//
//   node conformance_server.mjs [PORT]      on loopback; its URL is the first line
//
// Requests that carry the metadata of 2026-07-28 are served one by one, all others in sessions.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import {
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  hostHeaderValidationResponse,
  isInitializeRequest,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from "@modelcontextprotocol/server";

import { offers } from "./conformance_offers.mjs";

// How long a client waits before it asks again for the rest of a stream.
const RETRY_MS = 100;

const modern = createMcpHandler(() => offers(modern.notify), { legacy: "reject" });
const sessions = new Map();

/** What went over a session's streams, so that a client can ask for the rest of one. */
class Sent {
  events = [];

  async storeEvent(streamId, message) {
    const eventId = `${this.events.length}-${streamId}`;
    this.events.push({ eventId, streamId, message });
    return eventId;
  }

  async getStreamIdForEventId(eventId) {
    return this.events.find((event) => event.eventId === eventId)?.streamId;
  }

  async replayEventsAfter(lastEventId, { send }) {
    const streamId = await this.getStreamIdForEventId(lastEventId);
    const position = this.events.findIndex((event) => event.eventId === lastEventId);
    for (const event of this.events.slice(position + 1)) {
      // A priming event has nothing to send again.
      if (event.streamId === streamId && event.message.jsonrpc) {
        await send(event.eventId, event.message);
      }
    }
    return streamId;
  }
}

function refuse(status, code, message) {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}

async function inSession(request, parsedBody) {
  const id = request.headers.get("mcp-session-id");
  if (id !== null) {
    const transport = sessions.get(id);
    return transport
      ? transport.handleRequest(request, { parsedBody })
      : refuse(404, -32001, "Session not found");
  }
  if (!isInitializeRequest(parsedBody)) {
    return refuse(400, -32000, "Only an initialize request can do without a session");
  }
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
    eventStore: new Sent(),
    retryInterval: RETRY_MS,
  });
  const server = offers({
    toolsChanged: () => server.sendToolListChanged(),
    promptsChanged: () => server.sendPromptListChanged(),
  });
  await server.connect(transport);
  return transport.handleRequest(request, { parsedBody });
}

async function answer(request) {
  const refused =
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins());
  if (refused) {
    return refused;
  }
  if (new URL(request.url).pathname !== "/mcp") {
    return new Response(null, { status: 404 });
  }
  const text = request.method === "POST" ? await request.clone().text() : "";
  let parsedBody;
  try {
    parsedBody = text ? JSON.parse(text) : undefined;
  } catch {
    // Both sides answer a body that is no JSON.
  }
  return (await isLegacyRequest(request.clone(), parsedBody))
    ? inSession(request, parsedBody)
    : modern.fetch(request);
}

/** One exchange of Node's server as the SDK's requests and responses. */
async function serve(incoming, outgoing) {
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  const { method, headers } = incoming;
  const hasBody = method !== "GET" && method !== "HEAD";
  const request = new Request(`http://127.0.0.1${incoming.url}`, {
    method,
    headers: Object.entries(headers).flatMap(([name, value]) =>
      [value].flat().map((one) => [name, one]),
    ),
    body: hasBody ? Readable.toWeb(incoming) : undefined,
    duplex: "half",
    signal: gone.signal,
  });
  const response = await answer(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  // A client must learn at once that a stream is open, not only when something is sent over it.
  outgoing.flushHeaders();
  if (response.body) {
    await pipeline(Readable.fromWeb(response.body), outgoing).catch((error) => {
      if (!gone.signal.aborted) throw error;
    });
  } else {
    outgoing.end();
  }
}

const listener = createServer((incoming, outgoing) => {
  serve(incoming, outgoing).catch((error) => {
    console.error(error);
    outgoing.destroy();
  });
});
listener.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${listener.address().port}/mcp`);
});
