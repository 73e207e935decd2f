import { afterEach, describe, expect, vi } from "vitest";
import type { RecordKey } from "../../../src/core/store.ts";
import { quoted } from "../../../src/store/postgres/statements.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { failure } from "../../support/failure.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres/postgres.ts";
import { verifies } from "../../support/verifies.ts";
import { loadOn } from "./load.ts";
import { networkTo } from "./network.ts";
import { toldBy, usePostgres, withStores } from "./support.ts";

let server: PostgresServer;
const postgres = usePostgres(async () => {
  server = await startPostgres();
  return server;
});
const greet: RecordKey = { collection: "prompt", owner: "ada", key: "greet" };

/** Ends the connections of one schema's stores whose last statement is such. */
async function terminate(schema: string, isSuch: (statement: string) => boolean): Promise<number> {
  const text = "SELECT pid, query FROM pg_stat_activity WHERE application_name = 'toolweave'";
  const { rows } = await postgres.admin.query(text);
  const wanted = rows.filter(({ query }) => query.includes(quoted(schema)) && isSuch(query));
  for (const { pid } of wanted) await postgres.admin.query("SELECT pg_terminate_backend($1, 10000)", [pid]);
  return wanted.length;
}

/** Meanwhile nobody reads or writes a record. */
async function whileLocked(schema: string, run: () => Promise<void>): Promise<void> {
  const client = await postgres.admin.connect();
  try {
    await client.query("BEGIN");
    await client.query(`LOCK TABLE ${quoted(schema)}.record IN ACCESS EXCLUSIVE MODE`);
    await run();
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
}

/** Resolves once somebody waits for that lock. */
async function waiting(schema: string): Promise<void> {
  const text = "SELECT query FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  for (;;) {
    const { rows } = await postgres.admin.query(text);
    if (rows.some(({ query }) => query.includes(quoted(schema)))) return;
  }
}

const isListen = (statement: string) => statement.startsWith("LISTEN");

describe("a server that goes and comes back", () => {
  // A call that fails while it is away fails alone.
  afterEach(() => server.start());

  verifies(
    ["S1", "S3", "K2"],
    "under load: whatever is asked meanwhile is STORE_FAILED, and afterwards nothing acknowledged is lost or missed",
    async () => {
      await withStores(async (open) => {
        const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
        const [one, other] = [open(options), open(options)];
        const told = toldBy(one);
        await Promise.all([one.open(), other.open()]);
        const load = loadOn([one, other]);
        await load.acknowledgedOf(200);
        await server.stop();
        await told.until("failed");
        await load.failedOf(20);
        const before = load.acknowledged.length;
        await server.start();
        await told.until("gap");
        await load.acknowledgedOf(before + 200);
        const { acknowledged, codes } = await load.end();
        expect([...codes]).toEqual(["STORE_FAILED"]);
        const { records } = await one.list({ collection: "prompt" });
        const there = new Map(records.map(({ key, version }) => [key, version]));
        expect(acknowledged.filter(([key, version]) => (there.get(key) ?? 0) < version)).toEqual([]);
        expect(told.texts.filter((text) => !text.startsWith("changed"))).toEqual(["failed", "recovered", "gap"]);
        const changes = told.texts.filter((text) => text.startsWith("changed"));
        expect(new Set(changes).size).toBe(changes.length);
        await other.put({ ...greet, key: "after", value: 1 });
        await told.until("changed after 1 elsewhere");
      });
    },
    60_000,
  );

  verifies("S1", "a store that was first used while it was away opens by itself once somebody watches", async () => {
    await withStores(async (open) => {
      const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
      await server.stop();
      const store = open(options);
      expect((await failure(store.open())).code).toBe("STORE_FAILED");
      const told = toldBy(store);
      await told.until("failed");
      await server.start();
      await told.until("gap");
      expect(told.texts).toEqual(["failed", "recovered", "gap"]);
      expect((await store.put({ ...greet, value: 1 })).version).toBe(1);
    });
  });
});

describe("a connection that the server cuts", () => {
  verifies(["S1", "K2"], "that which listens is made anew, and a gap is told", async () => {
    await withStores(async (open) => {
      const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
      const [one, other] = [open(options), open(options)];
      const told = toldBy(one);
      await Promise.all([one.open(), other.open()]);
      expect(await terminate(options.schema, isListen)).toBe(2);
      await told.until("gap");
      expect(told.texts).toEqual(["failed", "recovered", "gap"]);
      expect(told.events[0]).toMatchObject({ error: { code: "STORE_FAILED", details: { operation: "listen" } } });
      await other.put({ ...greet, value: 1 });
      await told.until("changed greet 1 elsewhere");
      await one.put({ ...greet, value: 2 });
      await one.put({ ...greet, key: "last", value: 2 });
      expect(told.texts.slice(3)).toEqual(["changed greet 1 elsewhere", "changed greet 2 here", "changed last 1 here"]);
    });
  });

  verifies("S1", "while it is idle, nobody hears of it", async () => {
    await withStores(async (open) => {
      const schema = postgres.newSchema();
      const store = open({ connectionString: postgres.connectionString, schema });
      await Promise.all(Array.from({ length: 5 }, (_, key) => store.put({ ...greet, key: `${key}`, value: 1 })));
      const isIdle = (statement: string) => !isListen(statement);
      expect(await terminate(schema, isIdle)).toBeGreaterThan(0);
      // The connection that listens tells when what was said before it has arrived.
      const told = toldBy(store);
      const other = open({ connectionString: postgres.connectionString, schema });
      await other.put({ ...greet, value: 1 });
      await told.until("changed greet 1 elsewhere");
      expect((await store.list({ collection: "prompt" })).records).toHaveLength(6);
      expect(told.texts).toEqual(["changed greet 1 elsewhere"]);
    });
  });

  verifies("S1", "in the middle of a statement, that fails and the next does not", async () => {
    await withStores(async (open) => {
      const schema = postgres.newSchema();
      const store = open({ connectionString: postgres.connectionString, schema });
      await store.put({ ...greet, value: 1 });
      await whileLocked(schema, async () => {
        const stuck = failure(store.put({ ...greet, value: 2 }));
        await waiting(schema);
        expect(await terminate(schema, (statement) => statement.includes(".put("))).toBe(1);
        expect(await stuck).toMatchObject({ code: "STORE_FAILED", details: { operation: "put" } });
      });
      expect((await store.put({ ...greet, value: 3 })).version).toBe(2);
    });
  });
});

describe("what takes long", () => {
  verifies("S1", "an abort ends a read at once, and its connection", async () => {
    await withStores(async (open) => {
      const schema = postgres.newSchema();
      const store = open({ connectionString: postgres.connectionString, schema, max: 2 });
      await store.put({ ...greet, value: 1 });
      await whileLocked(schema, async () => {
        const controller = new AbortController();
        const read = store.list({ collection: "prompt" }, { signal: controller.signal });
        await waiting(schema);
        controller.abort("enough");
        await expect(read).rejects.toBe("enough");
      });
      expect((await store.list({ collection: "prompt" })).records).toHaveLength(1);
    });
  });

  verifies("S1", "an abort leaves a write that was sent, which is told when it is done", async () => {
    await withStores(async (open) => {
      const schema = postgres.newSchema();
      const store = open({ connectionString: postgres.connectionString, schema, max: 2 });
      const told = toldBy(store);
      await store.put({ ...greet, value: 1 });
      await whileLocked(schema, async () => {
        const controller = new AbortController();
        const write = store.put({ ...greet, value: 2 }, { signal: controller.signal });
        await waiting(schema);
        controller.abort("enough");
        await expect(write).rejects.toBe("enough");
        const queued = new AbortController();
        const another = store.put({ ...greet, value: 3 }, { signal: queued.signal });
        queued.abort("never mind");
        await expect(another).rejects.toBe("never mind");
      });
      await told.until("changed greet 2 here");
      expect(await store.get(greet)).toMatchObject({ value: 2, version: 2 });
    });
  });

  verifies(
    "S1",
    "a statement that takes too long is ended by the server, and closing waits for what was begun",
    async () => {
      await withStores(async (open) => {
        const schema = postgres.newSchema();
        const store = open({ connectionString: postgres.connectionString, schema, statementTimeoutMs: 300 });
        await store.put({ ...greet, value: 1 });
        await whileLocked(schema, async () => {
          const late = failure(store.put({ ...greet, value: 2 }));
          const closed = store.close();
          expect((await late).message).toMatch(/statement timeout.*statementTimeoutMs/);
          await closed;
        });
        const text = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE query LIKE $1";
        const { rows } = await postgres.admin.query(text, [`%${quoted(schema)}.put(%`]);
        expect(rows).toEqual([{ count: 0 }]);
      });
    },
  );

  verifies(["S1", "K2"], "a server that is gone without a word is found out, and asked again", async () => {
    await using network = await networkTo(postgres.connectionString);
    const clock = virtualClock();
    await withStores(async (open) => {
      const options = { schema: postgres.newSchema(), clock };
      const store = open({ connectionString: network.connectionString, connectTimeoutMs: 300, ...options });
      const told = toldBy(store);
      await store.put({ ...greet, value: 1 });
      network.swallow(true);
      const lost = failure(store.get(greet));
      await clock.advance(60_000);
      expect((await lost).message).toMatch(/no answer within/);
      expect(told.texts).toEqual(["changed greet 1 here", "failed"]);
      network.swallow(false);
      await vi.waitFor(
        async () => {
          await clock.advance(1_000);
          expect(told.texts).toContain("gap");
        },
        { timeout: 20_000 },
      );
      expect((await store.get(greet))?.value).toBe(1);
    });
  });
});
