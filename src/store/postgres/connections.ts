import type { PoolClient } from "pg";
import { ToolkitError } from "../../core/error.ts";
import { abortable } from "../../lib/promise.ts";
import type { PostgresClient, PostgresPool, PostgresQuery } from "./pool.ts";
import { isRefusal } from "./postgres-failure.ts";
import type { PostgresSettings } from "./postgres-options.ts";
import type { Statement, TextRow } from "./statements.ts";

/** A connection that is taken, until it is ended or given back. */
export interface PostgresSession {
  query(statement: string | Statement, values?: readonly unknown[]): Promise<readonly TextRow[]>;
}

/** The options of running statements in a connection of the pool. */
export interface StatementOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether it ends with the signal. What writes does not: its outcome would not be known. */
  readonly endsEarly?: boolean | undefined;
}

/** Beyond the time a statement may take, before the server is held to be gone. */
const graceMs = 2_000;

const types = { getTypeParser: () => (text: string) => text };

/** The connections of a store: a pool of its own, or one that was given. */
export class Connections {
  readonly #settings: PostgresSettings;
  #pool: Promise<PostgresPool> | undefined;

  constructor(settings: PostgresSettings) {
    this.#settings = settings;
  }

  /**
   * Runs something in a connection, which is given back whatever happens.
   *
   * @throws the signal's reason; whatever pg throws
   */
  async run<R>(work: (session: PostgresSession) => Promise<R>, options: StatementOptions = {}): Promise<R> {
    const { signal, endsEarly = false } = options;
    const client = await this.take(signal);
    let isGone = false;
    const end = (destroy: boolean) => {
      if (isGone) return;
      isGone = true;
      signal?.removeEventListener("abort", onAbort);
      client.removeListener("error", ignore);
      client.release(destroy);
    };
    const onAbort = () => end(true);
    if (endsEarly) signal?.addEventListener("abort", onAbort);
    const done = work(this.session(client)).then(
      (result) => {
        end(false);
        return result;
      },
      (error) => {
        end(!isRefusal(error));
        throw error;
      },
    );
    return endsEarly ? abortable(done, signal) : done;
  }

  /** A connection for as long as its taker likes. It must be released, and its listener `ignore` belongs to it until then. */
  async take(signal?: AbortSignal): Promise<PostgresClient> {
    this.#pool ??= this.#made().catch((error) => {
      this.#pool = undefined;
      throw error;
    });
    const taken = this.#pool.then((pool) => pool.connect());
    try {
      const client = await abortable(taken, signal);
      // Without a listener the error of an idle connection would be thrown.
      client.on("error", ignore);
      return client;
    } catch (error) {
      if (signal?.aborted) void taken.then((client) => client.release(), ignore);
      throw error;
    }
  }

  /** @param limitMs - how long an answer may take. Default: longer than the server itself would let it */
  session(client: PostgresClient, limitMs = this.#settings.statementTimeoutMs + graceMs): PostgresSession {
    return {
      query: async (statement, values = []) => {
        const asked: PostgresQuery = typeof statement === "string" ? { text: statement } : statement;
        const answer = client.query({ ...asked, values: [...values], types });
        const { rows } = await this.#inTime(answer, limitMs);
        return rows as readonly TextRow[];
      },
    };
  }

  /** Ends what was not given. */
  async close(): Promise<void> {
    const pool = await this.#pool?.catch(() => undefined);
    if (pool === undefined) return;
    if (this.#settings.given === undefined) await pool.end();
    else pool.removeListener("error", ignore);
  }

  async #made(): Promise<PostgresPool> {
    const pool = this.#settings.given ?? (await ownPool(this.#settings));
    // A connection that breaks while it is idle leaves the pool; without a listener it would end the process.
    pool.on("error", ignore);
    return pool;
  }

  /** The server ends what takes too long by itself, unless nothing reaches it any more. */
  async #inTime<R>(answer: Promise<R>, limitMs: number): Promise<R> {
    const late = Promise.withResolvers<never>();
    const onLate = () => late.reject(new Error(`There was no answer within ${limitMs} ms.`));
    const timer = this.#settings.clock.setTimer(onLate, limitMs);
    try {
      return await Promise.race([answer, late.promise]);
    } finally {
      timer.cancel();
    }
  }
}

function ignore(): void {
  // The next statement in it fails and reports the error.
}

/** The longest wait for connections to end, where the other side may be gone. */
const patienceMs = 5_000;

/** @throws ToolkitError `MISSING_PEER` where pg is not installed */
async function ownPool(settings: PostgresSettings): Promise<PostgresPool> {
  const { connectionString, max, ssl, connectTimeoutMs, statementTimeoutMs, clock } = settings;
  const { Pool } = (await importPg()).default;
  const pool = new Pool({
    connectionString,
    max,
    ...(ssl === undefined ? {} : { ssl }),
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    fallback_application_name: "toolweave",
    keepAlive: true,
  });
  const open = new Map<PoolClient, Promise<void>>();
  pool.on("connect", (client) => {
    const ended = new Promise<void>((resolve) => client.once("end", resolve));
    open.set(client, ended);
    void ended.then(() => open.delete(client));
  });
  return {
    connect: () => pool.connect(),
    on: (event, listener) => pool.on(event, listener),
    removeListener: (event, listener) => pool.removeListener(event, listener),
    // That of pg does not wait until they have ended.
    async end() {
      const late = Promise.withResolvers<void>();
      const timer = clock.setTimer(late.resolve, patienceMs);
      timer.keepAlive(true);
      await pool.end();
      await Promise.race([Promise.all(open.values()), late.promise]);
      timer.cancel();
    },
  };
}

async function importPg(): Promise<typeof import("pg")> {
  try {
    return await import("pg");
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const install = "npm install pg";
    const message = `postgresStore needs the package pg, which is not installed: ${install}.`;
    throw new ToolkitError("MISSING_PEER", message, { package: "pg", install }, { cause: error });
  }
}
