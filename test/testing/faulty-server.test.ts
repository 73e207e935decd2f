import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ConnectorSession } from "../../src/core/connector.ts";
import type { Fault } from "../../src/testing/faulty/active-faults.ts";
import { describeFault, type FaultName, type FaultOptions, faultCatalog } from "../../src/testing/faulty/faults.ts";
import { type FaultyServer, faultyServer } from "../../src/testing/faulty/server.ts";
import { isAlive } from "../e2e/support.ts";
import { contextOf, never, RecordingHost } from "../mcp/fixture/host.ts";
import { failure, rejection } from "../support/failure.ts";
import { until } from "../support/until.ts";
import { HttpRawClient, type RawClient, type RawMessage, StdioRawClient } from "./support/raw-client.ts";

/** Long enough for what is to be seen not to happen. */
const whileMs = 80;

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => false,
    () => false,
  );
  return Promise.race([settled, delay(whileMs, true)]);
}

const textOf = (message: RawMessage): unknown => (message.result?.content as { text: string }[] | undefined)?.[0]?.text;

/** The effect of each fault of a request on a client over a wire. */
type Seen = (client: RawClient, server: FaultyServer, fault: Fault) => Promise<void>;

const bytes = 200_000;
const onceSeen: { readonly [N in FaultName]?: readonly [FaultOptions, Seen] } = {
  "die-before": [
    {},
    async (client, server) => {
      await expect(client.call("record", { id: "a" })).rejects.toThrow();
      expect(server.runs("a")).toBe(0);
    },
  ],
  "die-after": [
    {},
    async (client, server) => {
      await expect(client.call("record", { id: "a" })).rejects.toThrow();
      expect(server.runs("a")).toBe(1);
    },
  ],
  hang: [
    {},
    async (client, server) => {
      const hanging = client.call("record", { id: "a" });
      hanging.catch(() => undefined);
      expect(textOf(await client.call("echo", { message: "other" }))).toBe("Echo: other");
      expect([await isPending(hanging), server.runs("a")]).toEqual([true, 0]);
    },
  ],
  "half-open": [
    {},
    async (client, server, { happened }) => {
      expect(happened).toBe(1);
      const ping = client.request("ping");
      ping.catch(() => undefined);
      server.notify("notifications/tools/list_changed");
      expect(await isPending(ping)).toBe(true);
      expect(client.received.join()).not.toContain("list_changed");
    },
  ],
  "black-hole": [
    {},
    async (client, _server, { happened }) => {
      expect(happened).toBe(1);
      const ping = client.request("ping");
      ping.catch(() => undefined);
      expect(await isPending(ping)).toBe(true);
    },
  ],
  slow: [
    { ms: 120 },
    async (client) => {
      const begin = performance.now();
      await client.call("echo");
      expect(performance.now() - begin).toBeGreaterThan(110);
    },
  ],
  garbage: [
    {},
    async (client) => {
      expect(textOf(await client.call("echo", { message: "a" }))).toBe("Echo: a");
      const [line] = client.received.slice(-2);
      expect(() => JSON.parse(line ?? "")).toThrow();
    },
  ],
  oversized: [{ bytes }, async (client) => expect(textOf(await client.call("echo"))).toHaveLength(bytes)],
  deep: [
    { depth: 5_000 },
    async (client) => {
      let depth = 0;
      let at: unknown = (await client.call("echo")).result?.structuredContent;
      for (; typeof at === "object"; at = (at as { a: unknown }).a) depth++;
      expect(depth).toBe(5_000);
    },
  ],
  "duplicate-answer": [
    {},
    async (client) => {
      await client.call("echo", { message: "twice" });
      await client.hears("Echo: twice", 2);
      const [one, two] = client.messages.slice(-2);
      expect(one).toEqual(two);
    },
  ],
  "unknown-id": [
    {},
    async (client) => {
      const { id } = await client.call("echo");
      expect(client.messages.slice(-2).map((message) => message.id)).toEqual([987_654_321, id]);
    },
  ],
  "wrong-id-type": [{}, async (client) => expect((await client.call("echo")).id).toBe("3")],
  "late-progress": [
    {},
    async (client) => {
      await client.call("echo");
      await client.hears("late");
      expect(client.messages.at(-1)).toMatchObject({
        method: "notifications/progress",
        params: { progressToken: "token" },
      });
    },
  ],
  flood: [
    { times: 300 },
    async (client) => {
      await client.hears("message 299");
      expect(client.messages.filter(({ method }) => method === "notifications/message")).toHaveLength(300);
    },
  ],
  "list-storm": [
    { times: 300 },
    async (client) => {
      await client.hears("list_changed", 300);
      expect(client.received.filter((text) => text.includes("notifications/prompts/list_changed"))).toHaveLength(100);
    },
  ],
  "request-flood": [
    { times: 20 },
    async (client) => {
      await client.hears("flood-19");
      expect(client.messages.filter(({ method }) => method === "ping")).toHaveLength(10);
    },
  ],
  "schema-drift": [
    { tool: "add" },
    async (client) => {
      const tools = (await client.request("tools/list")).result?.tools as { name: string; inputSchema: unknown }[];
      const drifted = tools.filter(({ inputSchema }) => JSON.stringify(inputSchema).includes("drift"));
      expect(drifted.map(({ name }) => name)).toEqual(["add"]);
      await client.hears("notifications/tools/list_changed", 2);
    },
  ],
  "odd-schema": [
    {},
    async (client) => {
      const tools = (await client.request("tools/list")).result?.tools as unknown[];
      expect(tools).toHaveLength(8 + 8);
      expect(tools).toContainEqual({ name: "odd_missing" });
    },
  ],
  "duplicate-names": [
    {},
    async (client) => {
      const { prompts } = (await client.request("prompts/list")).result as { prompts: { name: string }[] };
      expect(prompts.map(({ name }) => name)).toEqual(["greet", "greet"]);
    },
  ],
  "cursor-loop": [
    {},
    async (client) => expect((await client.request("tools/list")).result).toMatchObject({ nextCursor: "0" }),
  ],
  "endless-pages": [
    {},
    async (client) => {
      const params = { cursor: "41" };
      expect((await client.request("tools/list", params)).result).toEqual({ tools: [], nextCursor: "42" });
    },
  ],
};

describe.each(["stdio", "http"] as const)("a faulty server over %s", (transport) => {
  let server: FaultyServer;
  let clients: RawClient[];

  const connect = async (): Promise<RawClient> => {
    if (transport === "stdio") {
      const client = new StdioRawClient(await server.stdio());
      clients.push(client);
      await client.open();
      return client;
    }
    const client = new HttpRawClient((await server.listen()).url);
    clients.push(client);
    await client.open();
    await new Promise<void>((resolve) => void client.listen(resolve));
    return client;
  };
  beforeEach(() => {
    server = faultyServer();
    clients = [];
  });
  afterEach(async () => {
    for (const client of clients) await client.close();
    await server[Symbol.asyncDispose]();
    await until(() => server.running().length === 0);
  });

  test("has tools, prompts and resources", async () => {
    const client = await connect();
    expect(textOf(await client.call("echo", { message: "hi" }))).toBe("Echo: hi");
    expect((await client.call("add", { a: 1, b: 2 })).result?.structuredContent).toEqual({ sum: 3 });
    await client.call("record", { id: "a" });
    await client.call("record", { id: "a" });
    expect(textOf(await client.call("count", { of: "a" }))).toBe("2");
    expect(textOf(await client.call("slow", { ms: 20 }))).toBe("done");
    expect(client.messages.filter(({ method }) => method === "notifications/progress")).toHaveLength(10);
    await client.call("log", { data: 7 });
    expect(client.messages.find(({ method }) => method === "notifications/message")).toMatchObject({
      params: { data: 7 },
    });
    const prompt = await client.request("prompts/get", { name: "greet", arguments: { name: "Ada" } });
    expect(JSON.stringify(prompt.result)).toContain("Greet Ada.");
    const read = await client.request("resources/read", { uri: "memo://one" });
    expect(read.result?.contents).toMatchObject([{ text: "A memo." }]);
    expect((await client.request("no/such")).error?.code).toBe(-32601);
    expect((await client.call("no_such")).error?.code).toBe(-32602);
  });

  test("asks the client, and hears what it answers", async () => {
    const client = await connect();
    const asking = client.call("ask", { message: "Who?" });
    await client.hears("elicitation/create");
    const request = client.messages.find(({ method }) => method === "elicitation/create");
    await client.send({ jsonrpc: "2.0", id: request?.id, result: { action: "decline" } });
    expect(textOf(await asking)).toBe('{"action":"decline"}');
    const pinging = expect(server.request("ping")).rejects.toThrow('{"code":7}');
    await client.hears('"ping"');
    await client.send({
      jsonrpc: "2.0",
      id: client.messages.find(({ method }) => method === "ping")?.id,
      error: { code: 7 },
    });
    await pinging;
  });

  test("offers something else, and tells who subscribed of a change", async () => {
    const client = await connect();
    server.change({ tools: { one: { run: () => "1" } } });
    await client.hears("notifications/tools/list_changed");
    expect((await client.request("tools/list")).result?.tools).toEqual([
      { name: "one", inputSchema: { type: "object" } },
    ]);
    expect(server.offers).toEqual({ tools: ["one"], prompts: ["greet"], resources: ["memo://one"] });
    expect(server.touch("memo://one")).toBe(0);
    await client.request("resources/subscribe", { uri: "memo://one" });
    expect(server.touch("memo://one")).toBe(1);
    await client.hears("notifications/resources/updated");
  });

  test.each(Object.entries(onceSeen))("%s: once, and then no more", async (name, [options, seen]) => {
    let client = await connect();
    const fault = await server.fault(name as FaultName, { times: 1, ...options });
    await seen(client, server, fault);
    await fault.happens(options.times ?? 1);
    expect(fault.happened).toBe(options.times ?? 1);
    if (["die-before", "die-after", "half-open", "black-hole"].includes(name)) client = await connect();
    expect(textOf(await client.call("echo", { message: "well" }))).toBe("Echo: well");
    expect((await client.request("prompts/list")).result).toMatchObject({ prompts: [{ name: "greet" }] });
  });

  test("a fault for some requests leaves the others alone, and is off when it is disposed of", async () => {
    const client = await connect();
    {
      await using fault = await server.fault("slow", { tool: "add", ms: 60_000 });
      const adding = client.call("add", { a: 1, b: 2 });
      adding.catch(() => undefined);
      await client.call("echo");
      await fault.happens();
      expect(await isPending(adding)).toBe(true);
    }
    await client.call("add", { a: 1, b: 2 });
    await using pings = await server.fault("hang", { method: "ping" });
    expect(await isPending(client.request("ping"))).toBe(true);
    expect(pings.happened).toBe(1);
  });

  test("unknown-version: the handshake alone", async () => {
    await server.fault("unknown-version", { times: 1 });
    const client = transport === "stdio" ? new StdioRawClient(await server.stdio()) : undefined;
    const other = client ?? new HttpRawClient((await server.listen()).url);
    clients.push(other);
    expect((await other.open()).result?.protocolVersion).toBe("1999-12-31");
  });

  test("pages have as many entries as was said", async () => {
    const paged = faultyServer({ pageSize: 3, name: "paged" });
    try {
      const client =
        transport === "stdio" ? new StdioRawClient(await paged.stdio()) : new HttpRawClient((await paged.listen()).url);
      clients.push(client);
      await client.open();
      const sizes: number[] = [];
      for (let cursor: unknown; sizes.length === 0 || cursor !== undefined; ) {
        const { result = {} } = await client.request("tools/list", cursor === undefined ? {} : { cursor });
        sizes.push((result.tools as unknown[]).length);
        cursor = result.nextCursor;
      }
      expect(sizes).toEqual([3, 3, 2]);
    } finally {
      for (const client of clients) await client.close();
      await paged[Symbol.asyncDispose]();
    }
  });
});

describe("a faulty server over stdio", () => {
  let server: FaultyServer;
  let client: StdioRawClient;

  const start = async () => {
    client = new StdioRawClient(await server.stdio());
    await client.open();
  };
  const processes = () => server.running().map((text) => Number(text.split(" ")[1]));
  beforeEach(() => {
    server = faultyServer();
  });
  afterEach(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
    await until(() => server.running().length === 0);
  });

  test("its child ends with its stdin, and on SIGTERM", async () => {
    await start();
    client.child.stdin.end();
    expect(await client.exited).toBe(0);
    await start();
    client.child.kill("SIGTERM");
    expect(await client.exited).toBe(0);
  });

  test("ignore-term: it ends with neither, until the fault is off", async () => {
    await start();
    const fault = await server.fault("ignore-term");
    await client.request("ping");
    client.child.kill("SIGTERM");
    await client.request("ping");
    client.child.stdin.end();
    expect(await isPending(client.exited)).toBe(true);
    await fault.off();
    await until(() => {
      client.child.kill("SIGTERM");
      return client.child.exitCode !== null;
    });
  });

  test("grandchild: it holds stdout when its parent is gone", async () => {
    await server.fault("grandchild", { times: 1 });
    await start();
    await until(() => processes().length === 2);
    const [child, grandchild] = processes() as [number, number];
    const ended = new Promise((resolve) => client.child.stdout.once("end", resolve));
    await client.close();
    expect([await isPending(ended), isAlive(grandchild)]).toEqual([true, true]);
    expect(child).toBe(client.child.pid);
    await server[Symbol.asyncDispose]();
    await ended;
    await start().catch(() => undefined);
  });

  test("stderr-flood: lines without end, until it is off", async () => {
    await start();
    const fault = await server.fault("stderr-flood", { perSecond: 20_000 });
    await until(() => client.stderr.length > 10_000);
    await fault.off();
    let before: number;
    do {
      before = client.stderr.length;
      await delay(whileMs);
    } while (client.stderr.length > before);
  });

  test("down: the child exits and says why, until it is off", async () => {
    await start();
    const fault = await server.fault("down");
    expect(await client.exited).toBe("SIGKILL");
    await expect(start()).rejects.toThrow("exited: 1");
    expect(client.stderr).toContain("faulty is down");
    await fault.off();
    await start();
  });

  test("a child ends by itself when the server is gone", async () => {
    await server.fault("ignore-term");
    await start();
    await server[Symbol.asyncDispose]();
    await client.exited;
  });
});

test.each(["duplicate-names", "odd-schema"] as const)(
  "%s that goes in the middle of a list takes no entry with it",
  async (name) => {
    await using server = faultyServer({ pageSize: 3 });
    const client = new HttpRawClient((await server.listen()).url);
    try {
      await client.open();
      const fault = await server.fault(name);
      const listed = new Set<unknown>();
      for (let cursor: unknown = "0"; cursor !== undefined; ) {
        const { result = {} } = await client.request("tools/list", { cursor });
        for (const tool of result.tools as readonly { readonly name?: string }[]) listed.add(tool.name);
        cursor = result.nextCursor;
        await fault.off();
      }
      for (const tool of server.offers.tools) expect(listed).toContain(tool);
    } finally {
      await client.close();
    }
  },
);

describe("a faulty server over HTTP", () => {
  let server: FaultyServer;
  let client: HttpRawClient;

  beforeEach(() => {
    server = faultyServer();
  });
  afterEach(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
    await until(() => server.running().length === 0);
  });
  const start = async (answers: "sse" | "json" = "sse") => {
    client = new HttpRawClient((await server.listen({ answers })).url);
    await client.open();
  };

  test("end-stream: the tool runs, and the answer ends without a result, as events and as JSON", async () => {
    for (const answers of ["sse", "json"] as const) {
      await start(answers);
      await server.fault("end-stream", { times: 1 });
      await expect(client.call("record", { id: answers })).rejects.toThrow("ended without a result");
      expect(server.runs(answers)).toBe(1);
    }
  });

  test("http-error: a status instead of an answer, and nothing runs", async () => {
    await start();
    await server.fault("http-error", { times: 1, status: 429 });
    await expect(client.call("record", { id: "a" })).rejects.toThrow("answered 429");
    expect(server.runs("a")).toBe(0);
    await client.call("record", { id: "a" });
  });

  test.each([404, 400] as const)("drop-session-%d: the session is forgotten", async (status) => {
    await start();
    await server.fault(`drop-session-${status}`, { times: 1 });
    await expect(client.call("echo")).rejects.toThrow(`answered ${status}`);
    await expect(client.call("echo")).rejects.toThrow("answered 404");
  });

  test("close-stream: the stream that is open ends politely, and each that is opened", async () => {
    await start();
    let opened: () => void = () => undefined;
    const open = new Promise<void>((resolve) => {
      opened = resolve;
    });
    const ended = client.listen(opened);
    await open;
    const fault = await server.fault("close-stream", { times: 2 });
    expect(await ended).toBeUndefined();
    expect(await client.listen()).toBeUndefined();
    expect(fault.happened).toBe(2);
  });

  test("down: the port is closed, and the same one is open again when it is off", async () => {
    await start();
    const fault = await server.fault("down");
    // The first finds that its socket was closed.
    await rejection(client.call("echo"));
    const error = await rejection(client.call("echo"));
    expect(String((error as Error).cause)).toContain("ECONNREFUSED");
    await fault.off();
    await expect(client.call("echo")).rejects.toThrow("answered 404");
  });

  test("is stopped and started again on its port", async () => {
    await start();
    const listening = await server.listen();
    const { port } = listening;
    await listening.stop();
    await listening.start();
    expect(listening.port).toBe(port);
    client = new HttpRawClient(listening.url);
    await client.open();
  });

  test("half-open: of several connections the newest first, for an older one may have been given up", async () => {
    const { url } = await server.listen();
    const [older, newer] = [new HttpRawClient(url), new HttpRawClient(url)];
    client = newer;
    await older.open();
    await newer.open();
    await server.fault("half-open", { times: 1 });
    await older.request("ping");
    const ping = newer.request("ping");
    ping.catch(() => undefined);
    expect(await isPending(ping)).toBe(true);
  });

  test("answers with JSON where it is to, and says the rest by the stream", async () => {
    await start("json");
    await new Promise<void>((resolve) => void client.listen(resolve));
    expect(textOf(await client.call("slow", { ms: 10 }))).toBe("done");
    await client.hears("step 10");
  });
});

describe("a faulty server in memory", () => {
  let server: FaultyServer;
  let host: RecordingHost;
  let session: ConnectorSession;

  const connect = async () => {
    host = new RecordingHost();
    session = await server.connector().connect({ signal: never, host });
  };
  beforeEach(async () => {
    server = faultyServer({ name: "inner" });
    await connect();
  });
  afterEach(async () => {
    await session[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    expect(server.running()).toEqual([]);
  });

  test("is called", async () => {
    expect(session.server.name).toBe("inner");
    expect(await (await session.call("echo", { message: "hi" }, contextOf())).text()).toBe("Echo: hi");
    expect(server.running()).toEqual(["an in-memory connection"]);
  });

  test("dies, is down, and is back", async () => {
    await server.fault("die-after", { times: 1 });
    expect((await failure(session.call("record", { id: "a" }, contextOf()))).code).toBe("OUTCOME_UNKNOWN");
    const fault = await server.fault("down");
    await expect(connect()).rejects.toThrow("inner is down");
    await fault.off();
    await connect();
    expect(server.runs("a")).toBe(1);
  });

  test("sends what is no message", async () => {
    await server.fault("garbage", { times: 1 });
    await session.call("echo", {}, contextOf());
    await host.until(() => host.entries.length > 0);
    expect(host.entries[0]?.data).toContain("no message");
  });

  test("hangs, until the caller has enough", async () => {
    const fault = await server.fault("hang");
    const controller = new AbortController();
    const call = rejection(session.call("echo", {}, contextOf({ signal: controller.signal })));
    await fault.happens();
    controller.abort("enough");
    expect(await call).toBe("enough");
  });
});

describe("what is wrong with a fault is said", () => {
  test("one that does not exist, with those that do", async () => {
    await using server = faultyServer();
    const error = await failure(server.fault("hnag" as FaultName));
    expect(error).toMatchObject({ code: "INVALID_CONFIG" });
    expect(error.message).toContain("half-open");
  });

  test("one that cannot happen where the server is reached", async () => {
    await using server = faultyServer();
    server.connector();
    const error = await failure(server.fault("end-stream"));
    expect(error.message).toBe("The fault end-stream happens over http, and the server is reached over in-memory.");
    await server.listen();
    await server.fault("end-stream");
  });

  test("an option it does not take, or a value that is none", async () => {
    await using server = faultyServer();
    expect((await failure(server.fault("hang", { ms: 5 }))).message).toContain("has no option ms");
    expect((await failure(server.fault("slow", { ms: -5 }))).message).toContain("ms");
    expect((await failure(server.fault("slow", { tool: 5 as unknown as string }))).message).toContain("tool");
  });

  test("happens() ends with its signal", async () => {
    await using server = faultyServer();
    const fault = await server.fault("hang");
    expect(await rejection(fault.happens(1, { signal: AbortSignal.abort("enough") }))).toBe("enough");
  });
});

test("every fault has a description in a sentence, and a test here", () => {
  const elsewhere = [
    "down",
    "end-stream",
    "http-error",
    "drop-session-404",
    "drop-session-400",
    "close-stream",
    "unknown-version",
    "ignore-term",
    "grandchild",
    "stderr-flood",
  ];
  expect([...Object.keys(onceSeen), ...elsewhere].sort()).toEqual(Object.keys(faultCatalog).sort());
  for (const name of Object.keys(faultCatalog) as FaultName[]) {
    expect(describeFault(name).summary, name).toMatch(/^[A-Z][^|\n]*\.$/);
  }
});
