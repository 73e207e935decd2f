import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { ConnectorSession } from "../../src/core/connector.ts";
import { type McpConnectorOptions, mcpConnector, nodeFetch } from "../../src/mcp/index.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { contextOf, never, RecordingHost } from "./fixture/host.ts";

const open = closedAfterEach();

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string };
}

type Answer = (socket: Socket, message: Message) => void;

/** A server that writes its answers byte by byte as the test has it; the handshake is polite. */
async function serve(answers: Readonly<Record<string, Answer>>) {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
      const [head = "", body] = text.split("\r\n\r\n", 2);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (body === undefined || Buffer.byteLength(body) < length) return;
      text = "";
      const method = head.split(" ", 1)[0] ?? "";
      const message: Message = body === "" ? {} : JSON.parse(body);
      requests.push(`${method} ${message.params?.name ?? message.method ?? ""}`.trim());
      if (method === "GET") socket.write(plain(405, ""));
      else if (message.method === "initialize") socket.write(json(initialized(message)));
      else if (message.id === undefined) socket.write(plain(202, ""));
      else answers[message.params?.name ?? ""]?.(socket, message);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets, requests };
}

const plain = (status: number, body: string, headers = "") =>
  `HTTP/1.1 ${status} X\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const json = (value: unknown) => plain(200, JSON.stringify(value), "content-type: application/json\r\n");
const eventHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const initialized = ({ id }: Message) => ({
  jsonrpc: "2.0",
  id,
  result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "raw", version: "1" } },
});
const result = ({ id }: Message) =>
  JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "fine" }] } });
const fine: Answer = (socket, message) => void socket.write(json(JSON.parse(result(message))));

async function connect(origin: string, options: McpConnectorOptions = {}): Promise<ConnectorSession> {
  // A client of its own: no test meets the connections of another.
  const session = await mcpConnector(origin, { fetch: nodeFetch(), ...options }).connect({
    signal: never,
    host: new RecordingHost(),
  });
  open.push(async () => session[Symbol.asyncDispose]());
  return session;
}

const call = (session: ConnectorSession, name: string) => session.call(name, {}, contextOf());

describe("an answer that is broken on purpose fails its own call, and the next one works", () => {
  const broken: Readonly<Record<string, readonly [Answer, code: string]>> = {
    "a chunked body that ends in the middle of a chunk": [
      (socket, message) => socket.end(`${eventHead}ff\r\ndata: ${result(message).slice(0, 20)}`),
      "OUTCOME_UNKNOWN",
    ],
    "half an event, and a polite end": [
      (socket, message) => socket.write(`${eventHead}${chunk(`data: ${result(message)}\n`)}0\r\n\r\n`),
      "OUTCOME_UNKNOWN",
    ],
    "a chunk size that is no number": [(socket) => socket.write(`${eventHead}zz\r\n`), "OUTCOME_UNKNOWN"],
    "a JSON body shorter than it says": [
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a"'),
      "OUTCOME_UNKNOWN",
    ],
    "a reset in the middle": [
      (socket) => {
        socket.write(eventHead);
        setImmediate(() => socket.resetAndDestroy());
      },
      "OUTCOME_UNKNOWN",
    ],
    "no HTTP at all": [(socket) => socket.end("nonsense\r\n\r\n"), "OUTCOME_UNKNOWN"],
    "202 with a body": [(socket) => socket.write(plain(202, "accepted")), "OUTCOME_UNKNOWN"],
    "204 with bytes behind it": [(socket) => socket.end("HTTP/1.1 204 X\r\n\r\nmore"), "OUTCOME_UNKNOWN"],
    "a body of another type": [
      (socket) => socket.write(plain(200, "{}", "content-type: text/plain\r\n")),
      "OUTCOME_UNKNOWN",
    ],
    "more headers than fit": [
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n${`x-more: ${"y".repeat(1_000)}\r\n`.repeat(100)}`),
      "OUTCOME_UNKNOWN",
    ],
    "a redirect to itself": [(socket) => socket.write(plain(307, "", "location: /\r\n")), "REMOTE_ERROR"],
    "bytes that are not what their coding says": [
      (socket) => socket.write(plain(200, "plain", "content-type: application/json\r\ncontent-encoding: gzip\r\n")),
      "OUTCOME_UNKNOWN",
    ],
    "a body encoded again and again": [
      (socket) => {
        const codings = Array.from({ length: 6 }, () => "gzip").join(", ");
        socket.write(
          `HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-encoding: ${codings}\r\ncontent-length: 9\r\n\r\nx`,
        );
      },
      "OUTCOME_UNKNOWN",
    ],
  };
  test.each(Object.entries(broken))("%s", async (name, [answer, code]) => {
    const { origin } = await serve({ [name]: answer, fine });
    const session = await connect(origin);
    expect((await failure(call(session, name))).code).toBe(code);
    expect(await (await call(session, "fine")).text()).toBe("fine");
  });
});

describe("an answer beyond a limit", () => {
  verifies("M12", "that is a small body which unpacks to a large one is refused before it is unpacked", async () => {
    const bomb = gzipSync(Buffer.alloc(200_000_000));
    const head = (type: string) =>
      `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`;
    const answer =
      (type: string): Answer =>
      (socket) => {
        socket.write(head(type));
        socket.write(bomb);
      };
    const { origin } = await serve({ json: answer("application/json"), events: answer("text/event-stream") });
    const session = await connect(origin, { maxMessageBytes: 1_000_000 });
    const before = process.memoryUsage().arrayBuffers;
    for (const name of ["json", "events"]) expect((await failure(call(session, name))).code).toBe("LIMIT_EXCEEDED");
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000);
  });

  verifies("M12", "that is an event without end, a line without end or a flood of line ends is bounded", async () => {
    const flood =
      (text: string): Answer =>
      (socket) => {
        socket.write(eventHead);
        const more = (): void => {
          if (socket.writable) socket.write(chunk(text), () => setImmediate(more));
        };
        more();
      };
    const { origin } = await serve({
      lines: flood(`data: ${"x".repeat(1_000)}\n`),
      line: flood("x".repeat(10_000)),
      comment: flood(`:${"x".repeat(10_000)}`),
      returns: (socket, message) => {
        socket.write(eventHead);
        for (let at = 0; at < 16; at += 1) socket.write(chunk("\r".repeat(65_536)));
        socket.write(`${chunk(`\n\ndata: ${result(message)}\n\n`)}0\r\n\r\n`);
      },
    });
    const session = await connect(origin, { maxMessageBytes: 100_000 });
    for (const name of ["lines", "line", "comment"])
      expect((await failure(call(session, name))).code, name).toBe("LIMIT_EXCEEDED");
    expect(await (await call(session, "returns")).text()).toBe("fine");
  });
});

test("a connection that is closed between two calls costs no call, whatever the moment", async () => {
  const { origin, sockets, requests } = await serve({ fine });
  const session = await connect(origin);
  for (let at = 0; at < 60; at += 1) {
    expect(await (await call(session, "fine")).text()).toBe("fine");
    for (const socket of sockets) at % 2 === 0 ? socket.end() : socket.resetAndDestroy();
    // Not a wait for anything: some of the calls are to come a moment after the end of their connection.
    if (at % 3 === 0) await delay(1);
  }
  // None was run twice.
  expect(requests.filter((request) => request === "POST fine")).toHaveLength(60);
});

test("sessions that were closed in every state leave no connection", async () => {
  const { origin, sockets } = await serve({ hang: (socket) => void socket.write(eventHead), fine });
  for (let at = 0; at < 20; at += 1) {
    const session = await connect(origin, { fetch: nodeFetch({ idleMs: 10 }) });
    const hanging = failure(call(session, "hang"));
    await call(session, "fine");
    await session[Symbol.asyncDispose]();
    expect((await hanging).code).toBe("OUTCOME_UNKNOWN");
  }
  // A connection may be accepted while others are waited for; one that is kept open ends the test by its time.
  while (sockets.size > 0) await Promise.all([...sockets].map((socket) => once(socket, "close")));
});

test("a connection that does not come about ends with the attempt", async () => {
  const closed = Promise.withResolvers<void>();
  // It never says a word, so that no TLS connection comes about.
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .on("close", () => closed.resolve())
      .resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => new Promise((resolve) => server.close(resolve)));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const fetch = nodeFetch({ connectTimeoutMs: 3_600_000 });
  const connector = mcpConnector(url, { fetch, connectTimeoutMs: 50 });
  const error = await failure(connector.connect({ signal: never, host: new RecordingHost() }));
  expect(error.code).toBe("UNAVAILABLE");
  await closed.promise;
});
