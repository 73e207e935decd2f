/** Weighs one side of something, `lists` or `connectors`, in a process of its own with `--expose-gc`; prints the bytes. */
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { inMemoryConnector } from "../../../src/mcp/index.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { Toolkit } from "../../../src/toolkit/toolkit.ts";
import { rawHttpClient, rawInMemoryClient } from "../raw.ts";
import { createServer } from "./tools.ts";

const lists = 100;
const offer = { tools: 100 };
// Code that is loaded and compiled once is there before anything is weighed.
const warmUps = 10;

const [what, side, json = "[]"] = process.argv.slice(2);
const urls: readonly string[] = JSON.parse(json);
const weighers: Readonly<Record<string, () => Promise<number>>> = {
  "lists raw": async () => {
    const client = await rawInMemoryClient(offer);
    return grown(() => client.listTools(), lists);
  },
  "lists ours": async () => {
    const clock = virtualClock();
    let server: Server | undefined;
    let listed = Promise.withResolvers<void>();
    const toolkit = new Toolkit({ clock });
    const connect = (transport: unknown): Promise<void> => {
      server = createServer("bench", { ...offer, onList: () => listed.resolve() });
      // The SDK declares optional properties in another strictness than ours.
      return server.connect(transport as Transport);
    };
    toolkit.addConnector(inMemoryConnector(connect), { namespace: "bench" });
    await toolkit.start();
    return grown(async () => {
      listed = Promise.withResolvers();
      await server?.sendToolListChanged();
      await clock.advance(10_000);
      await listed.promise;
    }, lists);
  },
  "connectors raw": () =>
    perConnector(async (url) => {
      const client = await rawHttpClient(url);
      return [client, await client.listTools()];
    }),
  "connectors ours": () => {
    const toolkit = new Toolkit();
    return perConnector(async (url) => {
      const connection = toolkit.addConnector(url);
      await connection.ready();
      return connection;
    });
  },
};

process.stdout.write(String(await weighers[`${what} ${side}`]?.()), () => process.exit(0));

async function perConnector(connect: (url: string) => Promise<unknown>): Promise<number> {
  const kept: unknown[] = [];
  const next = async () => kept.push(await connect(urls[kept.length] ?? ""));
  const count = urls.length - warmUps;
  return (await grown(next, count)) / count;
}

async function grown(operation: () => Promise<unknown>, count: number): Promise<number> {
  for (let at = 0; at < warmUps; at += 1) await operation();
  const before = await weight();
  for (let at = 0; at < count; at += 1) await operation();
  return (await weight()) - before;
}

async function weight(): Promise<number> {
  for (let at = 0; at < 5; at += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
