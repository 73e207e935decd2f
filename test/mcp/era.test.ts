import type { IncomingMessage, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import type { ConnectorMemory, ConnectorSession, InteractionOptions } from "../../src/core/connector.ts";
import type { ElicitRequest, SampleRequest } from "../../src/core/interaction.ts";
import { type McpConnectorOptions, mcpConnector } from "../../src/mcp/index.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { failure } from "../support/failure.ts";
import { child, server } from "../support/hand-server.ts";
import { verifies } from "../support/verifies.ts";
import { contextOf, never, RecordingHost } from "./fixture/host.ts";
import { type Listening, listen, streamableFixture } from "./fixture/http.ts";
import { createModernFixture, listenModern, type ModernFixture } from "./fixture/modern-server.ts";

const modernStdio = fileURLToPath(new URL("fixture/modern-stdio.ts", import.meta.url));
const modernChild = (...args: readonly string[]) => ({
  command: process.execPath,
  args: ["--no-warnings", modernStdio, ...args],
});

const open = closedAfterEach();

/** A host that answers for a person and a model, and keeps facts. */
class AnsweringHost extends RecordingHost {
  readonly asked: { readonly request: ElicitRequest | SampleRequest; readonly options: InteractionOptions }[] = [];
  readonly kept = new Map<string, unknown>();
  readonly memory: ConnectorMemory = {
    recall: async (key) => this.kept.get(key),
    keep: (key, value) => void this.kept.set(key, value),
  };

  async elicit(request: ElicitRequest, options: InteractionOptions) {
    this.asked.push({ request, options });
    return { action: "accept" as const, ...(request.url === undefined ? { content: { name: "Ada" } } : {}) };
  }

  async sample(request: SampleRequest, options: InteractionOptions) {
    this.asked.push({ request, options });
    return { role: "assistant" as const, content: { type: "text" as const, text: "4" }, model: "m" };
  }
}

async function connect(
  target: Parameters<typeof mcpConnector>[0],
  { host = new AnsweringHost(), ...options }: McpConnectorOptions & { readonly host?: RecordingHost } = {},
): Promise<ConnectorSession> {
  const session = await mcpConnector(target, options).connect({ signal: never, host });
  open.push(async () => session[Symbol.asyncDispose]());
  return session;
}

async function modern(options: Parameters<typeof listenModern>[1] = {}) {
  const fixture = createModernFixture();
  const listening = await listenModern(fixture, options);
  open.push(() => listening.close());
  return { fixture, listening, url: `${listening.origin}/mcp` };
}

const methodsOf = ({ seen }: ModernFixture) => seen.map(({ method }) => method);

type Message = { readonly id?: number; readonly method?: string; readonly params?: Record<string, unknown> };

/** A server without sessions, made by hand: says what it is and leaves the rest to the test. */
async function byHand(
  answer: (message: Message, response: ServerResponse, request: IncomingMessage) => void,
  capabilities: object = { tools: {} },
): Promise<Listening> {
  const listening = await listen(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const message = JSON.parse(text || "{}") as Message;
    if (message.method !== "server/discover") return answer(message, response, request);
    result(response, message, {
      supportedVersions: ["2026-07-28"],
      capabilities,
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "hand", version: "1" } },
    });
  });
  open.push(() => listening.close());
  return listening;
}

function result(response: ServerResponse, { id }: Message, fields: object, resultType = "complete"): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id, result: { resultType, ...fields } });
  response.writeHead(200, { "content-type": "application/json" }).end(body);
}

function refuse(response: ServerResponse, { id }: Message, error: object, status = 400): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
}

describe("the era of a server", () => {
  verifies(
    "M14",
    "a server that speaks both is spoken to without a session; what was found is kept, and asked for no more",
    async () => {
      const { fixture, url } = await modern({ legacy: "stateless" });
      const host = new AnsweringHost();
      const session = await connect(url, { host });
      expect(session.server.protocolVersion).toBe("2026-07-28");
      expect(methodsOf(fixture).slice(0, 2)).toEqual(["server/discover", "subscriptions/listen"]);
      expect([...host.kept.values()]).toEqual([{ era: "stateless", at: expect.any(Number), server: "fixture 1.2.3" }]);
      expect(JSON.stringify([...host.kept.keys()])).not.toContain("127.0.0.1");
    },
  );

  verifies(
    "M14",
    "a server with sessions is asked once: a restart costs no round trip more, and after a day it is asked again",
    async () => {
      const { handler } = streamableFixture();
      const methods: (string | undefined)[] = [];
      const listening = await listen((request, response) => {
        methods.push(request.headers["mcp-method"] as string | undefined);
        void handler(request, response);
      });
      open.push(() => listening.close());
      const url = `${listening.origin}/mcp`;
      const host = new AnsweringHost();
      const first = await connect(url, { host });
      expect([first.server.protocolVersion, methods.filter((method) => method !== undefined)]).toEqual([
        "2025-11-25",
        ["server/discover"],
      ]);
      methods.length = 0;
      // Another connector, as after a restart of the service.
      await connect(url, { host });
      expect(methods.filter((method) => method !== undefined)).toEqual([]);
      const [[key, verdict] = ["", {}]] = host.kept;
      host.kept.set(key, { ...(verdict as object), at: Date.now() - 25 * 60 * 60_000 });
      await connect(url, { host });
      expect(methods.filter((method) => method !== undefined)).toEqual(["server/discover"]);
    },
  );

  verifies("M14", "a server that was updated is found again, whichever era it spoke before", async () => {
    const { handler } = streamableFixture();
    const older = await listen((request, response) => void handler(request, response));
    const url = `${older.origin}/mcp`;
    const connector = mcpConnector(url);
    const host = new AnsweringHost();
    const dispose = async (session: ConnectorSession) => session[Symbol.asyncDispose]();
    const first = await connector.connect({ signal: never, host });
    await dispose(first);
    await older.close();
    const newer = await listenModern(createModernFixture(), { port: older.port });
    const second = await connector.connect({ signal: never, host });
    await dispose(second);
    await newer.close();
    const again = await listen((request, response) => void handler(request, response), older.port);
    open.push(() => again.close());
    const third = await connector.connect({ signal: never, host });
    await dispose(third);
    expect([first, second, third].map((session) => session.server.protocolVersion)).toEqual([
      "2025-11-25",
      "2026-07-28",
      "2025-11-25",
    ]);
  });

  for (const status of [401, 403, 429, 500, 503]) {
    verifies("M14", `${status} decides nothing`, async () => {
      const seen: string[] = [];
      const listening = await listen((request, response) => {
        seen.push(String(request.headers["mcp-method"]));
        response.writeHead(status).end();
      });
      open.push(() => listening.close());
      const host = new AnsweringHost();
      await failure(connect(listening.origin, { host }));
      expect([seen, host.kept.size]).toEqual([["server/discover"], 0]);
    });
  }

  verifies("M14", "the option protocol says what to speak, and the other is not tried", async () => {
    const both = await modern({ legacy: "stateless" });
    const told = await connect(both.url, { protocol: "2025-11-25" });
    expect([told.server.protocolVersion, methodsOf(both.fixture)[0]]).toEqual(["2025-11-25", "initialize"]);
    const { handler } = streamableFixture();
    const older = await listen((request, response) => void handler(request, response));
    open.push(() => older.close());
    const error = await failure(connect(`${older.origin}/mcp`, { protocol: "2026-07-28" }));
    expect([error.code, error.message]).toEqual(["REMOTE_ERROR", expect.stringContaining('the protocol "auto"')]);
    expect(() => mcpConnector("http://x.example", { protocol: "2024-11-05" as "auto" })).toThrow(/protocol/);
    const sse = { url: "http://x.example", type: "sse" } as const;
    expect(() => mcpConnector(sse, { protocol: "2026-07-28" })).toThrow(/protocol/);
  });

  verifies("M14", "over HTTP a server that leaves the question unanswered is asked to shake hands too", async () => {
    const { handler } = streamableFixture();
    const listening = await listen((request, response) => {
      if (request.headers["mcp-method"] === undefined) void handler(request, response);
    });
    open.push(() => listening.close());
    const host = new AnsweringHost();
    const session = await connect(`${listening.origin}/mcp`, { host, connectTimeoutMs: 20_000 });
    expect(session.server.protocolVersion).toBe("2025-11-25");
    expect([...host.kept.values()]).toEqual([expect.objectContaining({ era: "handshake" })]);
  });

  verifies("M14", "over stdio one process is asked, whatever it speaks", async () => {
    for (const [args, version] of [
      [["reject"], "2026-07-28"],
      [["serve"], "2026-07-28"],
    ] as const) {
      const session = await connect(modernChild(...args), { connectTimeoutMs: 60_000 });
      expect(session.server.protocolVersion).toBe(version);
    }
    // A process that answers nothing before initialize, and one that ends at anything else.
    const silent = `if (m.method !== "initialize") return;`;
    const hand = server("");
    const muted = hand.replace("const m = JSON.parse(line);", `const m = JSON.parse(line); ${silent}`);
    const ended = hand.replace(
      "const m = JSON.parse(line);",
      `const m = JSON.parse(line); if (m.method === "server/discover") process.exit(1);`,
    );
    for (const script of [muted, ended]) {
      const host = new AnsweringHost();
      const session = await connect(child(script), { host, connectTimeoutMs: 4_000 });
      expect(session.server.protocolVersion).toBe("2025-06-18");
      expect([...host.kept.values()]).toEqual([expect.objectContaining({ era: "handshake" })]);
    }
  });

  verifies(
    "M14",
    "a server of neither is reported once, with what it speaks, and not tried again until it is reconnected",
    async () => {
      let supported = ["2027-01-01"];
      let asked = 0;
      const listening = await listen(async (request, response) => {
        asked += 1;
        let text = "";
        for await (const chunk of request) text += chunk;
        const message = JSON.parse(text) as Message;
        if (message.method === "tools/list") return result(response, message, { tools: [] });
        if (supported.includes("2026-07-28"))
          return result(response, message, { supportedVersions: supported, capabilities: { tools: {} } });
        refuse(response, message, { code: -32022, message: "Unsupported", data: { supported } });
      });
      open.push(() => listening.close());
      const warnings: string[] = [];
      const logger = {
        debug: () => {},
        info: () => {},
        error: () => {},
        warn: (text: string) => void warnings.push(text),
      };
      const toolkit = new Toolkit({ logger });
      open.push(() => toolkit.close());
      const connection = toolkit.addConnector(listening.origin, { namespace: "future", retryMs: 1, maxRetryMs: 1 });
      await toolkit.start();
      const error = await failure(connection.ready());
      expect([error.code, error.details]).toEqual([
        "UNSUPPORTED_PROTOCOL",
        expect.objectContaining({ supported: ["2027-01-01"] }),
      ]);
      expect([connection.state, connection.nextAttemptAt, asked, warnings.length]).toEqual([
        "waiting",
        undefined,
        1,
        1,
      ]);
      supported = ["2026-07-28"];
      connection.reconnect();
      await connection.ready();
      expect([connection.state, connection.protocolVersion]).toEqual(["connected", "2026-07-28"]);
    },
  );

  verifies("M14", "what was found is in the store of the toolkit, for the next one", async () => {
    const { handler } = streamableFixture();
    const methods: unknown[] = [];
    const listening = await listen((request, response) => {
      methods.push(request.headers["mcp-method"]);
      void handler(request, response);
    });
    open.push(() => listening.close());
    const store = memoryStore();
    for (const _time of ["first", "second"]) {
      const toolkit = new Toolkit({ store });
      open.push(() => toolkit.close());
      toolkit.addConnector(`${listening.origin}/mcp`);
      await toolkit.start();
      expect(methods.filter((method) => method === "server/discover")).toHaveLength(1);
    }
    expect((await store.list({ collection: "target" })).records).toHaveLength(1);
  });
});

describe("requests without a session", () => {
  verifies(
    "M15",
    "each says who asks, in what revision, and what the client can do; its headers repeat it",
    async () => {
      const { fixture, url } = await modern();
      const session = await connect(url, {
        roots: [{ uri: "file:///data" }],
        clientInfo: { name: "me", version: "2" },
      });
      const meta = { tenant: 7, "io.modelcontextprotocol/clientInfo": { name: "someone else", version: "0" } };
      const content = await session.call("echo", { message: "ü" }, contextOf({ meta }));
      const { _meta = {} } = (content.meta?.mcp ?? {}) as {
        readonly _meta?: Readonly<Record<string, Record<string, unknown>>>;
      };
      expect(_meta["fixture/meta"]).toMatchObject({ tenant: 7 });
      expect(_meta["fixture/meta"]?.envelope).toEqual({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "me", version: "2" },
        "io.modelcontextprotocol/clientCapabilities": { roots: {}, elicitation: { form: {}, url: {} }, sampling: {} },
        "io.modelcontextprotocol/logLevel": "info",
      });
      await session.read?.("memo://by-name/é x", {}).catch(() => {});
      const headers = fixture.seen.map(({ headers: each }) => [each["mcp-method"], each["mcp-name"]]);
      expect(headers).toContainEqual(["tools/call", "echo"]);
      expect(headers).toContainEqual([
        "resources/read",
        `=?base64?${Buffer.from("memo://by-name/é x").toString("base64")}?=`,
      ]);
      expect(fixture.seen.every(({ headers: each }) => each["mcp-protocol-version"] === "2026-07-28")).toBe(true);
      expect(fixture.seen.some(({ headers: each }) => "mcp-session-id" in each)).toBe(false);
    },
  );

  verifies("M15", "parameters that a tool marks are headers too", async () => {
    const { fixture, url } = await modern();
    const session = await connect(url);
    await session.list.tool?.({});
    const input = { region: "eu ", at: { floor: 3 } };
    await session.call("routed", input, contextOf());
    const { headers = {} } = fixture.seen.at(-1) ?? {};
    expect([headers["mcp-param-region"], headers["mcp-param-floor"]]).toEqual(["=?base64?ZXUg?=", "3"]);
  });

  verifies(
    "M15",
    "a tool whose marks are wrong is left out alone; one whose marks changed is asked for again, and called once",
    async () => {
      const property = (header: unknown, type = "string") => ({ type, "x-mcp-header": header });
      const schema = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
      const wrong = {
        blank: schema({ a: property("") }),
        spaced: schema({ a: property("A b") }),
        number: schema({ a: property("A", "number") }),
        twice: schema({ a: property("A"), b: property("a") }),
        listed: schema({ a: { type: "array", items: property("A") } }),
        chosen: schema({}, { anyOf: [schema({ a: property("A") })] }),
      };
      let header = "Old";
      const calls: unknown[] = [];
      const { origin } = await byHand((message, response, request) => {
        if (message.method === "tools/list") {
          const tools = Object.entries({ ...wrong, good: schema({ a: property(header) }) });
          return result(response, message, { tools: tools.map(([name, inputSchema]) => ({ name, inputSchema })) });
        }
        const given = request.headers["mcp-param-new"];
        if (given === undefined)
          return refuse(response, message, { code: -32020, message: "Mcp-Param-New is missing" });
        calls.push(given);
        result(response, message, { content: [{ type: "text", text: "ok" }] });
      });
      const host = new AnsweringHost();
      const session = await connect(origin, { host });
      const list = await session.list.tool?.({});
      expect(list?.items.map(({ name }) => name)).toEqual(["good"]);
      expect(list?.warnings).toHaveLength(6);
      header = "New";
      expect(await (await session.call("good", { a: "x" }, contextOf())).text()).toBe("ok");
      expect([calls, host.changes]).toEqual([["x"], [{ kind: "tool" }]]);
    },
  );

  verifies("C4", "structured content may be any JSON, null too", async () => {
    const { url } = await modern();
    const session = await connect(url);
    expect(await (await session.call("list", {}, contextOf())).json()).toEqual([1, "two", null]);
    expect(await (await session.call("nothing", {}, contextOf())).json()).toBeNull();
  });

  verifies("M15", "a list says for how long it is current, and for whom", async () => {
    const { url } = await modern();
    const session = await connect(url);
    expect(await session.list.tool?.({})).toMatchObject({ ttlMs: 90_000, cacheScope: "public" });
  });

  verifies("M10", "a log message goes to the call that it belongs to, at the level that was asked for", async () => {
    const { url } = await modern();
    const toolkit = new Toolkit();
    open.push(() => toolkit.close());
    toolkit.addConnector(url, { namespace: "up" });
    await toolkit.start();
    const heard: string[] = [];
    const session = (id: string) => ({ id, log: () => void heard.push(id) });
    const ending = new AbortController();
    const hanging = toolkit.call("up.hang", {}, { session: session("other"), signal: ending.signal });
    const meta = { "io.modelcontextprotocol/logLevel": "error" };
    const echoed = await toolkit.call("up.echo", { message: "x" }, { meta });
    await toolkit.call("up.log", {}, { session: session("own") });
    ending.abort(new Error("enough"));
    await expect(hanging).rejects.toThrow("enough");
    expect(heard).toEqual(["own"]);
    expect(JSON.stringify(echoed.meta?.mcp)).toContain('logLevel":"error"');
  });

  verifies("C8", "an answer that breaks off is lost: a call may have run, and is not made again", async () => {
    let calls = 0;
    const { origin } = await byHand((message, response) => {
      if (message.method !== "tools/call") return result(response, message, { tools: [] });
      calls += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`id: 1\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n`, () =>
        response.destroy(),
      );
    });
    const session = await connect(origin);
    expect((await failure(session.call("pay", {}, contextOf()))).code).toBe("OUTCOME_UNKNOWN");
    expect(calls).toBe(1);
  });

  verifies(
    "M14",
    "a server that speaks the revision no more ends the session, so that it is found out what it speaks",
    async () => {
      const { origin } = await byHand((message, response) =>
        refuse(response, message, { code: -32022, message: "No more", data: { supported: ["2027-01-01"] } }),
      );
      const session = await connect(origin);
      await failure(session.call("any", {}, contextOf()));
      expect((await session.closed)?.message).toContain("2026-07-28 any more");
    },
  );

  verifies("M7", "a ping asks what the server speaks, which every server answers", async () => {
    const { fixture, url } = await modern();
    const session = await connect(url);
    fixture.seen.length = 0;
    await session.ping?.({});
    expect(methodsOf(fixture)).toEqual(["server/discover"]);
  });
});

describe("input that a server requires", () => {
  const kinds = ["form", "url", "model", "roots"];
  for (const [name, target] of [
    ["HTTP", async () => (await modern()).url],
    ["stdio", async () => modernChild("reject")],
  ] as const) {
    verifies(
      "M16",
      `over ${name} a form, a page, a model and roots are asked for, and the call is made again with the answers`,
      async () => {
        const host = new AnsweringHost();
        const session = await connect(await target(), { host, roots: [{ uri: "file:///data" }] });
        const context = contextOf();
        const content = await session.call("ask", { kinds }, context);
        expect(await content.json()).toEqual({
          answers: [
            { kind: "elicit", action: "accept", content: { name: "Ada" } },
            { kind: "elicit", action: "accept" },
            { kind: "sampling", result: { role: "assistant", content: { type: "text", text: "4" }, model: "m" } },
            { kind: "roots", roots: [{ uri: "file:///data" }] },
          ],
          state: "state of form url model roots",
        });
        expect(host.asked.map(({ options }) => options.context === context)).toEqual([true, true, true]);
        expect(await (await session.call("later", { rounds: 2 }, contextOf())).text()).toBe("after 2");
      },
    );
  }

  verifies("M16", "prompts and resources may require it too", async () => {
    const { url } = await modern();
    const session = await connect(url);
    const rendered = await session.render?.("greet-one", {}, contextOf());
    expect(await rendered?.messages[0]?.content[0]?.text()).toContain("Ada");
    expect(await (await session.read?.("memo://asked", contextOf()))?.text()).toContain("Ada");
  });

  verifies("M16", "it is asked of the session that calls, and of no other", async () => {
    const { url } = await modern();
    const toolkit = new Toolkit();
    open.push(() => toolkit.close());
    toolkit.addConnector(url, { namespace: "up" });
    await toolkit.start();
    const person = (name: string) => ({
      id: name,
      elicit: async () => ({ action: "accept" as const, content: { name } }),
    });
    const answers = await Promise.all(
      ["Ada", "Bob", "Cy"].map(async (name) =>
        (await toolkit.call("up.ask", { kinds: ["form"] }, { session: person(name) })).text(),
      ),
    );
    expect(answers.map((text) => /"name":"(\w+)"/.exec(text)?.[1])).toEqual(["Ada", "Bob", "Cy"]);
  });

  verifies("M16", "without a model to ask the call fails, and says so", async () => {
    const { url } = await modern();
    const toolkit = new Toolkit();
    open.push(() => toolkit.close());
    toolkit.addConnector(url, { namespace: "up" });
    await toolkit.start();
    const error = await failure(toolkit.call("up.ask", { kinds: ["model"] }));
    expect([error.code, error.details]).toEqual(["NO_DELEGATE", expect.objectContaining({ operation: "sample" })]);
  });

  verifies("C6", "an abort while a person is asked ends the asking", async () => {
    const { url } = await modern();
    const asked = Promise.withResolvers<AbortSignal>();
    const host = new AnsweringHost();
    host.elicit = (_request, { signal }) => {
      asked.resolve(signal);
      return new Promise(() => {});
    };
    const session = await connect(url, { host });
    const controller = new AbortController();
    const calling = session.call("ask", { kinds: ["form"] }, contextOf({ signal: controller.signal }));
    const signal = await asked.promise;
    const reason = new Error("changed my mind");
    controller.abort(reason);
    await expect(calling).rejects.toBe(reason);
    expect(signal.aborted).toBe(true);
  });
});

describe("the stream of changes", () => {
  verifies(
    "M10",
    "resources are followed and left by one stream; one that the server does not agree to is an error",
    async () => {
      const { fixture, listening, url } = await modern();
      const host = new AnsweringHost();
      const session = await connect(url, { host });
      await Promise.all([session.subscribe?.("memo://one", {}), session.subscribe?.("memo://two", {})]);
      fixture.notify?.resourceUpdated("memo://two");
      await host.until(() => host.changes.some(({ uri }) => uri === "memo://two"));
      await session.unsubscribe?.("memo://two", {});
      fixture.notify?.resourceUpdated("memo://two");
      fixture.notify?.resourceUpdated("memo://one");
      await host.until(() => host.changes.some(({ uri }) => uri === "memo://one"));
      expect(host.changes.filter(({ uri }) => uri === "memo://two")).toHaveLength(1);
      expect(
        await new Promise((resolve) => listening.server.getConnections((_error, count) => resolve(count))),
      ).toBeLessThan(6);
      const none = await byHand(
        (message, response) => {
          if (message.method !== "subscriptions/listen") return result(response, message, { resources: [] });
          response.writeHead(200, { "content-type": "text/event-stream" });
          const params = { notifications: {}, _meta: { "io.modelcontextprotocol/subscriptionId": message.id } };
          const acknowledged = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
          response.write(`data: ${JSON.stringify(acknowledged)}\n\n`);
        },
        { resources: { subscribe: true } },
      );
      const other = await connect(none.origin);
      const error = await failure(other.subscribe?.("memo://one", {}) as Promise<void>);
      expect(error.code).toBe("REMOTE_ERROR");
    },
  );

  verifies("M6", "a stream that ends is opened again, and everything may have changed meanwhile", async () => {
    const streams: ServerResponse[] = [];
    const opened = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { origin } = await byHand(
      (message, response) => {
        if (message.method !== "subscriptions/listen") return result(response, message, { tools: [] });
        response.writeHead(200, { "content-type": "text/event-stream" });
        const _meta = { "io.modelcontextprotocol/subscriptionId": message.id };
        const params = { notifications: { toolsListChanged: true }, _meta };
        const acknowledged = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
        response.write(`data: ${JSON.stringify(acknowledged)}\n\n`);
        opened[streams.push(response) - 1]?.resolve();
      },
      { tools: { listChanged: true } },
    );
    const host = new AnsweringHost();
    const session = await connect(origin, { host });
    expect([...session.announces]).toEqual(["tool"]);
    streams[0]?.destroy();
    await opened[1]?.promise;
    await host.until(() => host.changes.some(({ gap }) => gap === true));
    expect([...session.announces]).toEqual(["tool"]);
  });
});
