import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect } from "vitest";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { child, server } from "../support/hand-server.ts";
import { verifies } from "../support/verifies.ts";
import { warningsLogger } from "../support/warnings-logger.ts";

let toolkit: Toolkit;
let http: Server | undefined;
afterEach(async () => {
  await toolkit.close();
  http?.closeAllConnections();
  http?.close();
  http = undefined;
});

const list = { tools: [{ name: "flood", inputSchema: { type: "object" } }] };

/** A server over HTTP that answers a call with events that are no JSON before its result. */
async function floodOverHttp(event: string, times: number): Promise<string> {
  http = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { id, method } = body === "" ? {} : JSON.parse(body);
    if (id === undefined) return void response.writeHead(request.method === "GET" ? 405 : 202).end();
    const handshake = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "a", version: "1" },
    };
    const result = method === "initialize" ? handshake : method === "tools/list" ? list : { content: [] };
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (method === "tools/call") response.write(event.repeat(times));
    response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
  });
  await new Promise<void>((resolve) => http?.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
}

const flood = (line: string, times: number) =>
  child(
    server(`if (m.method === "tools/list") send({ id: m.id, result: ${JSON.stringify(list)} });
if (m.method === "tools/call") { process.stdout.write(${JSON.stringify(line)}.repeat(${times})); send({ id: m.id, result: { content: [] } }); }`),
  );

for (const way of ["stdio", "http"] as const) {
  verifies("M12", `2 MiB of small texts that are no JSON cost little over ${way}`, async () => {
    const { logger, warnings } = warningsLogger();
    toolkit = new Toolkit({ logger });
    const text = way === "stdio" ? "{bad}\n" : "data: {bad}\n\n";
    const times = Math.floor(2 ** 21 / text.length);
    toolkit.addConnector(way === "stdio" ? flood(text, times) : await floodOverHttp(text, times), { namespace: "far" });
    await toolkit.start();
    const before = process.cpuUsage();
    await toolkit.call("far.flood");
    const { user, system } = process.cpuUsage(before);
    // Without bounds it takes more than a second.
    expect((user + system) / 1_000).toBeLessThan(700);
    expect(warnings[0]).toContain("that is no message (1 ");
    // There are hundreds of thousands of such texts; the number of warnings grows with the time that it takes.
    expect(warnings.length).toBeLessThan(2_000);
  });
}

verifies(
  "M12",
  "a child that stops reading gets no call that was aborted meanwhile, and its input is not kept",
  async () => {
    const tools = ["pause", "big", "count"].map((name) => ({ name, inputSchema: { type: "object" } }));
    toolkit = new Toolkit();
    const far = toolkit.addConnector(
      child(
        server(`if (m.method === "tools/list") send({ id: m.id, result: { tools: ${JSON.stringify(tools)} } });
if (m.method !== "tools/call") return;
const { name } = m.params;
if (name === "big") globalThis.big = (globalThis.big ?? 0) + 1;
else send({ id: m.id, result: { content: [{ type: "text", text: String(globalThis.big) }] } });
if (name !== "pause") return;
process.stdin.pause();
const alive = setInterval(() => {}, 1000);
process.once("SIGUSR2", () => { clearInterval(alive); process.stdin.resume(); });`),
      ),
      { namespace: "far" },
    );
    await toolkit.start();
    await toolkit.call("far.pause");
    const controller = new AbortController();
    const text = "x".repeat(2 ** 20);
    const calls = Array.from({ length: 20 }, () => toolkit.call("far.big", { text }, { signal: controller.signal }));
    controller.abort(new Error("enough"));
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(calls.map(() => "rejected"));
    process.kill(far.processId ?? 0, "SIGUSR2");
    // The first had been handed to the pipe before the child was known not to read.
    expect(await (await toolkit.call("far.count")).text()).toBe("1");
  },
);
