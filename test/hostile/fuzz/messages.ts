import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { ToolkitError } from "../../../src/core/error.ts";
import { LineReader } from "../../../src/lib/child/child-output.ts";
import { inMemoryConnector } from "../../../src/mcp/index.ts";
import { parseMessages } from "../../../src/mcp/rpc/rpc-message.ts";
import { eventFeed } from "../../../src/mcp/transport/http/http-exchange.ts";
import type { ServerTransport } from "../../../src/mcp/transport/in-memory-transport.ts";
import { answeredBy } from "../../../src/mcp/transport/stdio/answered-by.ts";
import { Toolkit } from "../../../src/toolkit/toolkit.ts";
import type { Random } from "../../support/random.ts";
import type { HostileArea, HostileCase } from "./area.ts";

const mebibyte = 1024 * 1024;
const keys =
  "jsonrpc id method params result error code message data tools name inputSchema outputSchema annotations title description prompts arguments resources uri mimeType resourceTemplates uriTemplate nextCursor content type text blob isError structuredContent contents messages role _meta progressToken progress total capabilities protocolVersion serverInfo instructions __proto__ constructor".split(
    " ",
  );
const words = [
  "",
  "a",
  "tool",
  "\u202eevil\u0007",
  "\ud800",
  "2.0",
  "echo",
  "memo://one",
  "{+x}{?y*}",
  "text",
  "image",
  "object",
  "1e999",
  "%",
];
const results: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, prompts: {}, resources: {} },
    serverInfo: { name: "evil", version: "1" },
  },
  "tools/list": { tools: [{ name: "tool", inputSchema: { type: "object" }, outputSchema: { type: "object" } }] },
  "prompts/list": { prompts: [{ name: "prompt", arguments: [{ name: "a" }] }] },
  "resources/list": { resources: [{ uri: "memo://one", name: "one" }] },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: "memo://{x}", name: "any" }] },
  "tools/call": { content: [{ type: "text", text: "done" }], structuredContent: {} },
  "prompts/get": { messages: [{ role: "user", content: { type: "text", text: "hi" } }] },
  "resources/read": { contents: [{ uri: "memo://one", text: "one" }] },
  ping: {},
};

const linePieces = ['{"jsonrpc":"2.0","id":', "[", "{", '"', "\\u0000", "\n", "\r", '{"a":', "\ud83d\ude00", "1"];
const eventPieces = [
  "data: {}",
  "\n",
  "\r\n",
  "\r",
  ":",
  "id: ",
  "event: message\n",
  "retry: 1\n",
  "data",
  "\0",
  "data: [",
];

/** The messages of a server: bytes of stdout and of streams, and answers of any form to every request of a whole connection. */
export const messageFuzz: HostileArea = {
  name: "messages",
  *cases(random) {
    for (;;) yield caseOf(random);
  },
};

function caseOf(random: Random): HostileCase {
  const kind = Math.floor(random() * 4);
  if (kind === 0) {
    const bytes = Buffer.from(stretched(random, linePieces));
    return { describe: `lines of ${bytes.length} bytes`, run: () => readLines(bytes, random) };
  }
  if (kind === 1) {
    const text = stretched(random, eventPieces);
    return { describe: `events of ${text.length} characters`, run: () => readEvents(text, random) };
  }
  const answer = answers(random);
  return { describe: "a connection", run: () => connect(answer, random) };
}

/** Pieces repeated up to 1 MiB in all. */
function stretched(random: Random, pieces: readonly string[]): string {
  const pick = () => pieces[Math.floor(random() * pieces.length)] ?? "";
  let text = "";
  const parts = 1 + Math.floor(random() * 5);
  for (let part = 0; part < parts; part += 1) {
    const unit = Array.from({ length: 1 + Math.floor(random() * 3) }, pick).join("");
    text += unit.repeat(Math.floor(2 ** (random() * 19)) / Math.max(1, unit.length) + 1);
  }
  return text.slice(0, mebibyte);
}

async function readLines(bytes: Buffer, random: Random): Promise<void> {
  const reader = new LineReader({
    maxBytes: random() < 0.5 ? 64 * 1024 : mebibyte,
    onLine: (line) => void parseMessages(line),
    onOverlong: (line) => void answeredBy(line),
  });
  for (const chunk of chunksOf(bytes, random)) {
    reader.push(chunk);
    // Each chunk of a stream comes in a turn of its own.
    await nextTurn();
  }
}

async function readEvents(text: string, random: Random): Promise<void> {
  const feed = eventFeed({ event: (_name, data) => void parseMessages(data) }, mebibyte);
  try {
    for (const chunk of chunksOf(Buffer.from(text), random)) {
      feed(chunk.toString("utf8"));
      await nextTurn();
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
}

function* chunksOf(bytes: Buffer, random: Random): Iterable<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const next = at + 1 + Math.floor(2 ** (4 + random() * 12));
    yield bytes.subarray(at, next);
    at = next;
  }
}

/** Gives the answer to a request: that of a good server with parts replaced, removed or multiplied. */
function answers(random: Random): (method: string) => unknown {
  const changes = Math.floor(random() * 4);
  return (method) => {
    let result: unknown = structuredClone(results[method] ?? {});
    if (method === "initialize" && random() < 0.8) return result;
    for (let change = 0; change < changes; change += 1) result = changed(result, random);
    return result;
  };
}

function changed(value: unknown, random: Random): unknown {
  if (typeof value !== "object" || value === null || random() < 0.15 || (Array.isArray(value) && value.length === 0))
    return anything(random, 0, { left: 5_000 });
  if (Array.isArray(value)) {
    const [first] = value;
    const isOne = value.length === 1 && typeof first === "object";
    if (isOne && random() < 0.3) {
      const length = Math.floor(2 ** (random() * 13));
      return Array.from({ length }, (_, at) => ({ ...first, name: `n${at}`, uri: `memo://${at}` }));
    }
    const at = Math.floor(random() * value.length);
    return value.with(at, changed(value[at], random));
  }
  const entries = Object.entries(value);
  const at = Math.floor(random() * (entries.length + 1));
  if (at === entries.length) return { ...value, [word(random, keys)]: anything(random, 0, { left: 5_000 }) };
  return Object.fromEntries(entries.map(([key, entry], index) => [key, index === at ? changed(entry, random) : entry]));
}

function word(random: Random, list: readonly string[]): string {
  return list[Math.floor(random() * list.length)] ?? "";
}

/** Any JSON value, of at most so many values and as many characters as a message of a mebibyte has. */
function anything(random: Random, depth: number, room: { left: number }): unknown {
  room.left -= 1;
  if (room.left < 0) return null;
  const kind = Math.floor(random() * (depth > 6 ? 6 : 10));
  if (kind === 0) return null;
  if (kind === 1) return random() < 0.5;
  if (kind === 2) return [0, -1, 1e308, 0.1, 2 ** 53, -0][Math.floor(random() * 6)];
  if (kind === 3) return word(random, words);
  if (kind === 4) {
    room.left -= 1_000;
    return word(random, words).repeat(Math.floor(2 ** (random() * 14)));
  }
  if (kind === 5) {
    const levels = Math.min(room.left, Math.floor(2 ** (random() * 12)));
    room.left -= levels;
    return nested(levels);
  }
  const count = Math.floor(2 ** (random() * (depth === 0 ? 10 : 3)));
  if (kind < 8) return Array.from({ length: count }, () => anything(random, depth + 1, room));
  return Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      at % 3 === 0 ? word(random, keys) : `k${at}`,
      anything(random, depth + 1, room),
    ]),
  );
}

function nested(depth: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { properties: value };
  return value;
}

async function connect(answer: (method: string) => unknown, random: Random): Promise<void> {
  const serve = (transport: ServerTransport) => {
    transport.onmessage = (message) => {
      const { id, method } = message as { readonly id?: number; readonly method: string };
      if (id === undefined) return;
      const reply = random() < 0.05 ? { error: anything(random, 3, { left: 1_000 }) } : { result: answer(method) };
      transport.send({ jsonrpc: "2.0", id, ...reply }).catch(() => {});
      if (random() < 0.2) transport.send(anything(random, 0, { left: 5_000 })).catch(() => {});
      if (random() < 0.2)
        transport
          .send({
            jsonrpc: "2.0",
            method: word(random, [
              "notifications/message",
              "notifications/progress",
              "notifications/tools/list_changed",
              "notifications/resources/updated",
              "notifications/cancelled",
            ]),
            params: anything(random, 0, { left: 5_000 }),
          })
          .catch(() => {});
      if (random() < 0.1)
        transport
          .send({
            jsonrpc: "2.0",
            id: word(random, words),
            method: word(random, ["ping", "sampling/createMessage", "elicitation/create", "roots/list"]),
            params: anything(random, 0, { left: 5_000 }),
          })
          .catch(() => {});
    };
    return transport.start();
  };
  await using toolkit = new Toolkit();
  const connection = toolkit.addConnector(inMemoryConnector(serve), {
    namespace: "far",
    retryMs: 60_000,
    connectTimeoutMs: 1_000,
  });
  await Promise.race([connection.ready().catch(refused), delay(1_000, undefined, { ref: false })]);
  const options = { timeoutMs: 500 };
  const { entries } = await toolkit.list({ kind: ["tool", "prompt", "resource", "template"] });
  await toolkit.call("far.tool", {}, options).then((content) => content.text(), refused);
  await toolkit.render("far.prompt", { a: "1" }, options).catch(refused);
  await toolkit.read("memo://one#far", options).then((content) => content.text(), refused);
  for (const { kind, ref } of entries.slice(0, 3))
    if (kind === "tool") await toolkit.call(ref, {}, options).catch(refused);
  await toolkit.explain("far.tool");
}

function refused(error: unknown): void {
  if (!ToolkitError.is(error)) throw error;
}
