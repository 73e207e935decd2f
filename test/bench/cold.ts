import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { type Kind, kinds } from "../../src/core/item.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import {
  type Bench,
  type CleanUp,
  type Comparison,
  measureOnce,
  type Operation,
  type Timing,
  timingOf,
} from "./harness.ts";
import { type HttpServers, rawHttpClient, startHttpServers } from "./raw.ts";

const count = 50;
const offer = { count, tools: 20, output: false, others: 10 };
/** The lengths of the lists of a server. */
const listed: Readonly<Record<Kind, number>> = { tool: 20, prompt: 10, resource: 10, template: 1 };
const rounds = 10;

/**
 * Connecting 50 HTTP servers that have tools, prompts, resources and templates: until the tools are listed, which is what most programs ask
 * for, and until all of it is. Tools come first, and the other lists beside: those are read to their end between the rounds, where no clock runs.
 * The servers are those of the SDK, which work as long as their clients, and then bare ones, that show the clients.
 */
export const bench: Bench = {
  name: "cold",
  targets: { tools: { of: "ratio", must: 0.65, reach: 0.5 }, everything: { of: "ratio", must: 0.65 } },
  async run() {
    return [...(await measured("", false)), ...(await measured(", bare servers", true))];
  },
};

async function measured(servedBy: string, bare: boolean): Promise<readonly Comparison[]> {
  await using servers = await startHttpServers({ ...offer, bare });
  const sides = {
    tools: () => raw(servers, (client) => [client.listTools()]),
    everything: () => raw(servers, everything),
    ourTools: () => ours(servers, ["tool"]),
    ours: () => ours(servers, kinds),
  };
  const wall = await measureOnce(sides, rounds);
  const spent = await measureCpu(sides);
  return [
    ...compared(`until they are listed${servedBy}`, wall, true),
    ...compared(`CPU of the client${servedBy}`, spent, false),
  ];
}

type Sides = Readonly<Record<"tools" | "everything" | "ourTools" | "ours", () => Promise<CleanUp>>>;

function compared(
  name: string,
  { tools, everything, ourTools, ours }: Readonly<Record<keyof Sides, Timing>>,
  isAimed: boolean,
): readonly Comparison[] {
  const rows = [
    { name: `the tools, ${name}`, ours: ourTools, target: "tools", peer: { name: "SDK, tools alone", timing: tools } },
    { name: `everything, ${name}`, ours, target: "everything", peer: { name: "SDK, four lists", timing: everything } },
  ];
  return rows.map(({ target, ...row }) => ({ ...row, ...(isAimed ? { target } : {}) }));
}

function everything(client: Client): readonly Promise<unknown>[] {
  return [client.listTools(), client.listPrompts(), client.listResources(), client.listResourceTemplates()];
}

async function raw({ urls }: HttpServers, list: (client: Client) => readonly Promise<unknown>[]): Promise<CleanUp> {
  const clients = await Promise.all(urls.map(rawHttpClient));
  await Promise.all(clients.flatMap(list));
  return () => Promise.all(clients.map((client) => client.close()));
}

async function ours({ urls }: HttpServers, wanted: readonly Kind[]): Promise<CleanUp> {
  const toolkit = new Toolkit();
  for (const [at, url] of urls.entries()) toolkit.addConnector(url, { namespace: `bench${at}` });
  await toolkit.start();
  await expectListed(toolkit, wanted);
  return async () => {
    await expectListed(toolkit, kinds);
    await toolkit.close();
  };
}

async function expectListed(toolkit: Toolkit, wanted: readonly Kind[]): Promise<void> {
  const { count: found } = await toolkit.list({ kind: wanted, limit: 1 });
  const expected = count * wanted.reduce((sum, kind) => sum + listed[kind], 0);
  if (found !== expected) throw new Error(`Listed ${found} items instead of ${expected}.`);
}

/** The CPU time of this process, in microseconds: it says more than the wall on a machine that does other work. */
async function measureCpu(sides: Sides): Promise<Readonly<Record<keyof Sides, Timing>>> {
  const samples = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, side] of Object.entries<Operation>(sides)) {
      const before = process.cpuUsage();
      const cleanUp = (await side()) as CleanUp;
      const { user, system } = process.cpuUsage(before);
      await cleanUp();
      samples.set(name, [...(samples.get(name) ?? []), user + system]);
    }
  }
  return Object.fromEntries([...samples].map(([name, all]) => [name, timingOf(all)])) as Record<keyof Sides, Timing>;
}
