import type { ConnectionOptions } from "node:tls";
import { ToolkitError } from "../../core/error.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { isRecord } from "../../lib/value.ts";
import { readKeepVersions } from "../record-rules.ts";
import type { PostgresPool } from "./pool.ts";

/** The options of a store in PostgreSQL. Give `connectionString` or `pool`. */
export interface PostgresStoreOptions {
  /** As libpq reads it: `postgresql://user:password@host:5432/database?sslmode=verify-full`. */
  readonly connectionString?: string | undefined;
  /**
   * A pool of pg, of two connections or more. It stays open when the store is closed. TLS and the timeouts of connections and
   * statements are its own.
   */
  readonly pool?: PostgresPool | undefined;
  /** The schema that holds all the store keeps; it is made where it is missing. Default `toolweave`. */
  readonly schema?: string | undefined;
  /** The most connections, from 2: one of them listens for changes of others. Default 10. */
  readonly max?: number | undefined;
  /** As `tls.connect` takes it. Not together with an `sslmode` in the connection string. Default: what that says, else no TLS. */
  readonly ssl?: boolean | ConnectionOptions | undefined;
  /** The longest time to connect, and the longest wait for a free connection, in milliseconds. Default 5,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** The longest statement, in milliseconds. Default 30,000. */
  readonly statementTimeoutMs?: number | undefined;
  /** The number of past versions kept of a prompt or resource. Default 20. */
  readonly keepVersions?: number | undefined;
  /** Time, for tests. Default: the machine's. */
  readonly clock?: Clock | undefined;
}

/** The options, checked, with what was left out. */
export interface PostgresSettings {
  readonly given: PostgresPool | undefined;
  readonly connectionString: string;
  readonly schema: string;
  readonly max: number;
  readonly ssl: boolean | ConnectionOptions | undefined;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly keepVersions: number;
  readonly clock: Clock;
}

const owner = "of postgresStore";
const names: OptionNames<PostgresStoreOptions> = {
  connectionString: true,
  pool: true,
  schema: true,
  max: true,
  ssl: true,
  connectTimeoutMs: true,
  statementTimeoutMs: true,
  keepVersions: true,
  clock: true,
};

/** @throws ToolkitError `INVALID_CONFIG` */
export function readPostgresOptions(options: PostgresStoreOptions): PostgresSettings {
  assertOptionNames<PostgresStoreOptions>(options, names, owner);
  const { pool, schema = "toolweave", ssl, keepVersions, clock = systemClock } = options;
  const connectionString = options.connectionString ?? "";
  if ((pool === undefined) === (connectionString === ""))
    throw invalid("connectionString or pool must be given, and not both");
  if (pool === undefined) assertConnectionString(connectionString, ssl);
  else assertPool(options, pool);
  return {
    given: pool,
    connectionString,
    schema: readSchema(schema),
    max: readCount("max", options.max ?? 10, 2),
    ssl,
    connectTimeoutMs: readCount("connectTimeoutMs", options.connectTimeoutMs ?? 5_000, 1),
    statementTimeoutMs: readCount("statementTimeoutMs", options.statementTimeoutMs ?? 30_000, 1),
    keepVersions: readKeepVersions(keepVersions),
    clock,
  };
}

/** The parts of a connection string; undefined where it is none. Without a host in it, a socket is meant, or the host is a parameter. */
export function parseConnectionString(text: string): URL | undefined {
  const url = URL.parse(text) ?? URL.parse(text.replace("@/", "@localhost/"));
  return url !== null && /^postgres(ql)?:$/.test(url.protocol) ? url : undefined;
}

/** No message here shows the text: it holds a password. */
function assertConnectionString(text: unknown, ssl: unknown): void {
  const url = typeof text === "string" ? parseConnectionString(text) : undefined;
  if (url === undefined)
    throw invalid("connectionString must be a URL such as postgresql://user:password@host:5432/database");
  if (ssl !== undefined && url.searchParams.has("sslmode"))
    throw invalid("ssl and the sslmode of the connectionString say the same thing: give one of them");
}

function assertPool({ max, ssl, connectTimeoutMs }: PostgresStoreOptions, pool: unknown): void {
  const isPool = isRecord(pool) && typeof pool.connect === "function" && typeof pool.end === "function";
  if (!isPool) throw invalidOption("pool", "a Pool of the package pg", pool, owner);
  for (const [name, value] of Object.entries({ max, ssl, connectTimeoutMs })) {
    if (value !== undefined) throw invalid(`${name} is that of the pool: give it there`, name);
  }
  const size = isRecord(pool.options) ? pool.options.max : undefined;
  if (typeof size === "number" && size < 2)
    throw invalid(
      `pool has ${size} connection, and one that listens for changes is needed beside: give it 2 or more`,
      "pool",
    );
}

function readSchema(schema: unknown): string {
  const isName =
    typeof schema === "string" &&
    /^[^$\0]+$/.test(schema) &&
    schema.isWellFormed() &&
    Buffer.byteLength(schema) < 64 &&
    !/^pg_|^information_schema$/.test(schema);
  if (isName) return schema;
  throw invalidOption("schema", "a name of at most 63 bytes that is not PostgreSQL's own, without $", schema, owner);
}

function readCount(name: string, value: unknown, min: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) < 2 ** 31) return value as number;
  throw invalidOption(name, `a whole number from ${min}`, value, owner);
}

function invalid(problem: string, path = problem.split(" ", 1)[0] ?? ""): ToolkitError<"INVALID_CONFIG"> {
  return new ToolkitError("INVALID_CONFIG", `The options ${owner}: ${problem}.`, { path });
}
