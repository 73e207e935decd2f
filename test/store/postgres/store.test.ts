import { inspect } from "node:util";
import fc from "fast-check";
import { Pool } from "pg";
import { describe, expect, test } from "vitest";
import type { Collection, RecordKey, Store } from "../../../src/core/store.ts";
import { type PostgresPool, postgresStore } from "../../../src/store/postgres/index.ts";
import { noticeText, parseNotice } from "../../../src/store/postgres/postgres-feed.ts";
import { quoted } from "../../../src/store/postgres/statements.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { failure } from "../../support/failure.ts";
import { verifies } from "../../support/verifies.ts";
import { toldBy, usePostgres, withStores } from "./support.ts";

const postgres = usePostgres();
const greet: RecordKey = { collection: "prompt", owner: "ada", key: "greet" };

describe("its schema", () => {
  verifies("S1", "is made once where many start at the same time", async () => {
    await withStores(async (open) => {
      const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
      const stores = Array.from({ length: 8 }, () => open(options));
      await Promise.all(stores.map((store) => store.open()));
      const { rows } = await postgres.admin.query(`SELECT version FROM ${quoted(options.schema)}.migration`);
      expect(rows).toEqual([{ version: 1 }, { version: 2 }, { version: 3 }, { version: 4 }]);
      await postgres.drop(options.schema);
    });
  });

  verifies("S1", "of a newer version is refused, and says what to do", async () => {
    await withStores(async (open) => {
      const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
      await open(options).open();
      await postgres.admin.query(`INSERT INTO ${quoted(options.schema)}.migration (version) VALUES (99)`);
      const newer = open(options);
      for (const asked of [() => newer.open(), () => newer.get(greet)]) {
        const error = await failure(asked());
        expect(error.code).toBe("STORE_FAILED");
        expect(error.message).toMatch(/has version 99, and this version of Toolweave knows up to 4. Update Toolweave/);
      }
      await postgres.drop(options.schema);
    });
  });

  verifies("S1", "counts for quotas what was put by a version that kept no count", async () => {
    await withStores(async (open) => {
      const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
      const first = open(options);
      await first.put({ ...greet, value: 1 });
      await first.put({ ...greet, key: "gone", value: 1 });
      await first.delete({ ...greet, key: "gone" });
      const schema = quoted(options.schema);
      await postgres.admin.query(`DROP FUNCTION ${schema}.counted CASCADE; DROP TABLE ${schema}.usage`);
      await postgres.admin.query(`DELETE FROM ${schema}.migration WHERE version = 4`);
      const draft = { ...greet, key: "more", value: 1 };
      const refusal = await failure(open(options).put(draft, { quota: { items: 1 } }));
      expect(refusal.details).toEqual({ limit: "items", max: 1, actual: 2 });
      await postgres.drop(options.schema);
    });
  });

  verifies("S1", "is used by one who may not make it, where the owner of the database made it", async () => {
    const schema = postgres.newSchema();
    const role = `role ${schema}`;
    await postgres.admin.query(`CREATE ROLE ${quoted(role)} LOGIN PASSWORD 'p w:d'`);
    const url = new URL(postgres.connectionString);
    url.username = encodeURIComponent(role);
    url.password = encodeURIComponent("p w:d");
    try {
      await withStores(async (open) => {
        const store = open({ connectionString: url.href, schema });
        const error = await failure(store.open());
        expect(error.message).toMatch(/permission denied.*CREATE SCHEMA/);
        expect((await failure(store.get(greet))).message).toMatch(/permission denied/);
        await postgres.admin.query(`CREATE SCHEMA ${quoted(schema)} AUTHORIZATION ${quoted(role)}`);
        expect((await store.put({ ...greet, value: 1 })).version).toBe(1);
      });
    } finally {
      await postgres.drop(schema);
      await postgres.admin.query(`DROP ROLE ${quoted(role)}`);
    }
  });

  verifies("S1", "is held back from transactions that would not see what others just did", async () => {
    const url = new URL(postgres.connectionString);
    url.searchParams.set("options", "-c default_transaction_isolation=serializable");
    await withStores(async (open) => {
      const error = await failure(open({ connectionString: url.href, schema: postgres.newSchema() }).open());
      expect(error.message).toMatch(/serializable by default. Set default_transaction_isolation/);
    });
  });
});

describe("a pool that is given", () => {
  const withPool = async (max: number, run: (pool: Pool) => Promise<void>) => {
    const pool = new Pool({ connectionString: postgres.connectionString, max });
    try {
      await run(pool);
    } finally {
      await pool.end();
    }
  };

  verifies("S1", "is used, and left as it was", async () => {
    await withPool(2, async (pool) => {
      const schema = postgres.newSchema();
      const store = postgresStore({ pool, schema });
      const puts = Array.from({ length: 20 }, (_, key) => store.put({ ...greet, key: `${key}`, value: 1 }));
      expect(await Promise.all(puts)).toHaveLength(20);
      await store.close();
      expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
      expect([pool.totalCount - pool.idleCount, pool.waitingCount, pool.listenerCount("error")]).toEqual([0, 0, 0]);
      await postgres.drop(schema);
    });
  });

  verifies("S1", "whose connections do not hear is found out when it is opened", async () => {
    await withPool(3, async (pool) => {
      const clock = virtualClock();
      const schema = postgres.newSchema();
      const asked = Promise.withResolvers<void>();
      const store = postgresStore({ pool: deaf(pool, asked.resolve), schema, clock });
      const opening = failure(store.open());
      await asked.promise;
      await clock.advance(5_000);
      expect((await opening).message).toMatch(
        /LISTEN receives no notification, as behind a pooler in transaction mode/,
      );
      await store.close();
      await postgres.drop(schema);
    });
  });

  /** As a pooler in transaction mode: who listens is not who is told. */
  function deaf(pool: Pool, onNotify: () => void): PostgresPool {
    return {
      connect: async () => {
        const client = await pool.connect();
        return new Proxy(client, {
          get(target, name) {
            const value = Reflect.get(target, name);
            if (name !== "query") return typeof value === "function" ? value.bind(target) : value;
            return async (query: { text: string }) => {
              if (query.text.startsWith("LISTEN")) return { rows: [] };
              const answer = await target.query(query);
              if (query.text.startsWith("SELECT pg_notify")) onNotify();
              return answer;
            };
          },
        });
      },
      end: () => pool.end(),
      on: (event, listener) => pool.on(event, listener),
      removeListener: (event, listener) => pool.removeListener(event, listener),
    };
  }

  verifies("S1", "must have room for one connection that listens", async () => {
    await withPool(1, async (pool) => {
      expect(() => postgresStore({ pool })).toThrow(/pool has 1 connection/);
    });
  });
});

describe("no secret", () => {
  const password = "hunter2-%41-secret";

  verifies("S1", "is in what a wrong password, an unknown host or a closed port says", async () => {
    const url = new URL(postgres.connectionString);
    url.password = password;
    const elsewhere = [
      "postgresql://ada:hunter2-%41-secret@127.0.0.1:1/db",
      "postgres://ada:hunter2-%41-secret@no.invalid/db",
    ];
    for (const connectionString of [url.href, ...elsewhere]) {
      await withStores(async (open) => {
        const store = open({ connectionString });
        const told = toldBy(store);
        const error = await failure(store.get(greet));
        expect(error.code).toBe("STORE_FAILED");
        await told.until("failed");
        const shown = inspect([error, JSON.stringify(error), told.events, store], { depth: 20, showHidden: false });
        expect(shown).not.toMatch(/hunter2|-secret/);
      });
    }
  });

  verifies("S1", "is in what a connection string that is none says", () => {
    for (const connectionString of ["hunter2-secret", "mysql://ada:hunter2-secret@db/x", 7 as unknown as string]) {
      expect(() => postgresStore({ connectionString })).toThrow(/connectionString must be a URL/);
      expect(() => postgresStore({ connectionString })).not.toThrow(/hunter2/);
    }
  });
});

const local = "postgresql://localhost/db";
const refused: readonly (readonly [what: string, options: object, message: RegExp])[] = [
  ["nothing to connect to", {}, /connectionString or pool must be given/],
  ["two ways to connect", { connectionString: local, pool: {} }, /not both/],
  ["what is no pool", { pool: {} }, /must be a Pool of the package pg/],
  ["an unknown option", { connectionString: local, shema: "x" }, /Did you mean "schema"/],
  ["a single connection", { connectionString: local, max: 1 }, /max of postgresStore must be a whole number from 2/],
  ["a timeout that is none", { connectionString: local, statementTimeoutMs: 0 }, /statementTimeoutMs/],
  ["a schema of PostgreSQL", { connectionString: local, schema: "pg_catalog" }, /schema of postgresStore/],
  ["a schema that is too long", { connectionString: local, schema: "é".repeat(32) }, /63 bytes/],
  ["two opinions on TLS", { connectionString: `${local}?sslmode=require`, ssl: true }, /sslmode/],
];
for (const [what, options, message] of refused) {
  verifies("S1", `refuses ${what}`, () => {
    expect(() => postgresStore(options)).toThrow(message);
  });
}

verifies("K2", "a notice carries any name there may be, in less than 8,000 bytes", () => {
  const text = fc.string({ unit: "grapheme" }).filter((each) => !each.includes("\0"));
  const collection = fc.constantFrom<Collection>(
    "prompt",
    "resource",
    "approval",
    "run",
    "result",
    "pin",
    "conversation",
    "target",
  );
  fc.assert(
    fc.property(collection, text, text, fc.nat(), fc.boolean(), (kind, owner, rest, write, deleted) => {
      const notice = { collection: kind, owner, key: `k${rest}`, deleted, writer: "w", write };
      expect(parseNotice(`7 ${noticeText(notice)}`)).toEqual({ ...notice, version: 7 });
    }),
  );
  const longest = { ...greet, owner: "\u0001".repeat(512), key: "\u0001".repeat(2_048) };
  const notice = noticeText({ ...longest, deleted: true, writer: crypto.randomUUID(), write: Number.MAX_SAFE_INTEGER });
  expect(Buffer.byteLength(`${Number.MAX_SAFE_INTEGER} ${notice}`)).toBeLessThan(8_000);
  for (const strange of [undefined, "", "hello", "7 put w 1 tool 0 x"]) expect(parseNotice(strange)).toBeUndefined();
});

verifies(["S1", "K2"], "what somebody else sends on its channel is a gap", async () => {
  await withStores(async (open) => {
    const schema = postgres.newSchema();
    const store: Store = open({ connectionString: postgres.connectionString, schema });
    const told = toldBy(store);
    await store.open();
    await postgres.admin.query("SELECT pg_notify($1, 'list again')", [schema]);
    await told.until("gap");
    await postgres.drop(schema);
  });
});

test("is known by the name it is exported with", async () => {
  const exported = await import("toolweave/stores/postgres");
  expect(exported.postgresStore).toBe(postgresStore);
});
