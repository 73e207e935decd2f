import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect } from "vitest";
import { defineTool, Toolkit } from "../../src/index.ts";
import { createMcpHandler } from "../../src/server/index.ts";
import { type FaultyServer, faultyServer, virtualClock } from "../../src/testing/index.ts";
import { call, initialize, serveOverHttp } from "../server/fixture/client.ts";
import { servedToolkit } from "../server/fixture/toolkit.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";

const mebibyte = 1024 * 1024;

/** A toolkit whose tool reports a megabyte at a time, until its caller is gone. */
function floodingToolkit() {
  const flood = { sent: 0, reason: undefined as unknown };
  const text = "x".repeat(mebibyte);
  const toolkit = new Toolkit();
  toolkit.add(
    defineTool({
      name: "flood",
      run: async (_input, context) => {
        const { signal } = context;
        signal.addEventListener("abort", () => {
          flood.reason = signal.reason;
        });
        while (!signal.aborted && flood.sent < 500) {
          flood.sent += 1;
          await context.progress(flood.sent, 500, text);
          await new Promise(setImmediate);
        }
      },
    }),
  );
  return { toolkit, flood };
}

describe("a client over HTTP", () => {
  verifies(
    "V3",
    "that sends its headers byte by byte loses its connection, and others are served meanwhile",
    async () => {
      await using toolkit = servedToolkit();
      // A request that comes whole is near none of these.
      const limits = { headersTimeout: 3_000, requestTimeout: 60_000, connectionsCheckingInterval: 100 };
      await using endpoint = await serveOverHttp(toolkit, {}, limits);
      const session = await endpoint.begin();
      const slow = Array.from({ length: 50 }, () => {
        const socket = connect(Number(endpoint.url.port), endpoint.url.hostname);
        let answer = "";
        socket.on("data", (data) => (answer += String(data)));
        socket.on("error", () => undefined);
        socket.write(`POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: `);
        const timer = setInterval(() => socket.write("a"), 20);
        return new Promise<string>((resolve) =>
          socket.on("close", () => {
            clearInterval(timer);
            resolve(answer);
          }),
        );
      });
      expect((await endpoint.post(call(1, "echo", { text: "hi" }), session)).status).toBe(200);
      const answers = await Promise.all(slow);
      expect(answers.filter((answer) => !/^(HTTP\/1\.1 408 |$)/.test(answer))).toEqual([]);
      expect(endpoint.handler.sessions).toBe(1);
    },
  );

  verifies("V4", "that vanishes in a call ends it at the upstream server, over stdio and HTTP", async () => {
    const aborted: string[] = [];
    let running = 0;
    const hanging = (name: string): FaultyServer =>
      faultyServer({
        tools: {
          hang: {
            run: (_input, { signal }) => {
              running += 1;
              return new Promise((_resolve, reject) =>
                signal.addEventListener("abort", () => {
                  aborted.push(name);
                  reject(new Error("cancelled"));
                }),
              );
            },
          },
        },
      });
    await using child = hanging("child");
    await using http = hanging("http");
    await using toolkit = new Toolkit();
    toolkit.addConnector(await child.stdio(), { namespace: "child" });
    toolkit.addConnector({ url: (await http.listen()).url }, { namespace: "http" });
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit, { resumeMs: 10 });
    const session = await endpoint.begin();
    const gone = new AbortController();
    const requests = ["child__hang", "http__hang"].map((name, id) =>
      endpoint
        .post(call(id, name), session, gone.signal)
        .then((response) => response.text())
        .catch(() => "gone"),
    );
    await until(() => running === 2);
    gone.abort();
    expect(await Promise.all(requests)).toEqual(["gone", "gone"]);
    await until(() => aborted.length === 2);
    expect(aborted.sort()).toEqual(["child", "http"]);
    expect((await endpoint.post({ jsonrpc: "2.0", id: 9, method: "ping" }, session)).status).toBe(200);
  });

  verifies(
    ["V3", "V4"],
    "that never reads its stream has it ended, and its call cancelled, before it fills the memory",
    async () => {
      const { toolkit, flood } = floodingToolkit();
      await using _toolkit = toolkit;
      await using endpoint = await serveOverHttp(toolkit, { resumeMs: 1 });
      const session = await endpoint.begin();
      const sent = request(endpoint.url, {
        method: "POST",
        headers: { ...session, "content-type": "application/json", accept: "application/json, text/event-stream" },
      });
      sent.on("error", () => undefined);
      // It is never read.
      sent.on("response", (response) => response.on("error", () => undefined));
      sent.end(JSON.stringify(call(1, "flood", {}, { progressToken: 1 })));
      await until(() => flood.reason !== undefined, 60_000);
      sent.destroy();
      // 16 MiB, and what the sockets of the operating system hold.
      expect(flood.sent).toBeLessThan(100);
    },
  );

  verifies("V3", "that takes nothing of a long answer loses its connection after bodyTimeoutMs", async () => {
    await using toolkit = new Toolkit();
    toolkit.add(defineTool({ name: "long", run: () => "x".repeat(32 * mebibyte) }));
    await using handler = createMcpHandler(toolkit, { bodyTimeoutMs: 300, sessions: false });
    const ended = Promise.withResolvers<void>();
    const server = createServer((incoming, response) => {
      response.once("close", ended.resolve);
      void handler.node(incoming, response);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const headers = { "content-type": "application/json", accept: "application/json" };
    const sent = request({ port, host: "127.0.0.1", method: "POST", path: "/mcp", headers });
    sent.on("error", () => undefined);
    // It is never read.
    sent.on("response", (response) => response.on("error", () => undefined));
    sent.end(JSON.stringify(call(1, "long")));
    await ended.promise;
    sent.destroy();
    server.closeAllConnections();
    server.close();
  });

  verifies(["V3", "V4"], "of the Fetch standard that never reads its stream has it ended too", async () => {
    const { toolkit, flood } = floodingToolkit();
    await using _toolkit = toolkit;
    await using handler = createMcpHandler(toolkit, { resumeMs: 1 });
    const post = (message: object, headers: Record<string, string> = {}) =>
      handler.fetch(
        new Request("http://localhost/mcp", {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(message),
        }),
      );
    const id = (await post(initialize())).headers.get("mcp-session-id") ?? "";
    const response = await post(call(1, "flood", {}, { progressToken: 1 }), { "mcp-session-id": id });
    await until(() => flood.reason !== undefined, 60_000);
    expect(flood.sent).toBeLessThan(40);
    await expect(response.text()).rejects.toThrow();
  });

  verifies(
    "V3",
    "that begins 10,000 sessions and leaves them takes little memory, and gives it back",
    async () => {
      const clock = virtualClock();
      await using toolkit = servedToolkit();
      const most = { maxSessions: 10_000, maxSessionsPerPrincipal: 10_000, sessionIdleMs: 60_000 };
      await using handler = createMcpHandler(toolkit, { ...most, clock });
      const begin = async () => {
        const headers = { "content-type": "application/json" };
        const body = JSON.stringify(initialize({ elicitation: {}, sampling: {} }));
        const response = await handler.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }));
        await response.text();
        return response.headers.get("mcp-session-id") ?? "";
      };
      const eldest = await begin();
      const before = heapUsed();
      for (let index = 1; index < 10_000; index += 1) await begin();
      expect(handler.sessions).toBe(10_000);
      expect((heapUsed() - before) / 10_000).toBeLessThan(30 * 1024);
      await begin();
      expect(handler.sessions).toBe(10_000);
      const headers = { "content-type": "application/json", "mcp-session-id": eldest };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
      expect((await handler.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }))).status).toBe(
        404,
      );
      await clock.advance(120_000);
      expect(handler.sessions).toBe(0);
      expect(heapUsed() - before).toBeLessThan(20 * mebibyte);
    },
    120_000,
  );
});

verifies(
  "V3",
  "a client over stdio that never reads has its server ended, and its call cancelled, before it fills the memory",
  async () => {
    const program = fileURLToPath(new URL("../server/fixture/flood-program.ts", import.meta.url));
    const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "pipe"] });
    let said = "";
    child.stderr.on("data", (data) => (said += String(data)));
    // Stdout is never read.
    const exited = once(child, "exit");
    child.stdin.on("error", () => undefined);
    child.stdin.write(
      `${JSON.stringify(initialize())}\n${JSON.stringify(call(1, "flood", {}, { progressToken: 1 }))}\n`,
    );
    expect(await exited).toEqual([0, null]);
    const [, sent] = /sent (\d+) MiB/.exec(said) ?? [];
    expect(Number(sent)).toBeGreaterThan(60);
    expect(Number(sent)).toBeLessThan(100);
  },
  60_000,
);

function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}
