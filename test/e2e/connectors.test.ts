import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";
import type { Connection } from "../../src/core/connection.ts";
import type { ToolkitEvent, ToolkitEventType } from "../../src/core/event.ts";
import type { LogEntry, Progress } from "../../src/core/session.ts";
import type { ConnectorTarget } from "../../src/core/target.ts";
import { inMemoryConnector } from "../../src/mcp/mcp-connector.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { listen } from "../mcp/fixture/http.ts";
import { createFixture } from "../mcp/fixture/server.ts";
import { failure, rejection } from "../support/failure.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { everything, filesystem, freePort, isAlive, ListeningChild, memory } from "./support.ts";

const fixtureChild = fileURLToPath(new URL("../mcp/fixture/stdio.ts", import.meta.url));
const service = fileURLToPath(new URL("fixture/service.ts", import.meta.url));
const leavesNothing = fileURLToPath(new URL("fixture/leaves-nothing.ts", import.meta.url));

/** Soon, so that a test need not wait for what the default waits. */
const soon = { retryMs: 100, maxRetryMs: 300 };
const node = (...args: readonly string[]) => ({ command: process.execPath, args });

describe("real servers", () => {
  let toolkit: Toolkit;
  let events: ToolkitEvent[];
  let logged: string[];
  let folder: string;

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "toolweave-e2e-")));
    await writeFile(join(folder, "hello.txt"), "Hello from a file");
  });
  afterAll(() => rm(folder, { recursive: true }));
  beforeEach(() => {
    events = [];
    logged = [];
    const log = (message: string) => void logged.push(message);
    toolkit = new Toolkit({ logger: { debug: log, info: log, warn: log, error: log } });
    toolkit.on("*", (event) => void events.push(event));
  });
  afterEach(async () => {
    const pids = toolkit.connections.flatMap(({ processId }) => (processId === undefined ? [] : [processId]));
    await toolkit.close();
    expect(pids.filter(isAlive)).toEqual([]);
  });
  const types = (connection: Connection): ToolkitEventType[] =>
    events.filter((event) => "connection" in event && event.connection === connection).map(({ type }) => type);

  describe.each(["stdio", "streamable-http", "sse"] as const)("server-everything over %s", (transport) => {
    let server: ListeningChild | undefined;
    let target: ConnectorTarget;
    let connection: Connection;

    beforeAll(async () => {
      if (transport === "stdio") {
        target = node(everything, "stdio");
        return;
      }
      const http = transport === "streamable-http";
      server = await ListeningChild.everything(http ? "streamableHttp" : "sse", await freePort());
      target = `http://127.0.0.1:${server.port}/${http ? "mcp" : "sse"}`;
    });
    afterAll(() => server?.kill());
    beforeEach(async () => {
      connection = toolkit.addConnector(target, { namespace: "every", ...soon });
      await toolkit.start();
      await connection.ready();
    });

    verifies(["M4", "M13"], "is connected and listed after start", async () => {
      expect(connection).toMatchObject({ state: "connected", transport, attempts: 0, lastError: undefined });
      expect(connection.server?.name).toBe("mcp-servers/everything");
      expect(connection.counts.tool).toBeGreaterThanOrEqual(10);
      expect(connection.counts).toMatchObject({ prompt: 4, template: 2 });
      expect(connection.counts.resource).toBeGreaterThanOrEqual(7);
      // The tools come first, the rest as it is listed.
      const [first, second, ...rest] = types(connection);
      expect([first, second]).toEqual(["connectorConnected", "toolListChanged"]);
      expect(rest).toEqual(expect.arrayContaining(["promptListChanged", "resourceListChanged"]));
      const page = await toolkit.list({ kind: ["tool", "prompt", "resource", "template"], namespace: "every" });
      expect(page.failures).toEqual([]);
      expect(page.count).toBe(Object.values(connection.counts).reduce((sum, count) => sum + count));
      expect(page.entries.some(({ stale }) => stale)).toBe(false);
    });

    verifies(["N3", "N4", "N5"], "its items are found by all four forms of key", async () => {
      expect((await toolkit.lookup("every.echo")).ref).toBe("every.echo");
      expect((await toolkit.lookup("echo")).ref).toBe("every.echo");
      const [first] = connection.list("resource");
      const uri = first?.item.uri as string;
      expect((await toolkit.lookup(uri, { kind: "resource" })).item).toBe(first?.item);
      expect((await toolkit.lookup(`${uri}#every`, { kind: "resource" })).item).toBe(first?.item);
    });

    verifies("C4", "its tools are called: text, JSON, images, errors", async () => {
      expect(await (await toolkit.call("every.echo", { message: "hi" })).text()).toBe("Echo: hi");
      const structured = await toolkit.call("every.get-structured-content", { location: "Chicago" });
      expect(await structured.json()).toMatchObject({ conditions: expect.any(String) });
      const image = await toolkit.call("every.get-tiny-image");
      expect(image.parts?.map(({ mediaType }) => mediaType)).toContain("image/png");
      expect(await failure(toolkit.call("every.get-sum", { a: "one" }))).toMatchObject({ code: "INVALID_INPUT" });
      const entry = await toolkit.lookup("every.get-sum", { kind: "tool" });
      expect(await (await toolkit.call(entry, { a: 2, b: 3 })).text()).toContain("5");
      expect(connection.latencyMs).toBeGreaterThan(0);
    });

    verifies("M10", "progress arrives, in order", async () => {
      const reports: Progress[] = [];
      await toolkit.call(
        "every.trigger-long-running-operation",
        { duration: 0.2, steps: 4 },
        { onProgress: (progress) => void reports.push(progress) },
      );
      expect(reports.map(({ progress }) => progress)).toEqual([1, 2, 3, 4]);
      expect(reports[0]?.total).toBe(4);
    });

    verifies("C6", "an abort rejects at once, and the connection stays", async () => {
      const controller = new AbortController();
      const calling = rejection(
        toolkit.call(
          "every.trigger-long-running-operation",
          { duration: 60, steps: 600 },
          { signal: controller.signal, onProgress: () => controller.abort("enough") },
        ),
      );
      expect(await calling).toBe("enough");
      expect(await (await toolkit.call("every.echo", { message: "still here" })).text()).toBe("Echo: still here");
      expect(connection.callsInFlight).toBe(0);
    });

    verifies("K3", "its prompts are rendered", async () => {
      const { messages } = await toolkit.render("every.args-prompt", { city: "Bern" });
      expect(messages).toHaveLength(1);
      expect(await messages[0]?.content[0]?.text()).toContain("Bern");
      expect(await failure(toolkit.render("every.args-prompt", {}))).toMatchObject({ code: "INVALID_INPUT" });
    });

    verifies("K1", "its resources and templates are read", async () => {
      const [first] = connection.list("resource");
      expect((await (await toolkit.read(first?.item.uri as string)).text()).length).toBeGreaterThan(10);
      const dynamic = "demo://resource/dynamic/text/7";
      expect(await (await toolkit.read(dynamic)).text()).toContain("7");
      const handle = await toolkit.lookup(`${dynamic}#every`, { kind: "resource" });
      expect(await handle.item.text()).toContain("7");
    });
  });

  verifies("M4", "server-filesystem and server-memory work side by side with a server in this process", async () => {
    const fixture = createFixture();
    const inMemory = inMemoryConnector((transport) => fixture.create().connect(transport as never));
    toolkit.addConnector(node(filesystem, folder), { namespace: "files" });
    const environment = { MEMORY_FILE_PATH: join(folder, "memory.jsonl") };
    toolkit.addConnector({ ...node(memory), env: environment }, { namespace: "memory" });
    toolkit.addConnector(inMemory);
    await toolkit.start();
    await Promise.all(toolkit.connections.map((connection) => connection.ready()));
    expect(toolkit.connections.map(({ namespace, transport }) => [namespace, transport])).toEqual([
      ["files", "stdio"],
      ["memory", "stdio"],
      ["fixture", "in-memory"],
    ]);
    const file = await toolkit.call("files.read_text_file", { path: join(folder, "hello.txt") });
    expect(await file.json()).toEqual({ content: "Hello from a file" });
    expect(await failure(toolkit.call("files.read_text_file", { path: "/etc/passwd" }))).toMatchObject({
      code: "TOOL_FAILED",
    });
    await toolkit.call("memory.create_entities", {
      entities: [{ name: "Bern", entityType: "city", observations: ["has bears"] }],
    });
    expect(await (await toolkit.call("memory.read_graph")).json()).toMatchObject({ entities: [{ name: "Bern" }] });
    expect(await (await toolkit.call("fixture.add", { a: 1, b: 2 })).json()).toEqual({ sum: 3 });
    expect((await toolkit.list()).failures).toEqual([]);
  });

  describe.each(["in-memory", "stdio"] as const)("a server over %s", (transport) => {
    let connection: Connection;

    beforeEach(async () => {
      const fixture = createFixture();
      const target =
        transport === "stdio"
          ? node(fixtureChild)
          : inMemoryConnector((far) => fixture.create().connect(far as never), { label: "fixture" });
      connection = toolkit.addConnector(target, soon);
      await connection.ready();
    });

    verifies(["E1", "E3", "M6"], "says that its lists changed: they are read again, once, and told", async () => {
      events.length = 0;
      expect(connection.namespace).toBe("fixture");
      await toolkit.call("fixture.grow");
      await until(() => connection.list("tool").some(({ name }) => name === "grown"));
      expect(await (await toolkit.call("grown")).text()).toBe("grown");
      await until(() => types(connection).length > 0);
      expect(events.filter(({ type }) => type.endsWith("ListChanged"))).toMatchObject([
        { type: "toolListChanged", namespace: "fixture", added: ["fixture.grown"], removed: [], changed: [] },
      ]);
      await toolkit.call("fixture.touch");
      await until(() => events.some(({ type }) => type === "resourceUpdated"));
      expect(events.find(({ type }) => type === "resourceUpdated")).toMatchObject({
        namespace: "fixture",
        uri: "memo://one",
      });
    });

    verifies("M10", "logs to the logger and the session that is calling, and hears _meta", async () => {
      const heard: LogEntry[] = [];
      const session = { id: "one", meta: { tenant: "a" }, log: (entry: LogEntry) => void heard.push(entry) };
      await toolkit.call("fixture.log", {}, { session });
      expect(heard).toEqual([{ level: "warning", logger: "fixture/disk", data: { free: 3 } }]);
      expect(logged).toEqual(['fixture/disk: {"free":3}']);
      const echo = await toolkit.call("fixture.echo", { message: "x" }, { session, meta: { call: 1 } });
      expect(JSON.stringify(echo.meta)).toContain('"tenant":"a"');
      expect(JSON.stringify(echo.meta)).toContain('"call":1');
    });

    verifies("M13", "reconnect makes a new generation, whose items are those there were", async () => {
      const entry = await toolkit.lookup("fixture.echo", { kind: "tool" });
      const pid = connection.processId;
      for (let round = 0; round < 3; round++) {
        connection.reconnect();
        expect((await toolkit.lookup("fixture.echo")).stale).toBe(true);
        await connection.ready();
      }
      expect(await (await toolkit.call(entry, { message: "again" })).text()).toBe("Echo: again");
      expect((await toolkit.lookup("fixture.echo", { kind: "tool" })).item).toBe(entry.item);
      if (transport === "stdio") await until(() => pid !== undefined && !isAlive(pid));
    });

    verifies("M9", "removed while it is called, the call ends and with it the server", async () => {
      const calling = failure(toolkit.call("fixture.hang"));
      await until(() => connection.callsInFlight === 1);
      const pid = connection.processId;
      await toolkit.removeConnector("fixture");
      expect((await calling).code).toBe("OUTCOME_UNKNOWN");
      expect(pid !== undefined && isAlive(pid)).toBe(false);
      expect((await failure(connection.ready())).code).toBe("CLOSED");
      await until(() => types(connection).at(-1) === "connectorRemoved");
    });
  });

  verifies(["M5", "L3", "E1"], "a child that is killed is noticed, stale meanwhile, and comes back", async () => {
    const connection = toolkit.addConnector(node(fixtureChild), { namespace: "child", ...soon });
    const other = toolkit.addConnector(node(everything), { namespace: "every", ...soon });
    await toolkit.start();
    await Promise.all([connection.ready(), other.ready()]);
    const entry = await toolkit.lookup("child.echo", { kind: "tool" });
    const pidOf = async () => Number(await (await toolkit.call("child.pid")).text());
    const pid = await pidOf();
    let meanwhile: ReturnType<typeof toolkit.list> | undefined;
    toolkit.on("connectorDisconnected", () => {
      meanwhile ??= toolkit.list({ kind: "tool" });
    });
    const lost = failure(toolkit.call("child.hang"));
    await until(() => connection.callsInFlight === 1);
    events.length = 0;
    process.kill(pid, "SIGKILL");
    await until(() => meanwhile !== undefined, 5_000);
    expect((await lost).code).toBe("OUTCOME_UNKNOWN");
    const page = await (meanwhile as ReturnType<typeof toolkit.list>);
    expect(new Set(page.entries.map(({ namespace, stale }) => `${namespace} ${stale}`))).toEqual(
      new Set(["child true", "every false"]),
    );
    expect(page.failures).toMatchObject([{ namespace: "child", error: { code: "UNAVAILABLE" } }]);
    // Called while it is away: it waits.
    expect(await (await toolkit.call(entry, { message: "again" })).text()).toBe("Echo: again");
    expect(connection).toMatchObject({ state: "connected", attempts: 0 });
    expect(await pidOf()).not.toBe(pid);
    expect((await toolkit.lookup("child.echo", { kind: "tool" })).item).toBe(entry.item);
    expect(types(connection).slice(0, 2)).toEqual(["connectorDisconnected", "connectorConnected"]);
    expect(types(other)).toEqual([]);
  });

  verifies(
    "M5",
    "an HTTP server that goes is noticed, and found again on its port",
    async () => {
      const port = await freePort();
      let server = await ListeningChild.everything("streamableHttp", port);
      try {
        const connection = toolkit.addConnector(`http://127.0.0.1:${port}/mcp`, { namespace: "every", ...soon });
        await toolkit.start();
        const entry = await toolkit.lookup("every.echo", { kind: "tool" });
        await server.kill();
        await until(() => connection.state !== "connected", 5_000);
        expect((await toolkit.lookup("every.echo")).stale).toBe(true);
        const unavailable = await failure(toolkit.call("every.echo", { message: "x" }, { timeoutMs: 300 }));
        expect(unavailable).toMatchObject({ code: "UNAVAILABLE", details: { namespace: "every" } });
        server = await ListeningChild.everything("streamableHttp", port);
        await connection.ready();
        expect(await (await toolkit.call(entry, { message: "again" })).text()).toBe("Echo: again");
        expect((await toolkit.lookup("every.echo")).stale).toBe(false);
      } finally {
        await server.kill();
      }
    },
    60_000,
  );

  verifies(["M8", "M9"], "after close nothing is left: no process, no handle, no rejection", async () => {
    const server = await ListeningChild.everything("streamableHttp", await freePort());
    try {
      const url = `http://127.0.0.1:${server.port}/mcp`;
      const dead = `http://127.0.0.1:${await freePort()}/mcp`;
      const child = spawn(process.execPath, ["--unhandled-rejections=strict", leavesNothing, url, dead], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
      expect([code, err]).toEqual([0, ""]);
      const { pid, states, codes } = JSON.parse(out);
      expect(states).toEqual([
        "child connected",
        "http connected",
        "inner connected",
        expect.stringMatching(/^dead (waiting|connecting)$/),
        expect.stringMatching(/^missing (waiting|connecting)$/),
        "silent connecting",
        "lazy idle",
      ]);
      expect(codes).toEqual(["CLOSED", "CLOSED"]);
      expect(isAlive(pid)).toBe(false);
    } finally {
      await server.kill();
    }
  });

  verifies(["M4", "M9"], "a service stays while every server is down, and ends when it is told to", async () => {
    const dead = `http://127.0.0.1:${await freePort()}/mcp`;
    const child = spawn(process.execPath, ["--unhandled-rejections=strict", service, dead], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const exit = once(child, "exit");
    const errors = text(child.stderr);
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (more: string) => {
      said += more;
    });
    // The first attempt has failed, and the second too: between them nothing but a timer was left.
    await Promise.race([exit, until(() => said.startsWith("down\ndown"))]);
    expect(child.exitCode, said).toBeNull();
    child.kill("SIGTERM");
    expect([(await exit)[0], await errors, said.endsWith("ended\n")]).toEqual([0, "", true]);
  });

  verifies("L4", "a server with more tools than a list may have shows the cut in failures", async () => {
    const tools = Array.from({ length: 10_001 }, (_, index) => ({
      name: `t${index}`,
      inputSchema: { type: "object" },
    }));
    const results: Readonly<Record<string, unknown>> = {
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "big", version: "1" },
      },
      "tools/list": { tools },
    };
    const big = inMemoryConnector((transport) => {
      transport.onmessage = (message) => {
        const { id, method } = message as { readonly id?: number; readonly method: string };
        if (id !== undefined) void transport.send({ jsonrpc: "2.0", id, result: results[method] });
      };
      return transport.start();
    });
    toolkit.addConnector(big, { namespace: "big" });
    await toolkit.start();
    const page = await toolkit.list({ namespace: "big", limit: 0 });
    expect([page.count, page.failures.map(({ error }) => error.code)]).toEqual([10_000, ["LIMIT_EXCEEDED"]]);
  });

  describe("that speak no MCP", () => {
    verifies(["M4", "N7", "M8"], "are a clear failure, and delay nobody", async () => {
      const html = await listen((_request, response) => {
        response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Shop</title>");
      });
      const add = (namespace: string, target: ConnectorTarget) =>
        toolkit.addConnector(target, { namespace, connectTimeoutMs: 8_000 });
      const garbage = 'console.log("Welcome to the shell"); console.error("no such option"); process.exit(3)';
      const bad = [
        add("missing", { command: "no-such-command-of-toolweave" }),
        add("garbage", node("-e", garbage)),
        add("html", `${html.origin}/mcp`),
        add("refused", `http://127.0.0.1:${await freePort()}/mcp`),
        add("folder", { ...node("-e", ""), cwd: "/no/such/folder" }),
      ];
      const good = add("every", node(everything));
      try {
        await toolkit.start();
        await good.ready();
        expect(await (await toolkit.call("echo", { message: "hi" })).text()).toBe("Echo: hi");
        for (const connection of bad) expect(connection.lastError, connection.namespace).toBeInstanceOf(Error);
        const because = Object.fromEntries(
          bad.map(({ namespace, lastError }) => [namespace, lastError?.message ?? ""]),
        );
        expect(because.missing).toContain("no-such-command-of-toolweave");
        expect(because.garbage).toContain("Welcome to the shell");
        expect(because.garbage).toContain("no such option");
        expect(because.html).toContain("text/html");
        expect(because.refused).toMatch(/ECONNREFUSED|refused/);
        expect(because.folder).toContain("/no/such/folder");
        const { failures } = await toolkit.list();
        expect(failures.map(({ namespace }) => namespace)).toEqual(["missing", "garbage", "html", "refused", "folder"]);
        const notFound = await failure(toolkit.lookup("missing.tool"));
        expect(notFound.message).toContain("`missing` is not connected");
        expect(notFound.message).toContain("no-such-command-of-toolweave");
      } finally {
        await html.close();
      }
    });

    verifies("M8", "a child that prints garbage and lives on is quoted when its time is over", async () => {
      const garbage = 'console.log("Welcome to the shell"); console.error("type help"); setInterval(() => 0, 1000)';
      const connection = toolkit.addConnector(node("-e", garbage), { namespace: "shell", connectTimeoutMs: 1_500 });
      await toolkit.start();
      expect(connection.state).toBe("waiting");
      expect(connection.lastError?.message).toContain("Welcome to the shell");
      expect(connection.lastError?.message).toContain("type help");
    });
  });
});
