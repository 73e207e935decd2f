import { spawnSync } from "node:child_process";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ConnectorSession } from "../../src/core/connector.ts";
import { operatorError } from "../../src/core/server-output.ts";
import { retryAfterMs } from "../../src/lib/fetch/send-failure.ts";
import { type McpConnectorOptions, mcpConnector } from "../../src/mcp/index.ts";
import { noRedactor } from "../../src/mcp/redact.ts";
import { eventFeed, HttpAnswer } from "../../src/mcp/transport/http/http-exchange.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { failure } from "../support/failure.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { contextOf, never, RecordingHost } from "./fixture/host.ts";
import { type Listening, listen, sseFixture, streamableFixture } from "./fixture/http.ts";

const open = closedAfterEach();
afterEach(() => {
  vi.useRealTimers();
});

async function serve(handler: RequestListener, port?: number): Promise<Listening> {
  const listening = await listen(handler, port);
  open.push(() => listening.close());
  return listening;
}

async function connect(
  url: string,
  { host = new RecordingHost(), ...options }: McpConnectorOptions & { readonly host?: RecordingHost } = {},
): Promise<ConnectorSession> {
  const session = await mcpConnector(url, options).connect({ signal: never, host });
  open.push(async () => session[Symbol.asyncDispose]());
  return session;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
}

async function bodyOf(request: IncomingMessage): Promise<Message> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text === "" ? {} : (JSON.parse(text) as Message);
}

/** A server made by hand, with sessions: shakes hands and leaves the rest to the test. */
function byHand(
  answer: (message: Message, response: ServerResponse, request: IncomingMessage) => void,
  options: {
    readonly session?: string;
    readonly capabilities?: Readonly<Record<string, unknown>>;
    readonly get?: (request: IncomingMessage, response: ServerResponse) => void;
  } = {},
): RequestListener {
  return async (request, response) => {
    if (request.method === "GET")
      return options.get === undefined ? void response.writeHead(405).end() : options.get(request, response);
    const message = await bodyOf(request);
    if (message.method === "initialize") {
      const headers = {
        "content-type": "application/json",
        ...(options.session === undefined ? {} : { "mcp-session-id": options.session }),
      };
      const result = {
        protocolVersion: "2025-06-18",
        capabilities: options.capabilities ?? { tools: { listChanged: true } },
        serverInfo: { name: "hand", version: "1" },
      };
      response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    } else if (message.method === "server/discover") {
      const error = { code: -32601, message: "Method not found" };
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
    } else if (request.method === "DELETE" || message.id === undefined) response.writeHead(202).end();
    else answer(message, response, request);
  };
}

const json = (response: ServerResponse, value: unknown) =>
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
const stream = (response: ServerResponse) => response.writeHead(200, { "content-type": "text/event-stream" });
const ok = (message: Message, text: string) => ({
  jsonrpc: "2.0",
  id: message.id,
  result: { content: [{ type: "text", text }] },
});

describe("Streamable HTTP", () => {
  test("answers as JSON are read, and the session is deleted on close", async () => {
    const fixture = streamableFixture({ json: true });
    const session = await connect(`${(await serve(fixture.handler)).origin}/mcp`);
    const content = await session.call("echo", { message: "hi" }, contextOf());
    expect(await content.text()).toBe("Echo: hi");
    expect(fixture.sessions.size).toBe(1);
    await session[Symbol.asyncDispose]();
    expect(fixture.sessions.size).toBe(0);
  });

  test("an answer that ends without a result fails its request at once, and no other", async () => {
    const { origin } = await serve(
      byHand((message, response) => {
        if (message.params?.name === "lost") stream(response).end(": nothing\n\n");
        else json(response, ok(message, "fine"));
      }),
    );
    const session = await connect(origin);
    expect((await failure(session.call("lost", {}, contextOf()))).code).toBe("OUTCOME_UNKNOWN");
    expect(await (await session.call("other", {}, contextOf())).text()).toBe("fine");
  });

  test("an answer that breaks off is lost; what only reads may be asked again", async () => {
    const { origin } = await serve(
      byHand((_message, response) => {
        stream(response).write(": begun\n\n");
        response.socket?.destroy();
      }),
    );
    const session = await connect(origin);
    expect((await failure(session.call("any", {}, contextOf()))).code).toBe("OUTCOME_UNKNOWN");
    expect((await failure(session.list.tool?.({}) as Promise<unknown>)).code).toBe("UNAVAILABLE");
  });

  test("an answer whose events have ids is resumed where it broke off", async () => {
    const resumed: unknown[] = [];
    let asked: Message = {};
    const { origin } = await serve(
      byHand(
        (message, response) => {
          asked = message;
          stream(response).end("id: e1\nretry: 10\ndata:\n\n");
        },
        {
          get(request, response) {
            const last = request.headers["last-event-id"];
            if (last === undefined) return void response.writeHead(405).end();
            resumed.push(last);
            stream(response).end(`id: e2\ndata: ${JSON.stringify(ok(asked, "resumed"))}\n\n`);
          },
        },
      ),
    );
    const session = await connect(origin);
    expect(await (await session.call("any", {}, contextOf())).text()).toBe("resumed");
    expect(resumed).toEqual(["e1"]);
  });

  test("an answer that is closed again and again is resumed as long as there is something new", async () => {
    for (const news of [true, false]) {
      let resumes = 0;
      let asked: Message = {};
      const { origin } = await serve(
        byHand(
          (message, response) => {
            asked = message;
            stream(response).end("id: e0\nretry: 1\ndata:\n\n");
          },
          {
            get(request, response) {
              if (request.headers["last-event-id"] === undefined) return void response.writeHead(405).end();
              const done = ++resumes === 12;
              const data = done ? JSON.stringify(ok(asked, "resumed")) : "";
              stream(response).end(`id: e${news ? resumes : 0}\ndata:${data}\n\n`);
            },
          },
        ),
      );
      const session = await connect(origin);
      const call = session.call("any", {}, contextOf());
      if (news) expect(await (await call).text()).toBe("resumed");
      else expect((await failure(call)).code).toBe("OUTCOME_UNKNOWN");
      expect(resumes).toBe(news ? 12 : 5);
    }
  });

  test("an answer that is left open after its result holds no connection", async () => {
    const closed = Promise.withResolvers<void>();
    const { origin } = await serve(
      byHand((message, response) => {
        response.on("close", () => closed.resolve());
        stream(response).write(`data: ${JSON.stringify(ok(message, "fine"))}\n\n`);
      }),
    );
    const session = await connect(origin);
    expect(await (await session.call("any", {}, contextOf())).text()).toBe("fine");
    await closed.promise;
    expect(await (await session.call("any", {}, contextOf())).text()).toBe("fine");
  });

  test("an answer that breaks off within an event is resumed after the last whole one, and nothing comes twice", async () => {
    const resumed: unknown[] = [];
    let asked: Message = {};
    let cut: (() => void) | undefined;
    const progress = (value: number) => {
      const meta = asked.params?._meta as { readonly progressToken: unknown } | undefined;
      const params = { progressToken: meta?.progressToken, progress: value };
      return `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })}\n\n`;
    };
    const { origin } = await serve(
      byHand(
        (message, response) => {
          asked = message;
          cut = () => response.destroy();
          stream(response).write(`retry: 10\nid: e1\n${progress(1)}id: e2\ndata: {"jsonrpc"`);
        },
        {
          get(request, response) {
            const last = request.headers["last-event-id"];
            if (last === undefined) return void response.writeHead(405).end();
            resumed.push(last);
            // Closed once more, before the answer.
            if (resumed.length === 1) stream(response).end(`id: e2\n${progress(2)}`);
            else stream(response).end(`id: e3\ndata: ${JSON.stringify(ok(asked, "resumed"))}\n\n`);
          },
        },
      ),
    );
    const session = await connect(origin);
    const heard: number[] = [];
    const context = contextOf({
      async progress(value) {
        heard.push(value);
        cut?.();
        return true;
      },
    });
    const content = await session.call("any", {}, context);
    expect(await content.text()).toBe("resumed");
    expect([resumed, heard]).toEqual([
      ["e1", "e2"],
      [1, 2],
    ]);
  });

  test("an answer that cannot be resumed is lost, and no other", async () => {
    const { origin } = await serve(
      byHand((message, response) => {
        if (message.params?.name === "lost") stream(response).end("id: e1\nretry: 10\ndata:\n\n");
        else json(response, ok(message, "fine"));
      }),
    );
    const session = await connect(origin);
    const error = await failure(session.call("lost", {}, contextOf()));
    expect([error.code, error.message]).toEqual([
      "OUTCOME_UNKNOWN",
      expect.stringContaining("cannot be resumed: the server answered 405"),
    ]);
    expect(await (await session.call("other", {}, contextOf())).text()).toBe("fine");
  });

  test("a cancelled request is not resumed, however long the server lets us wait", async () => {
    const controller = new AbortController();
    const { origin } = await serve(
      byHand((_message, response) => {
        response.on("close", () => controller.abort(new Error("no longer")));
        stream(response).end("id: e1\nretry: 60000\ndata:\n\n");
      }),
    );
    const session = await connect(origin);
    await expect(session.call("any", {}, contextOf({ signal: controller.signal }))).rejects.toThrow("no longer");
  });

  test("an answer as JSON that is none, or answers another request, is lost; a batch and an id given back as text are read", async () => {
    const host = new RecordingHost();
    const { origin } = await serve(
      byHand((message, response) => {
        const answer = ok(message, "fine");
        const answers: Record<string, unknown> = {
          broken: "{",
          other: JSON.stringify({ ...answer, id: 9_999 }),
          batch: JSON.stringify([{ jsonrpc: "2.0", method: "notifications/message", params: {} }, answer]),
          text: JSON.stringify({ ...answer, id: String(message.id) }),
        };
        const body = answers[String(message.params?.name)] ?? JSON.stringify(answer);
        response.writeHead(200, { "content-type": "application/json; charset=utf-8" }).end(body);
      }),
    );
    const session = await connect(origin, { host });
    for (const name of ["broken", "other"]) {
      const error = await failure(session.call(name, {}, contextOf()));
      expect([error.code, error.message]).toEqual(["OUTCOME_UNKNOWN", expect.stringContaining("without a result")]);
    }
    for (const name of ["batch", "text"]) expect(await (await session.call(name, {}, contextOf())).text()).toBe("fine");
  });

  for (const [status, body] of [
    [404, "Session not found"],
    [400, '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}'],
  ] as const) {
    verifies(
      "M5",
      `a session the server no longer knows (${status}) ends the connection; the call was surely not run`,
      async () => {
        const { origin } = await serve(
          byHand((_message, response) => void response.writeHead(status).end(body), { session: "s1" }),
        );
        const session = await connect(origin);
        expect((await failure(session.call("any", {}, contextOf()))).code).toBe("UNAVAILABLE");
        expect((await session.closed)?.message).toContain("no longer knows the session");
      },
    );
  }

  verifies("M5", "a server that restarts is noticed by its broken stream, without a call", async () => {
    const first = await listen(streamableFixture().handler);
    const session = await connect(`${first.origin}/mcp`);
    await first.close();
    await serve(streamableFixture().handler, first.port);
    const started = performance.now();
    expect(await session.closed).toBeInstanceOf(Error);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  verifies("M5", "a server that is down ends the connection at the next call", async () => {
    const listening = await listen(byHand(() => {}));
    const session = await connect(listening.origin);
    await listening.close();
    // A connection kept alive may break only when it is used, and then the call may have arrived.
    expect(["UNAVAILABLE", "OUTCOME_UNKNOWN"]).toContain((await failure(session.call("any", {}, contextOf()))).code);
    expect((await session.closed)?.message).toContain("ECONNREFUSED");
  });

  test("what was refused was surely not sent; what broke may have been", async () => {
    const { origin } = await serve(byHand((message, response) => json(response, ok(message, "fine"))));
    let code: string | undefined;
    const failing: typeof fetch = async (url, init) => {
      if (code === undefined) return fetch(url, init);
      throw new TypeError("fetch failed", { cause: Object.assign(new Error(`it said ${code}`), { code }) });
    };
    const session = await connect(origin, { fetch: failing });
    code = "ECONNRESET";
    const broken = session.call("any", {}, contextOf());
    expect((await failure(broken)).code).toBe("OUTCOME_UNKNOWN");
    code = "ECONNREFUSED";
    const refused = await failure(session.call("any", {}, contextOf()));
    expect([refused.code, refused.message]).toEqual(["UNAVAILABLE", expect.stringContaining("it said ECONNREFUSED")]);
  });

  test("of many calls at once to a server that went away, each says itself that it was not sent", async () => {
    const arrived = Promise.withResolvers<void>();
    const stuck = Promise.withResolvers<never>();
    stuck.promise.catch(() => {});
    const { origin } = await serve(
      byHand((message, response) => {
        if (message.params?.name === "long") arrived.resolve();
        else json(response, ok(message, "fine"));
      }),
    );
    let gone = false;
    let refusals = 0;
    const failing: typeof fetch = async (url, init) => {
      if (!gone) return Promise.race([fetch(url, init), stuck.promise]);
      // Each is refused a little later than the one before.
      const turns = ++refusals;
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) });
    };
    const session = await connect(origin, { fetch: failing });
    const long = failure(session.call("long", {}, contextOf()));
    await arrived.promise;
    gone = true;
    stuck.reject(new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) }));
    expect((await long).code).toBe("OUTCOME_UNKNOWN");
    // However long the machine takes for it, they are waited for.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const calls = Array.from({ length: 20 }, () => failure(session.call("any", {}, contextOf())));
    expect(new Set((await Promise.all(calls)).map(({ code }) => code))).toEqual(new Set(["UNAVAILABLE"]));
    expect((await session.closed)?.message).toContain("refused");
    expect(refusals).toBeLessThanOrEqual(21);
  });

  test("a call that was sent to a server that went away does not wait for an answer long", async () => {
    const arrived = Promise.withResolvers<void>();
    const { origin } = await serve(byHand(() => arrived.resolve()));
    let gone = false;
    const failing: typeof fetch = async (url, init) => {
      if (!gone) return fetch(url, init);
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) });
    };
    const session = await connect(origin, { fetch: failing });
    const long = failure(session.call("long", {}, contextOf()));
    await arrived.promise;
    gone = true;
    expect((await failure(session.call("any", {}, contextOf()))).code).toBe("UNAVAILABLE");
    const late = failure(session.call("late", {}, contextOf()));
    const started = performance.now();
    expect((await long).code).toBe("OUTCOME_UNKNOWN");
    expect(performance.now() - started).toBeLessThan(5_000);
    expect((await late).code).toBe("UNAVAILABLE");
  });

  test("of many calls at once in a session the server no longer knows, none was run", async () => {
    const { origin } = await serve(
      byHand((_message, response) => void setImmediate(() => response.writeHead(404).end()), { session: "s1" }),
    );
    const session = await connect(origin);
    // However long the machine takes for it, they are waited for.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const calls = Array.from({ length: 20 }, () => failure(session.call("any", {}, contextOf())));
    expect(new Set((await Promise.all(calls)).map(({ code }) => code))).toEqual(new Set(["UNAVAILABLE"]));
  });

  verifies("M6", "a stream that is opened again is a gap: every list is to be read again", async () => {
    const host = new RecordingHost();
    let opened = 0;
    const { origin } = await serve(
      byHand(() => {}, {
        get(_request, response) {
          stream(response).write("retry: 10\n\n");
          // Politely closed the first time.
          if (++opened === 1) setImmediate(() => response.end());
        },
      }),
    );
    await connect(origin, { host });
    await host.until(() => host.changes.length >= 4);
    expect(host.changes.map((change) => change.kind).sort()).toEqual(["prompt", "resource", "template", "tool"]);
  });

  verifies(
    "M6",
    "a stream that carried an answer is opened again too; while it is shut nothing is announced",
    async () => {
      const host = new RecordingHost();
      const streams: ServerResponse[] = [];
      const { origin } = await serve(
        byHand(() => {}, {
          get(_request, response) {
            streams.push(response);
            stream(response).flushHeaders();
          },
        }),
      );
      const session = await connect(origin, { host });
      expect([...session.announces]).toContain("tool");
      // As of a server that answers twice, the second time where it speaks unasked.
      streams[0]?.end('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
      await until(() => !session.announces.has("tool"));
      await host.until(() => host.changes.length >= 4);
      expect([streams.length, [...session.announces]]).toEqual([2, ["tool"]]);
    },
  );

  verifies("M6", "a stream that is closed politely each time is asked for more and more slowly", async () => {
    const askedAt: number[] = [];
    const thrice = Promise.withResolvers<void>();
    const { origin } = await serve(
      byHand(() => {}, {
        get(_request, response) {
          stream(response).end("retry: 10\n\n");
          if (askedAt.push(performance.now()) === 3) thrice.resolve();
        },
      }),
    );
    await connect(origin);
    await thrice.promise;
    const [first = 0, second = 0, third = 0] = askedAt;
    // A second, then two: the SDK by itself asks each time after what the server says.
    expect([second - first > 900, third - second > 1_800]).toEqual([true, true]);
  });

  verifies("M6", "a session begins when its stream is open, or a second later; then the opening is a gap", async () => {
    for (const opensAfterMs of [200, 1_200]) {
      const host = new RecordingHost();
      let opened = false;
      const { origin } = await serve(
        byHand(() => {}, {
          get(_request, response) {
            const openStream = () => {
              opened = true;
              stream(response).write(": open\n\n");
            };
            // The wait is the subject: on either side of the second that the session gives its stream.
            setTimeout(openStream, opensAfterMs);
          },
        }),
      );
      const session = await connect(origin, { host });
      expect(opened).toBe(opensAfterMs < 1_000);
      if (!opened) await host.until(() => host.changes.length >= 4);
      expect(host.changes.map(({ gap }) => gap)).toEqual(opensAfterMs < 1_000 ? [] : [true, true, true, true]);
      await session[Symbol.asyncDispose]();
    }
  });

  for (const [declared, capabilities, when] of [
    ["no notification", { tools: {}, resources: { listChanged: false } }, "beside its lists, which are given then"],
    ["changes of a list", { tools: {}, prompts: { listChanged: true } }, "before its lists"],
    ["log messages", { tools: {}, logging: {} }, "before its lists"],
  ] as const) {
    verifies("M6", `the stream of a server that declares ${declared} is opened ${when}`, async () => {
      // However long the machine takes, the stream is not late.
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      const host = new RecordingHost();
      const asked = Promise.withResolvers<ServerResponse>();
      const listed = Promise.withResolvers<void>();
      const answer = (message: Message, response: ServerResponse) => {
        response.writeHead(200, { "content-type": "application/json" });
        const result = { tools: [], content: [] };
        const text = JSON.stringify({ jsonrpc: "2.0", id: message.id, result });
        response.end(text, () => listed.resolve());
      };
      const get = (_request: IncomingMessage, response: ServerResponse) => asked.resolve(response);
      const { origin } = await serve(byHand(answer, { capabilities, get }));
      let isOpen = false;
      const openStream = async () => {
        stream(await asked.promise).write(": open\n\n");
        isOpen = true;
      };
      const isBeside = when !== "before its lists";
      if (!isBeside) void openStream();
      const session = await connect(origin, { host });
      expect(isOpen).toBe(!isBeside);
      const list = session.list.tool?.({ signal: never }).then(({ items }) => [isOpen, items]);
      await listed.promise;
      // The list has arrived by then.
      await session.call("any", {}, contextOf());
      if (isBeside) await openStream();
      expect(await list).toEqual([true, []]);
      // It is no gap: nothing that is declared can have changed meanwhile.
      expect(host.changes).toEqual([]);
    });
  }

  verifies(
    "M7",
    "a stream that was there and is refused ends the connection, which hears nothing any more",
    async () => {
      let asked = 0;
      const { origin } = await serve(
        byHand(() => {}, {
          get(_request, response) {
            if (++asked > 1) response.writeHead(500).end("out of streams");
            else stream(response).write("retry: 10\n\n", () => response.destroy());
          },
        }),
      );
      const session = await connect(origin);
      expect((await session.closed)?.message).toContain("no longer offers its event stream");
    },
  );

  verifies("M9", "closed while requests and its stream are open, it says nothing of it", async () => {
    const host = new RecordingHost();
    const arrived = Promise.withResolvers<void>();
    const { origin } = await serve(
      byHand(() => arrived.resolve(), {
        session: "s1",
        get: (_request, response) => void stream(response).write(": open\n\n"),
      }),
    );
    const session = await connect(origin, { host });
    const call = failure(session.call("any", {}, contextOf()));
    await arrived.promise;
    await session[Symbol.asyncDispose]();
    expect((await call).code).toBe("OUTCOME_UNKNOWN");
    expect([await session.closed, host.entries, host.changes]).toEqual([undefined, [], []]);
  });

  test("what answers with an error without end is read no further than a message may be long", async () => {
    let ended: (() => void) | undefined;
    const closed = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const { origin } = await serve(
      byHand((_message, response) => {
        response.on("close", () => ended?.());
        const chunk = "x".repeat(10_000);
        const more = (): void => {
          if (!response.destroyed) response.write(chunk, () => setImmediate(more));
        };
        response.writeHead(500);
        more();
      }),
    );
    const session = await connect(origin, { maxMessageBytes: 50_000 });
    expect((await failure(session.call("any", {}, contextOf()))).message).toContain("answered 500");
    await closed;
  });

  for (const [what, statuses, announces] of [
    ["opened beside the end of the handshake", [200], ["tool"]],
    ["asked for again by a server for which that is too early", [400, 200], ["tool"]],
    ["asked for twice at most", [400, 400], []],
    ["not asked for again where there is none", [404], []],
  ] as const) {
    verifies("M6", `the stream of notifications is ${what}`, async () => {
      const asked = Promise.withResolvers<void>();
      let streams = 0;
      let posts = 0;
      const get = (_request: IncomingMessage, response: ServerResponse) => {
        const status = statuses[streams++] ?? 500;
        if (status === 200) stream(response).flushHeaders();
        else response.writeHead(status).end();
        asked.resolve();
      };
      const handler = byHand(() => undefined, { session: "one", get });
      const { origin } = await serve(async (request, response) => {
        // After discovery and `initialize`: the server takes note of the handshake when it has been asked for the stream.
        if (request.method === "POST" && ++posts === 3) await asked.promise;
        handler(request, response);
      });
      const session = await connect(origin);
      expect([...session.announces]).toEqual(announces);
      expect(streams).toBe(statuses.length);
    });
  }

  verifies("M6", "a server without a stream announces nothing, whatever it declares", async () => {
    const { origin } = await serve(byHand(() => {}));
    expect([...(await connect(origin)).announces]).toEqual([]);
  });

  test("a cancelled request holds no connection", async () => {
    let ended: (() => void) | undefined;
    const closed = new Promise<void>((resolve) => {
      ended = resolve;
    });
    let arrived: (() => void) | undefined;
    const asked = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const { origin } = await serve(
      byHand((_message, response) => {
        stream(response).flushHeaders();
        response.on("close", () => ended?.());
        arrived?.();
      }),
    );
    const session = await connect(origin);
    const controller = new AbortController();
    const call = session.call("hang", {}, contextOf({ signal: controller.signal }));
    await asked;
    controller.abort(new Error("no longer"));
    await expect(call).rejects.toThrow("no longer");
    await closed;
  });

  verifies("M12", "a message over the limit is refused, as JSON and as an event", async () => {
    const { origin } = await serve(
      byHand((message, response) => {
        const answer = ok(message, "x".repeat(10_000));
        if (message.params?.name === "json") json(response, answer);
        else if (message.params?.name === "chunked")
          response.setHeader("content-type", "application/json").write(JSON.stringify(answer), () => response.end());
        else stream(response).end(`data: ${JSON.stringify(answer)}\n\n`);
      }),
    );
    const session = await connect(origin, { maxMessageBytes: 5_000 });
    for (const name of ["json", "chunked", "stream"]) {
      expect((await failure(session.call(name, {}, contextOf()))).code).toBe("LIMIT_EXCEEDED");
    }
  });

  test("statuses have their own errors", async () => {
    const { origin } = await serve(
      byHand((message, response) => {
        const status = Number(message.params?.name);
        response.writeHead(status, status === 429 || status === 503 ? { "retry-after": "7" } : {}).end("not today");
      }),
    );
    const session = await connect(origin);
    const codeOf = async (status: number) => (await failure(session.call(String(status), {}, contextOf()))).toJSON();
    expect(await codeOf(401)).toMatchObject({ code: "UNAUTHORIZED", details: { target: `${origin}/` } });
    expect(await codeOf(403)).toMatchObject({ code: "UNAUTHORIZED" });
    expect(await codeOf(429)).toMatchObject({ code: "RATE_LIMITED", details: { retryAfterMs: 7_000 } });
    expect(await codeOf(503)).toMatchObject({ code: "UNAVAILABLE", details: { retryInMs: 7_000 } });
    expect(await codeOf(502)).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(await codeOf(500)).toMatchObject({ code: "REMOTE_ERROR", details: { data: { status: 500 } } });
  });

  verifies(
    "C8",
    "a call that was answered with something else than MCP may have run; a list surely changed nothing",
    async () => {
      const { origin } = await serve(
        byHand((message, response) => {
          if (message.params?.name === "page") response.writeHead(200, { "content-type": "text/html" }).end("<html>");
          else response.end();
        }),
      );
      const session = await connect(origin);
      for (const name of ["page", "nothing"]) {
        const error = await failure(session.call(name, {}, contextOf()));
        expect(error.code, name).toBe("OUTCOME_UNKNOWN");
        expect(error.message).toContain("this is no MCP endpoint");
      }
      const listing = async () => session.list.tool?.({});
      expect((await failure(listing())).code).toBe("UNAVAILABLE");
    },
  );

  verifies("C4", "a JSON-RPC error with a status of its own is a REMOTE_ERROR", async () => {
    const { origin } = await serve(
      byHand((message, response) => {
        const error = { code: -32602, message: "bad arguments", data: { at: "x" } };
        response
          .writeHead(400, { "content-type": "application/json" })
          .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
      }),
    );
    const session = await connect(origin);
    const error = await failure(session.call("any", {}, contextOf()));
    expect(error.toJSON()).toMatchObject({
      code: "REMOTE_ERROR",
      details: { server: "hand", rpcCode: -32602, data: { at: "x" } },
    });
  });

  test("headers go with every request, credentials of the URL as Authorization, and never to another origin", async () => {
    const seen: IncomingMessage["headers"][] = [];
    const thief = await serve((request, response) => {
      seen.push(request.headers);
      response.end();
    });
    const { origin } = await serve(
      byHand((message, response, request) => {
        if (message.params?.name === "redirect") response.writeHead(307, { location: thief.origin }).end();
        else if (request.url === "/moved") json(response, ok(message, JSON.stringify(request.headers)));
        else response.writeHead(308, { location: "/moved" }).end();
      }),
    );
    const url = origin.replace("//", "//me:pass%20word@");
    const session = await connect(url, { headers: { "X-Key": "secret-key" } });
    const headers = JSON.parse(await (await session.call("any", {}, contextOf())).text()) as Record<string, string>;
    expect(headers["x-key"]).toBe("secret-key");
    expect(headers["mcp-protocol-version"]).toBe("2025-06-18");
    expect(headers.authorization).toBe(`Basic ${Buffer.from("me:pass word").toString("base64")}`);
    const error = await failure(session.call("redirect", {}, contextOf()));
    expect(error.message).toBe(
      `tools/call redirect failed: ${origin}/ answered 307, a redirect that is not followed; if you trust it, give ${thief.origin}/ as the URL.`,
    );
    expect(seen).toEqual([]);
    expect(JSON.stringify(error)).not.toMatch(/secret-key|pass/);
  });
});

describe("a server that echoes what it was sent", () => {
  const secrets = /hunter2|t0ken-t0ken|query-value|us3r-name/;
  const echo = (request: IncomingMessage) => `${request.url} ${JSON.stringify(request.headers)} hunter2-key`;
  const options = { headers: { "X-Key": "hunter2-key", Authorization: "Bearer t0ken-t0ken" } };
  const secretUrl = (origin: string) => `${origin.replace("//", "//us3r-name:hunter2-pw@")}/mcp?key=query-value`;
  const clean = (error: unknown) => expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(secrets);

  test("in the body of an error is shown without it, however it is cut", async () => {
    for (const status of [401, 404, 500]) {
      const { origin } = await serve((request, response) => {
        response.writeHead(status, "no hunter2-key").end(`${"x".repeat(290)}hunter2-key ${echo(request)}`);
      });
      const error = await failure(connect(secretUrl(origin), options));
      const { message } = operatorError(error);
      expect(message).toContain("no ***: xxx");
      expect(message).not.toContain("hunt");
      clean(error);
    }
  });

  test("in an error of JSON-RPC, of a tool, a warning, a log or a redirect is shown without it", async () => {
    const host = new RecordingHost();
    const { origin } = await serve(
      byHand((message, response, request) => {
        const text = echo(request);
        const { id, params = {} } = message;
        if (params.name === "redirect") response.writeHead(302, { location: `http://other.host/?k=hunter2-key` }).end();
        else if (params.name === "rpc")
          json(response, { jsonrpc: "2.0", id, error: { code: -32000, message: text, data: { text } } });
        else if (params.name === "isError")
          json(response, { jsonrpc: "2.0", id, result: { isError: true, content: [{ type: "text", text }] } });
        else if (message.method === "tools/list")
          json(response, { jsonrpc: "2.0", id, result: { tools: [{ name: "hunter2-key" }, { name: "hunter2-key" }] } });
        else if (params.name === "type") response.writeHead(200, { "content-type": "text/hunter2-key" }).end();
        else {
          const log = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: { text } } };
          stream(response).end(`data: ${JSON.stringify(log)}\n\ndata: ${text}\n\n`);
        }
      }),
    );
    const session = await connect(secretUrl(origin), { ...options, host });
    for (const name of ["redirect", "rpc", "isError", "type", "log"]) {
      const error = await failure(session.call(name, {}, contextOf()));
      clean(error);
      expect(JSON.stringify(error)).not.toMatch(secrets);
    }
    expect((await session.list.tool?.({}))?.warnings).toEqual(["a second tool with the name *** is left out"]);
    expect(host.entries.map(({ level }) => level)).toEqual(expect.arrayContaining(["info", "warning"]));
    expect(JSON.stringify(host.entries)).toContain("***");
    clean(host.entries);
  });

  test("in what fetch throws is shown without it, and no cause has it", async () => {
    const failing: typeof fetch = async () => {
      const cause = Object.assign(new Error("proxy refused hunter2-key"), {
        code: "ECONNREFUSED",
        sent: "hunter2-key",
      });
      throw new TypeError("fetch failed", { cause });
    };
    for (const type of ["http", "sse"] as const) {
      const connector = mcpConnector({ url: "http://host/mcp", type }, { ...options, fetch: failing });
      const error = await failure(connector.connect({ signal: never, host: new RecordingHost() }));
      expect(error.message).toContain("proxy refused ***");
      clean(error);
    }
  });
});

describe("what is no MCP server", () => {
  verifies("M1", "a web page is said to be one", async () => {
    const { origin } = await serve(
      (_request, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
    );
    const error = await failure(connect(origin));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toContain("answered text/html: this is no MCP endpoint");
  });

  verifies("M1", "404 to both transports quotes both and no page", async () => {
    const { origin } = await serve(
      (_request, response) => void response.writeHead(404, { "content-type": "text/html" }).end("<html>nope"),
    );
    const error = await failure(connect(`${origin}/mcp`));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toContain(
      "it answered 404 Not Found to Streamable HTTP, and as an SSE stream it answered 404 Not Found",
    );
    expect(error.message).not.toContain("<html>");
  });

  test("a refused connection says so, without what is secret", async () => {
    const { origin, close } = await listen(() => {});
    await close();
    const url = `${origin.replace("//", "//user:hunter2@")}/mcp?token=hunter2#hunter2`;
    const error = await failure(connect(url, { headers: { Authorization: "hunter2" } }));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toContain("ECONNREFUSED");
    expect(JSON.stringify(error)).not.toContain("hunter2");
  });

  test("a server that wants credentials is UNAUTHORIZED, before and behind the fallback", async () => {
    const unauthorized = await serve((_request, response) => void response.writeHead(401).end());
    expect((await failure(connect(unauthorized.origin))).code).toBe("UNAUTHORIZED");
    const sse = await serve((request, response) => void response.writeHead(request.method === "GET" ? 401 : 405).end());
    expect((await failure(connect(sse.origin))).code).toBe("UNAUTHORIZED");
  });

  test("a server that never answers is given up in time", async () => {
    const { origin } = await serve(() => {});
    const error = await failure(connect(origin, { connectTimeoutMs: 200 }));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toContain("did not answer within 200 ms");
  });

  test("a revision that is none of ours is named", async () => {
    const { origin } = await serve(async (request, response) => {
      const { id } = await bodyOf(request);
      json(response, {
        jsonrpc: "2.0",
        id,
        result: { protocolVersion: "1999-01-01", capabilities: {}, serverInfo: { name: "old", version: "0" } },
      });
    });
    const error = await failure(connect(origin));
    expect([error.code, error.message]).toEqual([
      "UNSUPPORTED_PROTOCOL",
      expect.stringContaining("speaks MCP 1999-01-01, which is not supported: 2025-11-25"),
    ]);
  });
});

describe("SSE", () => {
  verifies("M1", "is taken directly where the type says so, and never where it says http", async () => {
    const { origin } = await serve(sseFixture());
    const host = new RecordingHost();
    const direct = await mcpConnector({ url: origin, type: "sse" }).connect({ signal: never, host });
    expect(direct.transport).toBe("sse");
    await direct[Symbol.asyncDispose]();
    const error = await failure(mcpConnector({ url: origin, type: "http" }).connect({ signal: never, host }));
    expect(error.message).toContain("405");
  });

  verifies("M5", "another endpoint on the same stream is another session: the connection ends", async () => {
    let send: ((text: string) => void) | undefined;
    const { origin } = await serve(async (request, response) => {
      if (request.method === "GET") {
        send = (text) => stream(response).write(text);
        stream(response).write("event: endpoint\ndata: /one\n\n");
        send = (text) => response.write(text);
        return;
      }
      const message = await bodyOf(request);
      response.writeHead(202).end();
      if (message.method !== "initialize") return;
      const result = { protocolVersion: "2024-11-05", capabilities: {}, serverInfo: { name: "old", version: "1" } };
      send?.(`data: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n\n`);
    });
    const session = await mcpConnector({ url: origin, type: "sse" }).connect({
      signal: never,
      host: new RecordingHost(),
    });
    open.push(async () => session[Symbol.asyncDispose]());
    send?.("event: endpoint\ndata: /two\n\n");
    expect((await session.closed)?.message).toContain("another session");
  });

  test("an endpoint of another origin is refused", async () => {
    const { origin } = await serve(
      (_request, response) => void stream(response).write("event: endpoint\ndata: http://127.0.0.1:1/x\n\n"),
    );
    const error = await failure(
      mcpConnector({ url: origin, type: "sse" }).connect({ signal: never, host: new RecordingHost() }),
    );
    expect(error.message).toContain("not of its own origin");
  });
});

verifies("M9", "a process that closed its HTTP sessions ends by itself", () => {
  const url = new URL("../../src/mcp/index.ts", import.meta.url).href;
  const fixture = new URL("fixture/http.ts", import.meta.url).href;
  const script = `
    const { mcpConnector } = await import(${JSON.stringify(url)});
    const { listen, sseFixture, streamableFixture } = await import(${JSON.stringify(fixture)});
    for (const handler of [streamableFixture().handler, sseFixture()]) {
      const listening = await listen(handler);
      const session = await mcpConnector(listening.origin).connect({ signal: new AbortController().signal, host: { changed() {}, log() {} } });
      await session[Symbol.asyncDispose]();
      await listening.close();
    }
    console.log(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length);`;
  const run = spawnSync(process.execPath, ["--no-warnings", "--input-type=module", "-e", script], {
    encoding: "utf8",
    timeout: 15_000,
  });
  expect([run.status, run.stdout.trim(), run.stderr]).toEqual([0, "0", ""]);
});

describe("the pieces", () => {
  test("the events of an answer are read however its bytes fall", async () => {
    const bytes = Buffer.from(
      "id: 1\r\nevent: named\r\ndata: event: no\r\n\r\ndata: ü\nevent:other\n\nevent: unfinished",
    );
    for (let size = 1; size <= bytes.length; size++) {
      const response = {
        status: 200,
        statusText: "OK",
        header: () => "text/event-stream",
        async read(take: (chunk: Uint8Array) => void) {
          for (let start = 0; start < bytes.length; start += size) take(bytes.subarray(start, start + size));
        },
        discard: () => {},
      };
      const answer = new HttpAnswer(response, new URL("http://host/"), { maxMessageBytes: 100, redactor: noRedactor });
      const seen: unknown[] = [];
      await answer.events({ event: (...event) => void seen.push(event) });
      expect(seen).toEqual([
        ["named", "event: no", "1"],
        ["other", "ü", undefined],
      ]);
    }
  });

  test("an event stream is parsed however its chunks fall", () => {
    const text =
      ": comment\r\nid: 1\r\nevent: named\r\ndata: a: b\r\ndata:  c\r\n\r\nid: x\0y\nretry: 20\nretry: soon\ndata\n\nid:2\rdata:ü\r\rid: 3\n\ndata: lost\nid: 4";
    for (let size = 1; size <= text.length; size++) {
      const seen: unknown[] = [];
      const feed = eventFeed({ event: (...event) => void seen.push(event), retry: (ms) => void seen.push(ms) }, 1_000);
      for (let start = 0; start < text.length; start += size) feed(text.slice(start, start + size));
      // An id without data is no event.
      expect(seen).toEqual([["named", "a: b\n c", "1"], 20, ["message", "", undefined], ["message", "ü", "2"]]);
    }
  });

  test("the limit of an event is in bytes, of this event alone, and heeds no comment", () => {
    const push = (...chunks: readonly string[]) => {
      const feed = eventFeed({ event: () => {} }, 20);
      return () => {
        for (const chunk of chunks) feed(chunk);
      };
    };
    const whole = "data: 12345678901234567890\n\n";
    expect(push(whole, whole, ": 1234567890\n: 1234567890\n", whole.slice(0, -2))).not.toThrow();
    for (const chunks of [
      ["data: 123456789012345678901"],
      ["data: 1234567", "89012345678901"],
      ["data: 1234567890\ndata: 1234567890\n\n"],
      ["data: 1234567890\n", "data: 1234567890\n", "data: 1234567890\n"],
      ["data: üüüüüüüüüüü\n\n"],
    ])
      expect(push(...chunks)).toThrow("larger than maxMessageBytes (20)");
  });

  test("Retry-After is seconds or a date", () => {
    expect(retryAfterMs("3", 0)).toBe(3_000);
    expect(retryAfterMs("Thu, 01 Jan 1970 00:00:10 GMT", 4_000)).toBe(6_000);
    expect(retryAfterMs("soon", 0)).toBeUndefined();
    expect(retryAfterMs(undefined, 0)).toBeUndefined();
  });
});
