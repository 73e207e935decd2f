import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RecordDraft, Store } from "../../src/core/store.ts";
import { defineTool } from "../../src/core/tool.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { postgresStore } from "../../src/store/postgres/index.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { startPostgres } from "../support/postgres/postgres.ts";
import { sharing } from "../support/sharing.ts";
import { type Bench, type Comparison, measure, measureOnce, type Timing, timingOf } from "./harness.ts";

const many = 10_000;
const body = "Say it in other words. ".repeat(40);
const effort = { rounds: 10 };
const promptOf = (name: string, text = body) => `---\nname: ${name}\n---\n${text}`;
const draftOf = (key: string, text?: string): RecordDraft => ({
  collection: "prompt",
  owner: "",
  key,
  value: { text: promptOf(key, text) },
});

/** The cost of the namespace `user` over each store: beside the store alone, and listed beside as many builtins. */
export const bench: Bench = {
  name: "user",
  targets: {},
  async run() {
    const folder = await mkdtemp(join(tmpdir(), "toolweave-bench-"));
    await using server = await startPostgres({ durable: true });
    const { connectionString } = server;
    try {
      const inMemory = memoryStore();
      return [
        ...(await costsOf("memory", () => sharing(inMemory))),
        ...(await costsOf("SQLite", () => sqliteStore({ file: join(folder, "store.db") }))),
        ...(await costsOf("PostgreSQL", () => postgresStore({ connectionString }))),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function costsOf(name: string, make: () => Store): Promise<readonly Comparison[]> {
  await using store = make();
  const putFirst = await putAndLookedUp(name, make, store);
  const propagation = await heard(name, make);
  for (let start = 0; start < many; start += 1_000) {
    const keys = Array.from({ length: 1_000 }, (_, index) => `item-${start + index}`);
    await Promise.all(keys.map((key) => store.put(draftOf(key))));
  }
  return [putFirst, await listed(name, make), await firstLoaded(name, make, store), propagation];
}

/** A prompt is put, and looked up at once. */
async function putAndLookedUp(name: string, make: () => Store, store: Store): Promise<Comparison> {
  await using toolkit = new Toolkit({ store: make() });
  await toolkit.start();
  let count = 0;
  const next = () => {
    count += 1;
    return `The ${count}th.`;
  };
  const ours = async () => {
    await toolkit.user.putPrompt(promptOf("changing", next()));
    await toolkit.lookup("user.changing");
  };
  const timings = await measure({ ours, peer: () => store.put(draftOf("alone", next())) }, effort);
  return row(`${name}: put a prompt and look it up`, timings, "the store's put alone");
}

/** The records in memory are listed. */
async function listed(name: string, make: () => Store): Promise<Comparison> {
  await using toolkit = new Toolkit({ store: make(), user: { maxItems: 2 * many } });
  const builtin = (at: number) => defineTool({ name: `item-${at}`, description: body, run: () => at });
  await using builtins = new Toolkit({ items: Array.from({ length: many }, (_, at) => builtin(at)) });
  await Promise.all([listAll(toolkit), listAll(builtins)]);
  const timings = await measure({ ours: () => listAll(toolkit), peer: () => listAll(builtins) }, effort);
  return row(`${name}: list of 10,000`, timings, "10,000 builtins");
}

/** A toolkit lists what it has not read yet. */
async function firstLoaded(name: string, make: () => Store, store: Store): Promise<Comparison> {
  const sides = {
    ours: async () => {
      const toolkit = new Toolkit({ store: make(), user: { maxItems: 2 * many } });
      await listAll(toolkit);
      return () => toolkit.close();
    },
    peer: async () => {
      const { records } = await store.list({ collection: "prompt", owner: "" });
      assertMany(records.length);
      return () => undefined;
    },
  };
  return row(`${name}: first load of 10,000`, await measureOnce(sides, 5), "the store's list alone");
}

/** From where a put begins until another toolkit on the same store has its event. */
async function heard(name: string, make: () => Store): Promise<Comparison> {
  await using writer = new Toolkit({ store: make() });
  await using reader = new Toolkit({ store: make() });
  let told = Promise.withResolvers<void>();
  reader.on("promptListChanged", () => told.resolve());
  await Promise.all([writer.list(), reader.list()]);
  const samples: number[] = [];
  for (let count = 0; count < 100; count += 1) {
    told = Promise.withResolvers();
    const startedAt = performance.now();
    await writer.user.putPrompt(promptOf("told", `The ${count}th.`));
    await told.promise;
    samples.push((performance.now() - startedAt) * 1_000);
    // Not always at the same time after the last look.
    await new Promise((resolve) => setTimeout(resolve, (count * 37) % 200));
  }
  return { name: `${name}: until another toolkit has the event of a put`, ours: timingOf(samples) };
}

async function listAll(toolkit: Toolkit): Promise<void> {
  assertMany((await toolkit.list()).entries.length);
}

function assertMany(found: number): void {
  if (found < many) throw new Error(`It lists ${found}.`);
}

function row(name: string, { ours, peer }: Readonly<Record<"ours" | "peer", Timing>>, beside: string): Comparison {
  return { name, ours, peer: { name: beside, timing: peer } };
}
