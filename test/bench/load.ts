import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Bench, type Comparison, measure } from "./harness.ts";
import { rawHttpClient, startHttpServers } from "./raw.ts";
import { message } from "./server/tools.ts";

const atOnce = 300;
const upstreams = 50;

/** Many calls at once over HTTP, as a gateway makes them, to one server and to many; and what it costs to have ten servers. */
export const bench: Bench = {
  name: "load",
  targets: { "ten upstreams": { of: "ratio", must: 1.05 } },
  async run() {
    await using servers = await startHttpServers({ count: upstreams });
    return [...(await manyAtOnce(servers.urls)), await tenUpstreams(servers.urls.slice(0, 10))];
  },
};

async function manyAtOnce(urls: readonly string[]): Promise<readonly Comparison[]> {
  const clients = await Promise.all(urls.map(rawHttpClient));
  await using toolkit = await toolkitOf(urls);
  const echo = { name: "echo", arguments: message };
  const together = (call: (at: number) => Promise<unknown>) => () =>
    Promise.all(Array.from({ length: atOnce }, (_, at) => call(at)));
  const comparisons: Comparison[] = [];
  for (const count of [1, upstreams]) {
    const { raw, ours } = await measure(
      {
        raw: together((at) => clients[at % count]?.callTool(echo) ?? missing()),
        ours: together((at) => toolkit.call(`bench${at % count}.echo`, message)),
      },
      { rounds: 10, roundMs: 400, warmUpMs: 1_000 },
    );
    const name = `${atOnce} at once, ${count === 1 ? "one connector" : `${count} connectors`}`;
    comparisons.push({ name, ours, peer: { name: "SDK", timing: raw } });
  }
  await Promise.all(clients.map((client) => client.close()));
  return comparisons;
}

/** One call after another, each to the next of ten servers, beside a toolkit that has one. */
async function tenUpstreams(urls: readonly string[]): Promise<Comparison> {
  await using ten = await toolkitOf(urls);
  await using one = await toolkitOf(urls.slice(0, 1));
  let at = 0;
  const timings = await measure({
    one: () => one.call("bench0.echo", message),
    ten: () => ten.call(`bench${at++ % urls.length}.echo`, message),
  });
  const peer = { name: "one upstream", timing: timings.one };
  return { name: "ten upstreams in turn", target: "ten upstreams", ours: timings.ten, peer };
}

async function toolkitOf(urls: readonly string[]): Promise<Toolkit> {
  const toolkit = new Toolkit();
  for (const [at, url] of urls.entries()) toolkit.addConnector(url, { namespace: `bench${at}` });
  await toolkit.start();
  return toolkit;
}

function missing(): never {
  throw new Error("There is no such server.");
}
