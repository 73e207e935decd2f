/**
 * A model for the benches, in a process of its own: OpenAI's Chat Completions as a stream. It calls the first tool it is offered,
 * then answers in so many pieces, one each so many milliseconds. Prints its URL; ends when stdin does.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The options of a model. */
export interface ModelServerOptions {
  readonly pieces: number;
  readonly pieceMs: number;
  /** The wait before the first piece. A tool call then comes at once. Default: pieces of both, each after `pieceMs`. */
  readonly firstMs?: number | undefined;
  /** The time that the tool at `/tool` takes. */
  readonly toolMs?: number | undefined;
}

const { pieces, pieceMs, firstMs, toolMs = 0 }: ModelServerOptions = JSON.parse(process.argv[2] ?? "{}");

const frame = (fields: object): string =>
  `data: ${JSON.stringify({ id: "bench", object: "chat.completion.chunk", created: 1, model: "bench", ...fields })}\n\n`;
const piece = (delta: object, finish: string | null = null): string =>
  frame({ choices: [{ index: 0, delta, finish_reason: finish }] });
const usage = frame({
  choices: [],
  usage: { prompt_tokens: 100, completion_tokens: pieces, total_tokens: 100 + pieces },
});
const end = `${usage}data: [DONE]\n\n`;

const called = { name: "weather", arguments: "" };
const call = [
  piece({
    role: "assistant",
    content: null,
    tool_calls: [{ index: 0, id: "call_1", type: "function", function: called }],
  }),
  piece({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
  piece({ tool_calls: [{ index: 0, function: { arguments: '"Bern"}' } }] }),
  `${piece({}, "tool_calls")}${end}`,
];
const answer = [
  piece({ role: "assistant", content: "" }),
  ...Array.from({ length: pieces }, (_, at) => piece({ content: `word${at} ` })),
  `${piece({}, "stop")}${end}`,
];

let connections = 0;
const server = createServer(async (request, response) => {
  if (request.url === "/connections") return void response.end(String(connections));
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  if (request.url === "/tool") {
    setTimeout(() => response.end('{"temperature":21,"sky":"clear"}'), toolMs);
    return;
  }
  const { messages } = JSON.parse(body) as { messages: readonly { role: string }[] };
  response.writeHead(200, { "content-type": "text/event-stream" });
  const frames = messages.at(-1)?.role === "tool" ? answer : call;
  if (firstMs === undefined) return tell(response, frames);
  setTimeout(() => (frames === call ? response.end(call.join("")) : tell(response, answer)), firstMs);
});
server.on("connection", () => {
  connections += 1;
});
// Longer than a side that is busy leaves a connection alone: to be hung up on is not what is measured.
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", 4_096, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1\n`);
});
process.stdin.resume().once("end", () => process.exit(0));

function tell(response: ServerResponse, frames: readonly string[]): void {
  let at = 0;
  const timer = setInterval(() => {
    response.write(frames[at] ?? "");
    at += 1;
    if (at < frames.length) return;
    clearInterval(timer);
    response.end();
  }, pieceMs);
  response.once("close", () => clearInterval(timer));
}
