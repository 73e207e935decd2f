import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { Client } from "pg";
import { agent } from "../../src/agent/index.ts";
import type { Store } from "../../src/core/store.ts";
import { defineTool } from "../../src/core/tool.ts";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { postgresStore } from "../../src/store/postgres/index.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { startPostgres } from "../support/postgres/postgres.ts";
import { modelOf } from "./agent/loop.ts";
import { type Bench, type Comparison, measure, type Operation, type Timing } from "./harness.ts";
import { createServer, messageSchema } from "./server/tools.ts";

const itemsEach = 100;
const prompt = "---\nname: item\n---\nSay it in other words.";

/**
 * The same work among few and among 50 to 1,000 times as many: what grew with all there is would be as many times slower. The logarithm of
 * it, and the caches of the processor, are what the target leaves room for.
 */
export const bench: Bench = {
  name: "growth",
  targets: { flat: { of: "ratio", must: 10, reach: 2 } },
  async run() {
    return [
      ...(await grown("tools", [1_000, 100_000], toolsOf)),
      ...(await grown("connectors", [10, 500], connectorsOf)),
      ...(await grown("principals", [10, 10_000], principalsOf)),
      ...(await grown("items of one principal", [100, 10_000], ownItemsOf)),
      ...(await grownItems()),
      ...(await grownRuns([50, 2_000])),
    ];
  },
};

interface Side extends AsyncDisposable {
  readonly operations: Readonly<Record<string, Operation>>;
}

async function grown(
  what: string,
  [few, many]: readonly [number, number],
  make: (count: number) => Promise<Side>,
): Promise<readonly Comparison[]> {
  await using small = await make(few);
  await using large = await make(many);
  const comparisons: Comparison[] = [];
  for (const [name, ours] of Object.entries(large.operations)) {
    const timings = await measure({ ours, peer: small.operations[name] ?? ours }, { rounds: 10 });
    const peer = { name: few.toLocaleString("en"), timing: timings.peer };
    comparisons.push({
      name: `${name}, ${many.toLocaleString("en")} ${what}`,
      target: "flat",
      ours: timings.ours,
      peer,
    });
  }
  return comparisons;
}

/** Gives a number that grows with each call. */
function counting(): (by?: number) => number {
  let count = 0;
  return (by = 1) => {
    count += by;
    return count;
  };
}

function side(toolkit: Toolkit, operations: Side["operations"]): Side {
  return { operations, [Symbol.asyncDispose]: () => toolkit.close() };
}

async function toolsOf(count: number): Promise<Side> {
  const tool = (name: string) => defineTool({ name, run: () => name });
  const toolkit = new Toolkit({ items: Array.from({ length: count }, (_, at) => tool(`tool_${at}`)) });
  const view = toolkit.view({ exclude: ["*_7"] });
  const turn = counting();
  return side(toolkit, {
    lookup: () => toolkit.lookup(`builtin.tool_${turn() % count}`),
    "page of 100": () => toolkit.list({ limit: 100, offset: turn(101) % (count - 100) }),
    "page of a view": () => view.list({ limit: 100, offset: turn(101) % (count - 200) }),
    "by name": () => toolkit.list({ name: `tool_${turn() % count}` }),
    "add, page, remove": async () => {
      toolkit.add(tool("another"));
      await toolkit.list({ limit: 100, offset: count / 2 });
      toolkit.remove("another");
    },
  });
}

async function connectorsOf(count: number): Promise<Side> {
  const toolkit = new Toolkit();
  for (let at = 0; at < count; at += 1) {
    // The SDK declares optional properties in another strictness than ours.
    const connect = (transport: unknown) => createServer(`server${at}`, { tools: 20 }).connect(transport as Transport);
    toolkit.addConnector(inMemoryConnector(connect), { namespace: `server${at}` });
  }
  await toolkit.start();
  const turn = counting();
  return side(toolkit, {
    lookup: () => toolkit.lookup(`server${turn() % count}.tool_1`),
    "page of 100": () => toolkit.list({ limit: 100, offset: turn(101) % (20 * count - 100) }),
    "page of a namespace": () => toolkit.list({ namespace: `server${turn() % count}` }),
  });
}

async function principalsOf(count: number): Promise<Side> {
  const store = memoryStore();
  const toolkit = new Toolkit({ store, user: { maxPrincipals: 2 * count } });
  const sessions = Array.from({ length: count }, (_, at) => sessionOf(at));
  for (const session of sessions) await store.put({ ...recordOf(session.principal), value: { text: prompt } });
  const turn = counting();
  const session = () => sessions[turn() % count];
  // The measured case is a principal that comes again, not the first time.
  for (const each of sessions) await toolkit.list({ session: each });
  return side(toolkit, {
    lookup: () => toolkit.lookup("user.item", { session: session() }),
    "page of 100": () => toolkit.list({ limit: 100, session: session() }),
  });
}

/** Prompts of one principal in memory and in SQLite, one of which is put again: its quota counts all of them. */
async function ownItemsOf(count: number): Promise<Side> {
  const toolkit = new Toolkit({ store: sqliteStore({ file: ":memory:" }), user: { maxItems: 2 * count } });
  const turn = counting();
  const put = (at: number) => toolkit.user.putPrompt(`---\nname: item-${at}\n---\nThe ${turn()}th.`);
  for (let from = 0; from < count; from += 100)
    await Promise.all(Array.from({ length: 100 }, (_, at) => put(from + at)));
  await toolkit.list();
  return side(toolkit, { put: () => put(turn(7) % count) });
}

/** The share of one run, with a step that calls a tool and one that answers, of so many in flight. */
async function grownRuns([few, many]: readonly [number, number]): Promise<readonly Comparison[]> {
  const echo = defineTool({ name: "echo", input: messageSchema, run: async (input) => input });
  await using toolkit = new Toolkit({ items: [echo] });
  const model = modelOf(1);
  const assistant = agent({
    // The answer of a model comes in a later turn: all runs are in flight until then.
    defaultModel: { ...model, doGenerate: (asked) => nextTurn().then(() => model.doGenerate(asked)) },
  });
  const run = () => assistant.generate("Go on.", { toolbox: toolkit, tools: ["echo"] });
  const atOnce = (count: number) => () => Promise.all(Array.from({ length: count }, run));
  const timings = await measure({ ours: atOnce(many), peer: atOnce(few) }, { rounds: 10 });
  const share = ({ p50, p99, samples }: Timing, count: number) => ({ p50: p50 / count, p99: p99 / count, samples });
  const peer = { name: few.toLocaleString("en"), timing: share(timings.peer, few) };
  const name = `a run's share, ${many.toLocaleString("en")} runs at once`;
  return [{ name, target: "flat", ours: share(timings.ours, many), peer }];
}

const sessionOf = (at: number) => ({ id: `${at}`, principal: `p${at}` });

const recordOf = (owner: string) => ({ collection: "prompt", owner, key: "item" }) as const;

/** Principals of 100 items each, of which none is in memory: one item is looked up, or one page listed. */
async function grownItems(): Promise<readonly Comparison[]> {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-bench-"));
  await using server = await startPostgres({ durable: true });
  const { connectionString } = server;
  try {
    const sizes = [10_000, 1_000_000] as const;
    const sqlite = async (count: number) => {
      const file = join(folder, `${count}.db`);
      await opened(sqliteStore({ file }));
      fillSqlite(file, count);
      return coldSide(() => sqliteStore({ file }), count);
    };
    const postgres = async (count: number) => {
      const schema = `growth${count}`;
      await opened(postgresStore({ connectionString, schema }));
      await fillPostgres(connectionString, schema, count);
      return coldSide(() => postgresStore({ connectionString, schema }), count);
    };
    return [...(await grown("items, SQLite", sizes, sqlite)), ...(await grown("items, PostgreSQL", sizes, postgres))];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function coldSide(make: () => Store, count: number): Promise<Side> {
  const toolkit = new Toolkit({ store: make(), user: { maxPrincipals: 1 } });
  await toolkit.start();
  const turn = counting();
  // Far from the one before, and never in memory any more.
  const session = async () => {
    // A principal is kept for the rest of the turn in which it was read.
    await nextTurn();
    return sessionOf((turn() * 7919) % (count / itemsEach));
  };
  return side(toolkit, {
    "first lookup": async () => toolkit.lookup("user.item-7", { session: await session() }),
    "first page of 20": async () => toolkit.list({ limit: 20, session: await session() }),
  });
}

async function opened(store: Store): Promise<void> {
  await store.open();
  await store.close();
}

const valueSql = (key: string) => `'{"text":"---\\nname: ' || ${key} || '\\n---\\nSay it in other words."}'`;

/** A million puts would take longer than all that is measured. */
function fillSqlite(file: string, count: number): void {
  using database = new DatabaseSync(file);
  database.exec(`
    INSERT INTO record (collection, owner, key, version, updated_at, value, total_bytes, change, writer)
    WITH RECURSIVE each (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM each WHERE n < ${count - 1})
    SELECT 'prompt', 'p' || (n / ${itemsEach}), 'item-' || (n % ${itemsEach}), 1, 0, ${valueSql(`'item-' || (n % ${itemsEach})`)}, 60, n + 1, 'bench'
    FROM each;
    UPDATE counter SET change = ${count};`);
}

async function fillPostgres(connectionString: string, schema: string, count: number): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  // A million triggers would take longer too.
  await client.query(`ALTER TABLE ${schema}.record DISABLE TRIGGER USER`);
  await client.query(`
    INSERT INTO ${schema}.record (collection, owner, key, version, updated_at, value, bytes, total_bytes)
    SELECT 'prompt', 'p' || (n / ${itemsEach}), 'item-' || (n % ${itemsEach}), 1, 0, ${valueSql(`'item-' || (n % ${itemsEach})`)}, NULL, 60
    FROM generate_series(0, ${count - 1}) AS n`);
  await client.query(`
    INSERT INTO ${schema}.usage SELECT owner, collection, count(*), sum(total_bytes) FROM ${schema}.record GROUP BY 1, 2;
    ALTER TABLE ${schema}.record ENABLE TRIGGER USER`);
  await client.query(`ANALYZE ${schema}.record`);
  await client.end();
}
