import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { RecordDraft, Store } from "../../src/core/store.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { postgresStore } from "../../src/store/postgres/index.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { startPostgres } from "../support/postgres/postgres.ts";
import { type Bench, type CleanUp, type Comparison, measure, measureOnce, type Timing, timingOf } from "./harness.ts";

const many = 10_000;
const value = { title: "A prompt", text: "Say it in other words. ".repeat(40) };
const draftOf = (key: string): RecordDraft => ({ collection: "prompt", owner: "ada", key, value });
const effort = { rounds: 10 };

/** The cost of each store: to put, to get, to list 10,000, and until another process has the event. */
export const bench: Bench = {
  name: "stores",
  targets: {},
  async run() {
    const folder = await mkdtemp(join(tmpdir(), "toolweave-bench-"));
    await using server = await startPostgres({ durable: true });
    const { connectionString } = server;
    const file = join(folder, "store.db");
    try {
      using raw = new RawSqlite(join(folder, "raw.db"));
      return [
        ...(await costsOf("memory", () => memoryStore())),
        ...(await costsOf("SQLite", () => sqliteStore({ file }), raw)),
        await heard("SQLite", () => sqliteStore({ file })),
        ...(await costsOf("PostgreSQL", () => postgresStore({ connectionString }))),
        await heard("PostgreSQL", () => postgresStore({ connectionString })),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function costsOf(name: string, make: () => Store, raw?: RawSqlite): Promise<readonly Comparison[]> {
  await using store = make();
  for (let start = 0; start < many; start += 1_000) {
    const keys = Array.from({ length: 1_000 }, (_, index) => `${start + index}`);
    await Promise.all(keys.map((key) => store.put(draftOf(key))));
    raw?.putTogether(keys);
  }
  const compare = async (what: string, ours: () => unknown, peer?: () => unknown): Promise<Comparison> => {
    const sides: Readonly<Record<string, () => unknown>> = { ours, ...(peer && { peer }) };
    const timings = await measure(sides, effort);
    return row(`${name}: ${what}`, timings);
  };
  const hundred = Array.from({ length: 100 }, (_, index) => `${index}`);
  return [
    await compare("put", () => store.put(draftOf("1")), raw && (() => raw.put("1"))),
    await compare(
      "put 100 at once",
      () => Promise.all(hundred.map((key) => store.put(draftOf(key)))),
      raw && (() => raw.putTogether(hundred)),
    ),
    await compare("get", () => store.get(draftOf("7")), raw && (() => raw.get("7"))),
    row(
      `${name}: list of 10,000`,
      await measureOnce({ ours: listing(store), ...(raw && { peer: () => raw.list() }) } as Sides, 10),
    ),
  ];
}

type Sides = Readonly<Record<string, () => Promise<CleanUp> | CleanUp>>;

const nothing = () => undefined;
const listing = (store: Store) => async () => {
  const { records } = await store.list({ collection: "prompt" });
  if (records.length < many) throw new Error(`It lists ${records.length}.`);
  return nothing;
};

function row(name: string, { ours, peer }: Readonly<Record<string, Timing>>): Comparison {
  if (ours === undefined) throw new Error(`${name} was not measured.`);
  return { name, ours, ...(peer && { peer: { name: "node:sqlite alone", timing: peer } }) };
}

/** From where a put begins until another who has the same store hears of it. */
async function heard(name: string, make: () => Store): Promise<Comparison> {
  await using writer = make();
  await using reader = make();
  let told = Promise.withResolvers<void>();
  reader.watch(() => told.resolve());
  await Promise.all([reader.open(), writer.open()]);
  const samples: number[] = [];
  for (let count = 0; count < 40; count += 1) {
    told = Promise.withResolvers();
    const startedAt = performance.now();
    await writer.put(draftOf("told"));
    await told.promise;
    samples.push((performance.now() - startedAt) * 1_000);
    // Not always at the same time after the last look.
    await new Promise((resolve) => setTimeout(resolve, (count * 37) % 200));
  }
  return { name: `${name}: until another hears of a put`, ours: timingOf(samples) };
}

/** The same file format, as durable, and nothing more: no versions, owners, quotas or events. */
class RawSqlite implements Disposable {
  readonly #database: DatabaseSync;

  constructor(file: string) {
    this.#database = new DatabaseSync(file);
    this.#database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    this.#database.exec("CREATE TABLE record (key TEXT PRIMARY KEY, value TEXT NOT NULL)");
    this.#put = this.#database.prepare(
      "INSERT INTO record VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    );
    this.#get = this.#database.prepare("SELECT value FROM record WHERE key = ?");
    this.#list = this.#database.prepare("SELECT key, value FROM record ORDER BY key");
  }

  #written = 0;
  readonly #put;
  readonly #get;
  readonly #list;

  put(key: string): void {
    // Another each time: SQLite writes nothing where nothing changes.
    this.#written += 1;
    this.#put.run(key, JSON.stringify({ ...value, written: this.#written }));
  }

  putTogether(keys: readonly string[]): void {
    this.#database.exec("BEGIN IMMEDIATE");
    for (const key of keys) this.put(key);
    this.#database.exec("COMMIT");
  }

  get(key: string): unknown {
    return JSON.parse(String(this.#get.get(key)?.value));
  }

  list(): CleanUp {
    const all = this.#list.all().map((each) => JSON.parse(String(each.value)));
    if (all.length < many) throw new Error(`It lists ${all.length}.`);
    return nothing;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
