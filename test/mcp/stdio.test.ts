import { spawn, spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { operatorError } from "../../src/core/server-output.ts";
import { commandLine, inheritedEnvironment } from "../../src/lib/child/child-command.ts";
import { LineReader, OutputTail } from "../../src/lib/child/child-output.ts";
import { type McpConnectorOptions, mcpConnector } from "../../src/mcp/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { contextOf, never, RecordingHost } from "./fixture/host.ts";

const node = process.execPath;
const indexUrl = new URL("../../src/mcp/index.ts", import.meta.url).href;

/** Answers initialize and `tools/call` by hand and knows no other method; `also` runs before. */
const server = (also = "", onCall = "send({ jsonrpc: '2.0', id: m.id, result: { content: [] } })") => `
const send = (m) => process.stdout.write(JSON.stringify(m) + "\\n");
${also}
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const m = JSON.parse(line);
  if (m.method === "initialize") send({ jsonrpc: "2.0", id: m.id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "hand", version: "1" } } });
  else if (m.method === "tools/call") { ${onCall} }
  else if (m.id !== undefined) send({ jsonrpc: "2.0", id: m.id, error: { code: -32601, message: "no such method" } });
});`;

function connect(
  script: string,
  options: McpConnectorOptions & { readonly host?: RecordingHost; readonly signal?: AbortSignal } = {},
) {
  const { host = new RecordingHost(), signal = never, ...rest } = options;
  return mcpConnector({ command: node, args: ["-e", script] }, rest).connect({ signal, host });
}

/** The message in which an operator finds the output of the server, which a caller never gets. */
function shownToOperator(error: Error | undefined): string {
  return error === undefined ? "" : operatorError(error).message;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A zombie is dead: whoever runs as process 1 here may not collect it.
  const state = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return state.error !== undefined || !state.stdout.trim().startsWith("Z");
}

describe("a child process", () => {
  verifies(
    "M8",
    "takes every process it started with it, even one that ignores TERM and holds its stdout open",
    async () => {
      const grandchild = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); process.send("ready");`;
      const also = `
      const grandchild = require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(grandchild)}], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
      process.on("SIGTERM", () => {});
      setInterval(() => {}, 1000);
      const ready = new Promise((resolve) => grandchild.once("message", resolve));`;
      const onCall = `ready.then(() => send({ jsonrpc: "2.0", id: m.id, result: { structuredContent: [process.pid, grandchild.pid], content: [] } }))`;
      const session = await connect(server(also, onCall));
      const pids = (await (await session.call("pids", {}, contextOf())).json()) as number[];
      expect(pids.map(alive)).toEqual([true, true]);
      const started = performance.now();
      await session[Symbol.asyncDispose]();
      expect(performance.now() - started).toBeLessThan(5_000);
      expect(pids.map(alive)).toEqual([false, false]);
    },
  );

  verifies(
    "M8",
    "that exits is noticed although a grandchild holds its stdout open, and the grandchild ends too",
    async () => {
      const also = `
      const grandchild = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });`;
      const onCall = `send({ jsonrpc: "2.0", id: m.id, result: { structuredContent: grandchild.pid, content: [] } });
      process.stderr.write("out of memory\\n"); setImmediate(() => process.exit(3))`;
      const session = await connect(server(also, onCall));
      const pid = (await (await session.call("die", {}, contextOf())).json()) as number;
      const error = await session.closed;
      expect(error?.message).toContain("exited with code 3");
      expect(shownToOperator(error)).toContain("out of memory");
      await session[Symbol.asyncDispose]();
      expect(alive(pid)).toBe(false);
    },
  );

  test("that cannot be spawned says why, and carries no argument and no variable", async () => {
    const secret = "hunter2-hunter2";
    const target = { args: [secret], env: { TOKEN: secret } };
    const wrong: readonly (readonly [string, string | RegExp, object, string | RegExp])[] = [
      ["/no/such/program", "ENOENT", {}, "The command program was not found."],
      // EACCES where a folder of PATH may not be searched.
      ["npx --token=hunter2-hunter2", /^(ENOENT|EACCES)$/, {}, /^The command npx was not found. .*"args"/],
      [node, "ERR_INVALID_ARG_VALUE", { env: { TOKEN: `${secret}\0` } }, "hold a NUL character"],
      [node, "ERR_INVALID_ARG_VALUE", { args: [`${secret}\0`] }, "hold a NUL character"],
    ];
    for (const [command, code, more, message] of wrong) {
      const connector = mcpConnector({ command, ...target, ...more });
      const error = await failure(connector.connect({ signal: never, host: new RecordingHost() }));
      expect(error.code).toBe("UNAVAILABLE");
      expect(error.message).toMatch(message);
      expect(Object.entries(error.cause as Error)).toEqual([["code", expect.stringMatching(code)]]);
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(secret);
    }
  });

  test("that writes what is in its environment is quoted without it, also where the text is cut", async () => {
    const env = { TOKEN: "hunter2-hunter2" };
    const host = new RecordingHost();
    const loud =
      "console.log('x'.repeat(195) + process.env.TOKEN); console.error(process.env.TOKEN.repeat(9000)); process.exit(1)";
    const target = { command: node, args: ["-e", loud], env };
    const error = await failure(mcpConnector(target).connect({ signal: never, host }));
    expect(shownToOperator(error)).toMatch(/stdout began with "x{195}\*\*\*"/);
    expect(shownToOperator(error)).toMatch(/stderr ended with "[^"]*[*]+"/);
    expect(inspect([error, host.entries], { depth: 20, showHidden: true })).not.toContain("hunt");
    const talkative = server(
      "process.stderr.write(process.env.TOKEN.repeat(9000), () => send({ jsonrpc: '2.0', method: 'notifications/message', params: { data: process.env.TOKEN } }))",
    );
    const session = await mcpConnector({ command: node, args: ["-e", talkative], env }).connect({
      signal: never,
      host,
    });
    await host.until(() => host.entries.some(({ level }) => level === "info"));
    while ((session.stderr?.() ?? "").length < 10_000) await new Promise((resolve) => setImmediate(resolve));
    expect(session.stderr?.()).toMatch(/^\[\d+ bytes before this are left out: maxStderrBytes\]\n\**$/);
    expect(JSON.stringify(host.entries)).not.toContain("hunter2");
    await session[Symbol.asyncDispose]();
  });

  verifies("M8", "does not outlive a process that exits without closing", async () => {
    const script = `
      const { mcpConnector } = await import(${JSON.stringify(indexUrl)});
      const script = ${JSON.stringify(server("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);"))};
      const connector = mcpConnector({ command: process.execPath, args: ["-e", script + "\\nprocess.stderr.write('pid ' + process.pid + ' ');"] });
      const session = await connector.connect({ signal: new AbortController().signal, host: { changed() {}, log() {} } });
      while (!/pid \\d+ /.test(session.stderr())) await new Promise((resolve) => setImmediate(resolve));
      console.log(session.stderr());
      process.exit(0);`;
    const run = spawnSync(node, ["--no-warnings", "--input-type=module", "-e", script], { encoding: "utf8" });
    const pid = Number(/pid (\d+)/.exec(run.stdout)?.[1]);
    expect(pid).toBeGreaterThan(0);
    // The signal is sent; the system takes its time.
    while (alive(pid)) await new Promise((resolve) => setImmediate(resolve));
  });

  describe.skipIf(process.platform === "win32")("whose service is killed", () => {
    const stubborn = server(`process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);
      const { pid } = require("node:child_process").spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
      process.stderr.write("pids " + process.pid + " " + pid + ";");`);
    const service = `
      const { mcpConnector } = await import(${JSON.stringify(indexUrl)});
      const connector = mcpConnector({ command: process.execPath, args: ["-e", ${JSON.stringify(stubborn)}] });
      const session = await connector.connect({ signal: new AbortController().signal, host: { changed() {}, log() {} } });
      const other = await connector.connect({ signal: new AbortController().signal, host: { changed() {}, log() {} } });
      const said = () => session.stderr() + other.stderr();
      while (said().split(";").length < 3) await new Promise((resolve) => setImmediate(resolve));
      console.log(said());`;

    for (const signal of ["SIGKILL", "SIGTERM", "SIGINT"] as const) {
      verifies(
        "M8",
        `does not outlive it, nor what it started, though it ignores the end of stdin: ${signal}`,
        async () => {
          const child = spawn(node, ["--no-warnings", "--input-type=module", "-e", service], {
            stdio: ["ignore", "pipe", "inherit"],
            detached: true,
          });
          let said = "";
          for await (const text of child.stdout.setEncoding("utf8")) {
            said += text;
            if (said.includes("\n")) break;
          }
          const pids = [...said.matchAll(/\d+/g)].map(([pid]) => Number(pid));
          expect(pids.filter(alive)).toHaveLength(4);
          // The whole group, as a terminal or a supervisor of processes does.
          process.kill(-Number(child.pid), signal);
          await vi.waitFor(() => expect(pids.filter(alive)).toEqual([]), { timeout: 15_000, interval: 20 });
        },
        30_000,
      );
    }

    test.runIf(process.platform === "linux")(
      "a service that closed its sessions has no process left to guard them",
      () => {
        const script = `
        const { mcpConnector } = await import(${JSON.stringify(indexUrl)});
        const { readdirSync, readFileSync } = await import("node:fs");
        const children = () => readdirSync("/proc").filter((pid) => {
          try {
            const [state, parent] = readFileSync("/proc/" + pid + "/stat", "utf8").replace(/^.*\\) /s, "").split(" ");
            return state !== "Z" && Number(parent) === process.pid;
          } catch { return false; }
        }).length;
        const connector = mcpConnector({ command: process.execPath, args: ["-e", ${JSON.stringify(server())}] });
        const session = await connector.connect({ signal: new AbortController().signal, host: { changed() {}, log() {} } });
        const during = children();
        await session[Symbol.asyncDispose]();
        while (children() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
        console.log(during);`;
        const run = spawnSync(node, ["--no-warnings", "--input-type=module", "-e", script], {
          encoding: "utf8",
          timeout: 10_000,
        });
        expect([run.status, run.stdout.trim()]).toEqual([0, "2"]);
      },
    );
  });

  verifies("M9", "leaves no handle: a process that closed its session ends by itself", () => {
    const script = `
      const { mcpConnector } = await import(${JSON.stringify(indexUrl)});
      const connector = mcpConnector({ command: process.execPath, args: ["-e", ${JSON.stringify(server())}] });
      const session = await connector.connect({ signal: new AbortController().signal, host: { changed() {}, log() {} } });
      await session[Symbol.asyncDispose]();
      console.log(process.listenerCount("exit"));`;
    const run = spawnSync(node, ["--no-warnings", "--input-type=module", "-e", script], {
      encoding: "utf8",
      timeout: 10_000,
    });
    expect([run.status, run.stdout.trim()]).toEqual([0, "0"]);
  });

  verifies("M9", "ends when the attempt is aborted", async () => {
    const controller = new AbortController();
    const folder = await mkdtemp(join(tmpdir(), "toolweave-"));
    try {
      const file = join(folder, "pid");
      const connecting = connect(
        `process.on("SIGTERM", () => {}); require("node:fs").writeFileSync(${JSON.stringify(file)}, String(process.pid)); console.error("started"); setInterval(() => {}, 1000)`,
        { signal: controller.signal },
      );
      const { readFile } = await import("node:fs/promises");
      let pid = "";
      while (pid === "") pid = await readFile(file, "utf8").catch(() => "");
      const reason = new Error("enough");
      controller.abort(reason);
      await expect(connecting).rejects.toBe(reason);
      expect(alive(Number(pid))).toBe(false);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("a child that is no server", () => {
  verifies("M8", "a command that does not exist is named, with how it is looked up", async () => {
    const connecting = mcpConnector({ command: "no-such-program-anywhere" }).connect({
      signal: never,
      host: new RecordingHost(),
    });
    const error = await failure(connecting);
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.message).toMatch(/no-such-program-anywhere was not found.*PATH/);
  });

  verifies("M8", "such a command is not found either where a folder of PATH may not be searched", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolweave-"));
    try {
      // Either folder makes the answer of the system EACCES: root may search the first one, so the second has a folder of that name.
      await mkdir(join(folder, "closed"), { mode: 0 });
      await mkdir(join(folder, "open", "no-such-program"), { recursive: true });
      const path = `${join(folder, "closed")}${delimiter}${join(folder, "open")}`;
      const connect = (command: string) => {
        const connector = mcpConnector({ command, env: { PATH: path } });
        return failure(connector.connect({ signal: never, host: new RecordingHost() }));
      };
      const error = await connect("no-such-program");
      expect(error.message).toMatch(/^The command no-such-program was not found\..*PATH/);
      expect(error.cause).toMatchObject({ code: "EACCES" });
      await writeFile(join(folder, "open", "text"), "", { mode: 0o600 });
      expect((await connect("text")).message).toBe("The command text cannot be started: spawn EACCES.");
    } finally {
      await chmod(join(folder, "closed"), 0o700);
      await rm(folder, { recursive: true });
    }
  });

  test("a cwd that is no folder is named", async () => {
    const cwd = join(tmpdir(), "toolweave-no-such-folder");
    const error = await failure(
      mcpConnector({ command: node, cwd }).connect({ signal: never, host: new RecordingHost() }),
    );
    expect(error.message).toContain(`its cwd ${cwd} is no folder`);
  });

  verifies("M8", "one that prints something else and exits is quoted, stdout and stderr", async () => {
    const error = await failure(
      connect(`console.log("Usage: server [options]"); console.error("fatal: no config"); process.exitCode = 2`),
    );
    expect(error.code).toBe("UNAVAILABLE");
    expect(shownToOperator(error)).toContain("exited with code 2");
    expect(shownToOperator(error)).toContain("Usage: server [options]");
    expect(shownToOperator(error)).toContain("fatal: no config");
  });

  test("one that never answers is given up, and quoted", async () => {
    const error = await failure(
      connect(`console.log("Listening..."); console.error("warming up"); setInterval(() => {}, 1000)`, {
        connectTimeoutMs: 1_500,
      }),
    );
    expect(error.code).toBe("UNAVAILABLE");
    expect(shownToOperator(error)).toContain("did not answer within 1500 ms");
    expect(shownToOperator(error)).toContain("Listening...");
    expect(shownToOperator(error)).toContain("warming up");
  });

  test("one whose package is fetched first is given up with the advice to wait longer", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolweave-npx-"));
    const npx = join(folder, "npx");
    await writeFile(npx, "#!/bin/sh\ncat > /dev/null\n");
    await chmod(npx, 0o755);
    try {
      const connector = mcpConnector({ command: npx, args: ["-y", "slow-server"] }, { connectTimeoutMs: 300 });
      const error = await failure(connector.connect({ signal: never, host: new RecordingHost() }));
      expect(error.code).toBe("UNAVAILABLE");
      expect(error.message).toMatch(
        /^slow-server gave no answer to initialize: did not answer within 300 ms \(connectTimeoutMs\).*\. npx may still have been downloading it: raise connectTimeoutMs, or install the package beforehand\.$/,
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test("lines that are no messages are reported and harm nothing", async () => {
    const host = new RecordingHost();
    const also = `for (let n = 0; n < 150; n++) console.log("debug " + n);`;
    const session = await connect(server(also), { host });
    expect((await session.call("any", {}, contextOf())).size).toBe(0);
    const reports = host.entries.map((entry) => String(entry.data));
    expect(reports).toHaveLength(2);
    expect(reports[0]).toContain("debug 0");
    await session[Symbol.asyncDispose]();
  });

  verifies("M12", "an answer over the limit fails its call alone, wherever the server writes the id", async () => {
    const result = `{ content: [{ type: "text", text: "x".repeat(m.params.arguments.size) }] }`;
    const onCall = `const result = ${result}; const { id } = m;
      send(m.params.name === "first" ? { jsonrpc: "2.0", id, result } : m.params.name === "last" ? { result, jsonrpc: "2.0", id } : { result: { id: 7 }, odd: result, id });`;
    const host = new RecordingHost();
    const session = await connect(server("", onCall), { host, maxMessageBytes: 4_000 });
    for (const name of ["first", "last", "odd"]) {
      const calls = [
        session.call(name, { size: 5_000 }, contextOf()),
        session.call(name, { size: 300_000 }, contextOf()),
      ];
      for (const call of calls) {
        expect(await failure(call)).toMatchObject({
          code: "LIMIT_EXCEEDED",
          details: { limit: "maxMessageBytes", max: 4_000 },
        });
      }
    }
    expect((await session.call("last", { size: 3_900 }, contextOf())).size).toBe(3_900);
    expect(host.entries).toEqual([]);
    await session[Symbol.asyncDispose]();
  });

  verifies("M12", "that asks without end and takes no answer fills no memory", async () => {
    const onCall = `process.stdin.pause(); for (let id = 0; id < 20000; id++) send({ jsonrpc: "2.0", id, method: "ping" });
      send({ jsonrpc: "2.0", id: m.id, result: { content: [] } });`;
    const host = new RecordingHost();
    const session = await connect(server("", onCall), { host });
    await session.call("any", {}, contextOf());
    // Requests that fit into the pipe are answered, a thousand wait, and the others are left out.
    expect(host.entries.length).toBeGreaterThan(10_000);
    expect(host.entries[0]?.data).toBe("It sends requests faster than it reads answers: its request ping is left out.");
    await session[Symbol.asyncDispose]();
  });

  verifies("M12", "what is too long and answers nothing is skipped, and told", async () => {
    const huge = { jsonrpc: "2.0", id: 2, method: "roots/list", params: { text: "x".repeat(5_000) } };
    const onCall = `process.stdout.write("y".repeat(9_000) + "\\n"); send(${JSON.stringify(huge)}); send({ jsonrpc: "2.0", id: m.id, result: { content: [] } })`;
    const host = new RecordingHost();
    const session = await connect(server("", onCall), { host, maxMessageBytes: 4_000 });
    await session.call("any", {}, contextOf());
    expect(host.entries.map(({ data }) => String(data))).toEqual([
      expect.stringContaining("larger than maxMessageBytes (4000)"),
      expect.stringContaining("larger than maxMessageBytes (4000)"),
    ]);
    await session[Symbol.asyncDispose]();
  });
});

describe("what passes through the pipes", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolweave-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("the first request of a turn is written at once, the next ones in batches of twice as many each", async () => {
    const session = await connect(server());
    const one = vi.spyOn(Socket.prototype, "_write");
    const several = vi.spyOn(Socket.prototype, "_writev");
    try {
      for (let turn = 0; turn < 2; turn += 1) {
        // Messages of the handshake are of a turn before.
        await new Promise((resolve) => setImmediate(resolve));
        for (const write of [one, several]) write.mockClear();
        const calls = Array.from({ length: 16 }, () => session.call("any", {}, contextOf()));
        const inTurn = () => [one.mock.calls.length, several.mock.calls.map(([chunks]) => chunks.length)];
        expect(inTurn()).toEqual([1, [2, 4, 8]]);
        await Promise.all(calls);
        expect(inTurn()).toEqual([2, [2, 4, 8]]);
      }
    } finally {
      for (const write of [one, several]) write.mockRestore();
      await session[Symbol.asyncDispose]();
    }
  });

  test("large messages go both ways, many at once", async () => {
    const onCall = `send({ jsonrpc: "2.0", id: m.id, result: { structuredContent: m.params.arguments.text.length, content: [] } })`;
    const session = await connect(server("", onCall));
    const warnings: Error[] = [];
    const warned = (warning: Error) => warnings.push(warning);
    process.on("warning", warned);
    const text = "ü".repeat(500_000);
    const results = await Promise.all(
      Array.from({ length: 20 }, async () => (await session.call("size", { text }, contextOf())).json()),
    );
    expect(results).toEqual(Array.from({ length: 20 }, () => text.length));
    process.off("warning", warned);
    expect(warnings).toEqual([]);
    await session[Symbol.asyncDispose]();
  });

  verifies("M1", "arguments, environment and folder reach the child, and no other variables", async () => {
    process.env.TOOLWEAVE_TEST_SECRET = "do not inherit";
    const file = join(folder, "server.cjs");
    const onCall = `send({ jsonrpc: "2.0", id: m.id, result: { content: [], structuredContent: { argv: process.argv.slice(2), env: process.env, cwd: process.cwd() } } })`;
    await writeFile(file, server("", onCall));
    const connector = mcpConnector(
      { command: node, args: [file, "${FLAG}", "a b"], env: { TOKEN: "${TOKEN:-none}" }, cwd: folder },
      { env: { FLAG: "--fast" } },
    );
    const session = await connector.connect({ signal: never, host: new RecordingHost() });
    const seen = (await (await session.call("show", {}, contextOf())).json()) as {
      argv: string[];
      env: Record<string, string>;
      cwd: string;
    };
    delete process.env.TOOLWEAVE_TEST_SECRET;
    expect(seen.argv).toEqual(["--fast", "a b"]);
    expect(seen.env.TOKEN).toBe("none");
    expect(seen.env.PATH).toBe(process.env.PATH);
    expect(seen.env.TOOLWEAVE_TEST_SECRET).toBeUndefined();
    expect(fileURLToPath(`file://${seen.cwd}`)).toContain("toolweave-");
    await session[Symbol.asyncDispose]();
  });

  verifies(["M8", "M12"], "the last 64 KiB of stderr are kept, and what was left out is told", async () => {
    const also = `process.stderr.write("first" + "-".repeat(200_000) + "last\\n", () => send({ jsonrpc: "2.0", method: "notifications/message", params: { data: "written" } }));`;
    const host = new RecordingHost();
    const session = await connect(server(also), { host });
    await host.until(() => host.entries.length > 0);
    while (!session.stderr?.().endsWith("last\n")) await new Promise((resolve) => setImmediate(resolve));
    const [first, kept = ""] = session.stderr?.().split("]\n") ?? [];
    expect([first, kept.length]).toEqual([
      `[${200_010 - 64 * 1024} bytes before this are left out: maxStderrBytes`,
      64 * 1024,
    ]);
    await session[Symbol.asyncDispose]();
    const little = await connect(server(also), { host, maxStderrBytes: 10 });
    while (!little.stderr?.().endsWith("last\n")) await new Promise((resolve) => setImmediate(resolve));
    expect(little.stderr?.()).toBe("[200000 bytes before this are left out: maxStderrBytes]\n-----last\n");
    await little[Symbol.asyncDispose]();
  });

  test("what is inherited is what the SDK lets through, and what leads to the registries of this machine", () => {
    const { variables } = inheritedEnvironment();
    expect(variables).toMatchObject(getDefaultEnvironment());
    const { PATH } = process.env;
    expect(inheritedEnvironment({ PATH, API_KEY: "x" }).variables).toEqual({ PATH });
  });
});

describe("the pieces", () => {
  test("lines are found however the chunks fall", () => {
    const bytes = Buffer.from('{"a":"ä€"}\n\n{"b":1}\r\nrest');
    for (let size = 1; size <= bytes.length; size++) {
      const lines: string[] = [];
      const reader = new LineReader({ maxBytes: 100, onLine: (line) => lines.push(line) });
      for (let start = 0; start < bytes.length; start += size) reader.push(bytes.subarray(start, start + size));
      expect(lines).toEqual(['{"a":"ä€"}', "", '{"b":1}\r']);
    }
  });

  test("a long line costs no more than its length", () => {
    const reader = new LineReader({ maxBytes: 1e9, onLine: () => {} });
    const chunk = Buffer.alloc(1024, "x");
    const started = performance.now();
    for (let count = 0; count < 50_000; count++) reader.push(chunk);
    reader.push(Buffer.from("\n"));
    // Copying at each chunk would move a terabyte.
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test("a tail keeps whole characters of the last bytes", () => {
    const tail = new OutputTail(5);
    for (const text of ["ab", "ä", "€"]) tail.push(Buffer.from(text));
    expect(tail.text()).toBe("ä€");
    tail.push(Buffer.from("x"));
    expect(tail.text()).toBe("€x");
  });

  test("on Windows what is no program is started through cmd.exe, quoted", () => {
    const windows = { platform: "win32", shell: "C:\\cmd.exe" } as const;
    expect(commandLine("node.exe", ["a b"], windows)).toEqual({ file: "node.exe", args: ["a b"], verbatim: false });
    expect(commandLine("npx", ['say "hi" & more', "c:\\dir\\"], windows)).toEqual({
      file: "C:\\cmd.exe",
      args: ["/d", "/s", "/c", '"npx ^"say^ \\^"hi\\^"^ ^&^ more^" ^"c:\\dir\\\\^""'],
      verbatim: true,
    });
    expect(commandLine("npx", ["a b"], { platform: "linux", shell: undefined })).toEqual({
      file: "npx",
      args: ["a b"],
      verbatim: false,
    });
  });
});
