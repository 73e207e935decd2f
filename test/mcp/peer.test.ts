import { getEventListeners } from "node:events";
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import type { ConnectorSession } from "../../src/core/connector.ts";
import { ToolkitError } from "../../src/core/error.ts";
import { protocolVersions } from "../../src/mcp/handshake.ts";
import { type ConnectorOptions, inMemoryConnector, type ServerTransport } from "../../src/mcp/index.ts";
import { Peer } from "../../src/mcp/rpc/peer.ts";
import { InMemoryTransport } from "../../src/mcp/transport/in-memory-transport.ts";
import type { Transport, TransportEvents } from "../../src/mcp/transport/transport.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { contextOf, never, RecordingHost } from "./fixture/host.ts";

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

/** A server by hand, which sees every message; it answers what the handler does not. */
async function connect(
  handle: (message: Message, transport: ServerTransport) => boolean | undefined,
  options: ConnectorOptions & { readonly capabilities?: object; readonly host?: RecordingHost } = {},
): Promise<{
  readonly session: ConnectorSession;
  readonly seen: Message[];
  readonly far: ServerTransport;
  readonly host: RecordingHost;
}> {
  const { capabilities = { tools: {} }, host = new RecordingHost(), ...rest } = options;
  const seen: Message[] = [];
  let far: ServerTransport | undefined;
  const connector = inMemoryConnector((transport) => {
    far = transport;
    transport.onmessage = (given) => {
      const message = given as Message;
      if (message.method === "server/discover") {
        const error = { code: -32601, message: "Method not found" };
        void transport.send({ jsonrpc: "2.0", id: message.id, error });
        return;
      }
      seen.push(message);
      if (handle(message, transport) === true || message.id === undefined || message.method === undefined) return;
      const result =
        message.method === "initialize"
          ? { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "hand", version: "1" } }
          : { content: [] };
      void transport.send({ jsonrpc: "2.0", id: message.id, result });
    };
    return transport.start();
  }, rest);
  const session = await connector.connect({ signal: never, host });
  return { session, seen, far: far as ServerTransport, host };
}

/** A list in a list in a list. */
function nested(depth: number): unknown {
  return JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
}

test("speaks the revisions that the SDK's transports speak", () => {
  expect(protocolVersions).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
});

describe("a peer", () => {
  verifies("C6", "cancels a request once, by its id, and drops the late answer", async () => {
    const { session, seen, far } = await connect((message) => message.method === "tools/call");
    const controller = new AbortController();
    const call = session.call("slow", {}, contextOf({ signal: controller.signal }));
    const id = seen.find((message) => message.method === "tools/call")?.id;
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    await far.send({ jsonrpc: "2.0", id, result: { content: [] } });
    const cancels = seen.filter((message) => message.method === "notifications/cancelled");
    expect(cancels.map((message) => message.params)).toEqual([{ requestId: id, reason: "enough" }]);
    await session[Symbol.asyncDispose]();
  });

  verifies("C6", "sends nothing for a signal that has aborted, and no cancel for what is over", async () => {
    const { session, seen } = await connect(() => undefined, { capabilities: { tools: {}, resources: {} } });
    const controller = new AbortController();
    const { signal } = controller;
    for (let call = 0; call < 100; call++) await session.call("any", {}, contextOf({ signal }));
    expect(getEventListeners(signal, "abort")).toEqual([]);
    const before = seen.length;
    const reason = new Error("enough");
    controller.abort(reason);
    for (const request of [session.call("any", {}, contextOf({ signal })), session.read?.("memo://a", { signal })])
      await expect(request).rejects.toBe(reason);
    // Whatever was sent before it has arrived when this is answered.
    await session.call("last", {}, contextOf());
    expect(seen.slice(before).map(({ params }) => params?.name)).toEqual(["last"]);
    await session[Symbol.asyncDispose]();
  });

  verifies("M10", "takes progress that comes after its answer, or for nobody, or is none", async () => {
    const { session, far, host } = await connect(() => undefined);
    const context = contextOf();
    await session.call("any", {}, context);
    for (const params of [
      { progressToken: 2, progress: 1 },
      { progressToken: "x", progress: 1 },
      { progress: "1" },
      undefined,
    ]) {
      await far.send({ jsonrpc: "2.0", method: "notifications/progress", params });
    }
    expect([context.reports, host.entries]).toEqual([[], []]);
    await session[Symbol.asyncDispose]();
  });

  test("names a request in memory by a text, and takes a number for it too", async () => {
    const { session, seen } = await connect((message, transport) => {
      if (message.method !== "tools/call") return undefined;
      const [id, method] = [Number(message.id), "notifications/progress"];
      void transport.send({ jsonrpc: "2.0", method, params: { progressToken: id, progress: 1 } });
      void transport.send({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "done" }] } });
      return true;
    });
    const context = contextOf();
    expect(await (await session.call("any", {}, context)).text()).toBe("done");
    expect(context.reports).toMatchObject([{ progress: 1 }]);
    const { id, params } = seen.find(({ method }) => method === "tools/call") ?? {};
    expect([typeof id, params?._meta]).toEqual(["string", { progressToken: id }]);
    await session[Symbol.asyncDispose]();
  });

  verifies("C12", "is not harmed by a listener or a host that throws", async () => {
    const { session, far, host } = await connect((message, transport) => {
      if (message.method !== "tools/call") return undefined;
      const meta = message.params?._meta as { readonly progressToken: number } | undefined;
      const progressToken = meta?.progressToken;
      void transport.send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1 } });
      return undefined;
    });
    const broken = () => {
      throw new Error("listener");
    };
    host.changed = broken;
    host.log = broken;
    await far.send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    await far.send({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } });
    for (const progress of [broken, () => Promise.reject(new Error("listener"))]) {
      expect((await session.call("any", {}, contextOf({ progress }))).size).toBe(0);
    }
    await session[Symbol.asyncDispose]();
  });

  test("answers ping, roots where they are given, and nothing else", async () => {
    const { session, seen, far } = await connect(() => undefined, { roots: [{ uri: "file:///data" }] });
    for (const [id, method] of ["ping", "roots/list", "sampling/createMessage", "no/such"].entries()) {
      await far.send({ jsonrpc: "2.0", id: 100 + id, method });
    }
    const isAnswer = (message: Message) => (message.id ?? 0) >= 100;
    while (seen.filter(isAnswer).length < 4) await new Promise((resolve) => setImmediate(resolve));
    const answers = seen.filter(isAnswer).sort((a, b) => (a.id ?? 0) - (b.id ?? 0));
    expect(answers.map(({ result, error }) => result ?? error?.code)).toEqual([
      {},
      { roots: [{ uri: "file:///data" }] },
      -32601,
      -32601,
    ]);
    expect(seen[0]?.params?.capabilities).toEqual({ roots: {} });
    await session[Symbol.asyncDispose]();
    const without = await connect(() => undefined);
    expect(without.seen[0]?.params).toMatchObject({ capabilities: {}, clientInfo: { name: "toolweave" } });
    await without.session[Symbol.asyncDispose]();
  });

  verifies(
    "M10",
    "refuses what is no question: a page that is none, a form that is none, a message without content",
    async () => {
      const asked: unknown[] = [];
      const answer = async (request: unknown) => {
        asked.push(request);
        return { action: "cancel", role: "assistant", content: { type: "text", text: "" }, model: "m" } as const;
      };
      const host = Object.assign(new RecordingHost(), { elicit: answer, sample: answer });
      const { session, seen, far } = await connect(() => undefined, { host });
      const url = { message: "Go", mode: "url" };
      const text = { role: "user", content: { type: "text", text: "Hi" } };
      const requests: readonly [string, object][] = [
        ["elicitation/create", { ...url, url: "javascript:alert(1)" }],
        ["elicitation/create", { ...url, url: "file:///etc/passwd" }],
        ["elicitation/create", { ...url, url: "nowhere" }],
        ["elicitation/create", { ...url, mode: "other" }],
        ["elicitation/create", { message: "Age?" }],
        ["elicitation/create", { requestedSchema: {} }],
        ["sampling/createMessage", { messages: [{ role: "user", content: null }], maxTokens: 1 }],
        ["sampling/createMessage", { messages: [text] }],
        ["sampling/createMessage", { messages: [text], maxTokens: 1, tools: [] }],
        ["elicitation/create", { ...url, url: "https://example.com/a" }],
        ["sampling/createMessage", { messages: [text], maxTokens: 1 }],
      ];
      for (const [at, [method, params]] of requests.entries())
        await far.send({ jsonrpc: "2.0", id: 100 + at, method, params });
      const answers = () => seen.filter(({ id = 0, method }) => id >= 100 && method === undefined);
      while (answers().length < requests.length) await new Promise((resolve) => setImmediate(resolve));
      const codes = new Map(answers().map(({ id, error }) => [id, error?.code]));
      expect(requests.map((_, at) => codes.get(100 + at))).toEqual([...Array(9).fill(-32602), undefined, undefined]);
      expect(asked).toHaveLength(2);
      await session[Symbol.asyncDispose]();
    },
  );

  verifies("M12", "works on a hundred requests of the far side at once, however they are numbered", async () => {
    const asked: AbortSignal[] = [];
    const host = Object.assign(new RecordingHost(), {
      elicit: (_request: unknown, { signal }: { readonly signal: AbortSignal }) => {
        asked.push(signal);
        return new Promise<never>(() => undefined);
      },
    });
    const { session, seen, far } = await connect(() => undefined, { host });
    const params = { message: "Age?", requestedSchema: { type: "object" } };
    const ask = (id: number) => far.send({ jsonrpc: "2.0", id, method: "elicitation/create", params });
    for (let count = 0; count < 3; count++) await ask(1_000);
    for (let id = 1_001; id < 1_150; id++) await ask(id);
    const refusals = () => seen.filter(({ error }) => error !== undefined);
    while (refusals().length < 52) await new Promise((resolve) => setImmediate(resolve));
    expect(refusals().map(({ id }) => id)).toEqual([
      1_000,
      1_000,
      ...Array.from({ length: 50 }, (_, at) => 1_100 + at),
    ]);
    expect(asked).toHaveLength(100);
    await session[Symbol.asyncDispose]();
    expect(asked.every(({ aborted }) => aborted)).toBe(true);
  });

  verifies("M12", "answers no more than it can send: who asks and takes no answers gets few", async () => {
    const warnings: string[] = [];
    let events: TransportEvents | undefined;
    let answers = 0;
    const jammed: Transport = {
      name: "jammed",
      silenceMs: 5_000,
      async start(given) {
        events = given;
      },
      send() {
        answers += 1;
        return new Promise(() => undefined);
      },
      close: async () => undefined,
    };
    const ignore = () => undefined;
    const handlers = {
      notification: ignore,
      request: ignore,
      gap: ignore,
      warning: (text: string) => warnings.push(text),
    };
    const peer = new Peer(jammed, handlers, { maxNestingDepth: 256 });
    await peer.start({ signal: never });
    for (let id = 0; id < 5_000; id++) events?.message({ jsonrpc: "2.0", id, method: "ping" });
    await new Promise((resolve) => setImmediate(resolve));
    expect([answers, warnings.length]).toEqual([1_000, 4_000]);
    expect(warnings[0]).toContain("faster than it reads answers");
    await peer.close();
  });

  test("the end of a pair in memory, which is told twice, is one end", async () => {
    let far: ServerTransport | undefined;
    const transport = new InMemoryTransport((given) => {
      far = given;
      return given.start();
    });
    const ends: unknown[] = [];
    const ignore = () => undefined;
    const events = { message: ignore, unreadable: ignore, gap: ignore, warning: ignore };
    await transport.start({ ...events, closed: (error) => ends.push(error) }, { signal: never });
    await far?.close();
    await far?.close();
    await transport.close();
    expect(ends).toEqual([expect.any(Error)]);
  });

  test("messages in memory wait until the server takes them, and after its end it sends none", async () => {
    const given = Promise.withResolvers<ServerTransport>();
    const transport = new InMemoryTransport((far) => given.resolve(far));
    const ignore = () => undefined;
    const events = { message: ignore, unreadable: ignore, gap: ignore, warning: ignore, closed: ignore };
    await transport.start(events, { signal: never });
    const taken: unknown[] = [];
    for (const id of [1, 2]) transport.send({ jsonrpc: "2.0", id, method: "ping" });
    const server = await given.promise;
    server.onmessage = (message) => taken.push((message as Message).id);
    await server.start();
    transport.send({ jsonrpc: "2.0", id: 3, method: "ping" });
    expect(taken).toEqual([1, 2, 3]);
    await transport.close();
    await expect(server.send({ jsonrpc: "2.0", id: 1, result: {} })).rejects.toThrow("Not connected");
  });

  test("an abort in the turn in which a call in memory began reaches its server", async () => {
    const cancelled = Promise.withResolvers<unknown>();
    await using toolkit = new Toolkit();
    const connector = inMemoryConnector((transport) => {
      transport.onmessage = (given) => {
        const { id, method, params } = given as Message;
        if (method === "notifications/cancelled") cancelled.resolve(params?.reason);
        if (id === undefined || method === "tools/call") return;
        const known = {
          initialize: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            serverInfo: { name: "s", version: "1" },
          },
          "tools/list": { tools: [{ name: "hang", inputSchema: { type: "object" } }] },
        }[method ?? ""];
        const answer = known === undefined ? { error: { code: -32601, message: "none" } } : { result: known };
        void transport.send({ jsonrpc: "2.0", id, ...answer });
      };
      return transport.start();
    });
    toolkit.addConnector(connector, { namespace: "far" });
    await toolkit.start();
    const controller = new AbortController();
    const call = toolkit.call("far.hang", {}, { signal: controller.signal });
    controller.abort(new Error("no more"));
    await expect(call).rejects.toThrow("no more");
    expect(await cancelled.promise).toBe("no more");
  });

  test("asks for a log level only where it is wanted and the server logs", async () => {
    const levels = async (options: ConnectorOptions, capabilities: object) => {
      const { session, seen } = await connect(() => undefined, { ...options, capabilities });
      await session[Symbol.asyncDispose]();
      return seen.filter((message) => message.method === "logging/setLevel").map((message) => message.params);
    };
    expect(await levels({ logLevel: "error" }, { logging: {} })).toEqual([{ level: "error" }]);
    expect(await levels({ logLevel: "error" }, {})).toEqual([]);
    expect(await levels({}, { logging: {} })).toEqual([]);
  });

  verifies("C4", "gives a JSON-RPC error as REMOTE_ERROR with server, code and data", async () => {
    const { session } = await connect((message, transport) => {
      if (message.method !== "tools/call") return undefined;
      void transport.send({ jsonrpc: "2.0", id: message.id, error: { code: -32042, message: "no", data: { why: 1 } } });
      return true;
    });
    const error = await session.call("any", {}, contextOf()).catch((thrown: unknown) => thrown);
    expect(ToolkitError.is(error, "REMOTE_ERROR") && error.details).toEqual({
      server: "hand",
      rpcCode: -32042,
      data: { why: 1 },
    });
    await session[Symbol.asyncDispose]();
  });

  test("takes an answer whose id came back as text, and one that is neither result nor error", async () => {
    const { session } = await connect((message, transport) => {
      if (message.method !== "tools/call") return undefined;
      const result = message.params?.name === "text" ? { result: { content: [] } } : {};
      void transport.send({ jsonrpc: "2.0", id: String(message.id), ...result });
      return true;
    });
    expect((await session.call("text", {}, contextOf())).size).toBe(0);
    await expect(session.call("none", {}, contextOf())).rejects.toMatchObject({ code: "REMOTE_ERROR" });
    await session[Symbol.asyncDispose]();
  });

  verifies("M10", "offers only what the server declares", async () => {
    const { session } = await connect(() => undefined, { capabilities: { prompts: { listChanged: true } } });
    expect([Object.keys(session.list), [...session.announces], session.read]).toEqual([
      ["prompt"],
      ["prompt"],
      undefined,
    ]);
    await session[Symbol.asyncDispose]();
  });

  verifies("M9", "a server that never gets ready does not hold the attempt", async () => {
    const connector = inMemoryConnector(() => new Promise(() => {}), { connectTimeoutMs: 50 });
    await expect(connector.connect({ signal: never, host: new RecordingHost() })).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
  });

  test("an empty or missing input is sent as an object", async () => {
    const { session, seen } = await connect(() => undefined);
    await session.call("any", undefined, contextOf());
    expect(seen.at(-1)?.params).toMatchObject({ name: "any", arguments: {} });
    await session[Symbol.asyncDispose]();
  });

  verifies(
    "M12",
    "what is nested too deep fails the request it answers: an error's data, content, what is structured",
    async () => {
      const answers: Readonly<Record<string, object>> = {
        error: { error: { code: -32000, message: "bad", data: nested(100_000) } },
        content: { result: { content: [{ type: "text", text: "x", _meta: nested(100_000) }] } },
        structured: { result: { content: [], structuredContent: nested(100_000) } },
        failed: { result: { isError: true, content: [{ type: "text", text: "x", odd: nested(100_000) }] } },
        flat: { result: { structuredContent: nested(9), content: [] } },
      };
      const { session } = await connect(
        ({ method, id, params }, transport) => {
          if (method !== "tools/call") return false;
          void transport.send({ jsonrpc: "2.0", id, ...answers[String(params?.name)] });
          return true;
        },
        { maxNestingDepth: 10 },
      );
      for (const name of ["error", "content", "structured", "failed"]) {
        expect(await failure(session.call(name, {}, contextOf()))).toMatchObject({
          code: "LIMIT_EXCEEDED",
          details: { limit: "maxNestingDepth", max: 10 },
        });
      }
      expect(await (await session.call("flat", {}, contextOf())).json()).toEqual(nested(9));
      await session[Symbol.asyncDispose]();
    },
  );

  verifies("M12", "a number that none can hold fails the request it answers, and becomes no null", async () => {
    const { session } = await connect(({ method, id }, transport) => {
      if (method !== "tools/call") return false;
      const result: unknown = JSON.parse('{"content": [], "structuredContent": {"balance": 1e400}}');
      void transport.send({ jsonrpc: "2.0", id, result });
      return true;
    });
    expect(await failure(session.call("balance", {}, contextOf()))).toMatchObject({
      code: "INVALID_OUTPUT",
      message: expect.stringContaining("a number beyond 1.8e308"),
    });
    await session[Symbol.asyncDispose]();
  });

  verifies(
    "M12",
    "what the far side says or asks is left out where it is nested too deep, and it is told",
    async () => {
      const { session, seen, far, host } = await connect(() => false);
      const params = { data: nested(100_000) };
      await far.send({ jsonrpc: "2.0", method: "notifications/message", params });
      await far.send({ jsonrpc: "2.0", id: 99, method: "ping", params });
      await session.call("any", {}, contextOf());
      expect(host.entries.map(({ data }) => String(data))).toEqual([
        expect.stringContaining("Its notifications/message is left out"),
        expect.stringContaining("Its ping is left out"),
      ]);
      expect(seen.find(({ id }) => id === 99)?.error?.code).toBe(-32602);
      await session[Symbol.asyncDispose]();
    },
  );
});
