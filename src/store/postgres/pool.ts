/**
 * The pool of connections a store needs: a `Pool` of the package pg is one. Declared here, so that no user of
 * these types needs those of pg.
 */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  /** Of a pool of pg, `max` says how many connections it may have. */
  readonly options?: { readonly max?: number | undefined } | undefined;
}

/** A connection that was taken out of a pool. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(event: "notification", listener: (message: PostgresNotice) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  /** Gives it back; with true it is ended instead. */
  release(destroy?: boolean): void;
}

/** A notification of PostgreSQL. */
export interface PostgresNotice {
  readonly channel?: string | undefined;
  readonly payload?: string | undefined;
}

/** A query to PostgreSQL. */
export interface PostgresQuery {
  readonly text: string;
  readonly values?: unknown[];
  /** One with a name is prepared once in each connection. */
  readonly name?: string;
  readonly types?: { getTypeParser(): (text: string) => string };
}
