import { randomBytes } from "node:crypto";
import { Pool } from "pg";
import { afterAll, beforeAll } from "vitest";
import type { Store, StoreEvent } from "../../../src/core/store.ts";
import { type PostgresStoreOptions, postgresStore } from "../../../src/store/postgres/index.ts";
import { quoted } from "../../../src/store/postgres/statements.ts";
import { anyPostgres } from "../../support/postgres/postgres.ts";

/** A server for the tests of a file. */
export interface PostgresBench {
  readonly connectionString: string;
  /** Of the one who owns the server. */
  readonly admin: Pool;
  /** A name nobody else has: the server may be shared. */
  newSchema(): string;
  drop(schema: string): Promise<void>;
}

/** Starts a server before the tests of a file, and ends it after them. */
export function usePostgres(start: typeof anyPostgres = anyPostgres): PostgresBench {
  let server: Awaited<ReturnType<typeof start>> | undefined;
  let admin: Pool | undefined;
  const started = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("The server is started before the tests, not sooner.");
    return value;
  };
  beforeAll(async () => {
    server = await start();
    admin = new Pool({ connectionString: server.connectionString });
    admin.on("error", () => undefined);
  });
  afterAll(async () => {
    await admin?.end();
    await server?.[Symbol.asyncDispose]();
  });
  return {
    get connectionString() {
      return started(server).connectionString;
    },
    get admin() {
      return started(admin);
    },
    newSchema: () => `toolweave "test" ${process.pid} ${randomBytes(4).toString("hex")}`,
    async drop(schema) {
      await started(admin).query(`DROP SCHEMA IF EXISTS ${quoted(schema)} CASCADE`);
    },
  };
}

/** The events of a store, and a wait for some of them. */
export interface Told {
  readonly events: readonly StoreEvent[];
  /** As `changed greet 2 elsewhere`, or the type alone. */
  readonly texts: readonly string[];
  /** Resolves when it is told, or has been. */
  until(text: string): Promise<void>;
}

/** Listens to a store from now on. */
export function toldBy(store: Store): Told {
  const events: StoreEvent[] = [];
  const texts: string[] = [];
  const waits = new Map<string, PromiseWithResolvers<void>>();
  store.watch((event) => {
    const isChange = event.type === "changed";
    const text = isChange ? `changed ${event.key} ${event.version} ${event.origin}` : event.type;
    events.push(event);
    texts.push(text);
    waits.get(text)?.resolve();
  });
  return {
    events,
    texts,
    until(text) {
      if (texts.includes(text)) return Promise.resolve();
      const wait = waits.get(text) ?? Promise.withResolvers<void>();
      waits.set(text, wait);
      return wait.promise;
    },
  };
}

/** Runs a test with stores that are closed after it, whatever becomes of it. */
export async function withStores<R>(run: (open: (options: PostgresStoreOptions) => Store) => Promise<R>): Promise<R> {
  const stores: Store[] = [];
  try {
    return await run((options) => {
      const store = postgresStore(options);
      stores.push(store);
      return store;
    });
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}
