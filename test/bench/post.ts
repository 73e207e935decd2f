import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { request } from "undici";
import { HttpClient } from "../../src/lib/fetch/http-client.ts";
import { nodeFetch } from "../../src/lib/fetch/node-fetch.ts";
import { type Bench, type Comparison, type Timing, timingOf } from "./harness.ts";

const body = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "echo", arguments: { text: "x".repeat(100) } },
});
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const rounds = 8;
const posts = 1_000;
const asServer = "as-server";

/** The processor time of a POST and its answer in this process, over our exchange and beside what else could send it. */
export const bench: Bench = {
  name: "post",
  targets: { fetch: { of: "ratio", must: 0.6 }, request: { of: "ratio", must: 1.1 } },
  async run() {
    const child = fork(import.meta.filename, [asServer]);
    const [port] = await once(child, "message");
    const comparisons: Comparison[] = [];
    for (const [answer, path] of Object.entries({ JSON: "/", SSE: "/sse" })) {
      for (const atOnce of [1, 16]) {
        const cpu = await processorTimes(`http://127.0.0.1:${port}${path}`, atOnce);
        const row = (name: "exchange" | "nodeFetch", target: string, peer: "request" | "fetch") => ({
          name: `${name}, ${answer}, ${atOnce} at once`,
          target,
          ours: cpu[name],
          peer: { name: peer === "fetch" ? "platform's fetch" : "undici.request", timing: cpu[peer] },
        });
        comparisons.push(row("exchange", "request", "request"), row("nodeFetch", "fetch", "fetch"));
      }
    }
    child.disconnect();
    return comparisons;
  },
};

async function processorTimes(url: string, atOnce: number) {
  const target = new URL(url);
  const client = new HttpClient();
  const fetch = nodeFetch();
  const sides = {
    exchange: async () => {
      const { signal } = new AbortController();
      const answer = await client.send({ url: target, method: "POST", headers, body, signal });
      await answer.read(() => {});
    },
    nodeFetch: async () => (await fetch(url, { method: "POST", headers, body })).text(),
    request: async () => (await request(url, { method: "POST", headers, body })).body.text(),
    fetch: async () => (await globalThis.fetch(url, { method: "POST", headers, body })).text(),
  };
  const samples: Record<keyof typeof sides, number[]> = { exchange: [], nodeFetch: [], request: [], fetch: [] };
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, side] of Object.entries(sides) as [keyof typeof sides, () => Promise<unknown>][]) {
      const before = process.cpuUsage();
      for (let done = 0; done < posts; done += atOnce) await Promise.all(Array.from({ length: atOnce }, side));
      const { user, system } = process.cpuUsage(before);
      // The first round warms up.
      if (round >= 0) samples[name].push((user + system) / posts);
    }
  }
  return Object.fromEntries(Object.entries(samples).map(([name, all]) => [name, timingOf(all)])) as Record<
    keyof typeof sides,
    Timing
  >;
}

function echo(incoming: IncomingMessage, response: ServerResponse): void {
  let text = "";
  incoming.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  incoming.on("end", () => {
    const isStream = incoming.url === "/sse";
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? `event: message\ndata: ${text}\n\n` : text);
  });
}

if (process.argv[2] === asServer) {
  const server = createServer(echo).listen(0, "127.0.0.1", () =>
    process.send?.((server.address() as AddressInfo).port),
  );
  process.on("disconnect", () => process.exit(0));
}
