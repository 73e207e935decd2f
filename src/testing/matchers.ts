import type { Connection } from "../core/connection.ts";
import { messageOf } from "../core/error.ts";
import { isRecord } from "../lib/value.ts";
import type { FaultyServer } from "./faulty/server.ts";

/** The result of a matcher for `expect.extend` of vitest and jest. */
interface MatcherResult {
  readonly pass: boolean;
  message(): string;
}

/** Options of `toRecoverWithin`. */
export interface RecoverOptions {
  /**
   * The time of the fault, in milliseconds since the epoch, such as `fault.since`. A connection that has been connected since an earlier
   * time has not noticed the fault. Default: it is enough that it is connected.
   */
  readonly after?: number | undefined;
}

/** The types of the matchers: `interface Matchers<R, T> extends ToolweaveMatchers {}`. */
export interface ToolweaveMatchers {
  /** The Connection is connected now. */
  toBeConnected(): void;
  /** The Connection is connected within a number of milliseconds. */
  toRecoverWithin(ms: number, options?: RecoverOptions): Promise<void>;
  /**
   * The faulty server has no connection, process or request left within a number of milliseconds, 5,000 by default: for the end of a
   * test, after the toolkit was closed.
   */
  toBeLeftAlone(withinMs?: number): Promise<void>;
}

const pollMs = 10;
const leftAloneMs = 5_000;

/**
 * Matchers for `expect.extend` of vitest and jest. docs/testing.md shows how to declare their types.
 *
 * @example
 * ```ts
 * expect.extend(toolweaveMatchers);
 * await expect(connection).toRecoverWithin(5_000, { after: fault.since });
 * ```
 */
export const toolweaveMatchers = {
  toBeConnected(received: unknown): MatcherResult {
    const connection = connectionOf(received, "toBeConnected");
    return { pass: connection.state === "connected", message: () => described(connection) };
  },

  async toRecoverWithin(received: unknown, ms: number, { after }: RecoverOptions = {}): Promise<MatcherResult> {
    const connection = connectionOf(received, "toRecoverWithin");
    const recovered = () => connection.state === "connected" && (after === undefined || connection.since >= after);
    const pass = await becomes(recovered, ms);
    return { pass, message: () => recoveryMessage(connection, { pass, ms, after }) };
  },

  async toBeLeftAlone(received: unknown, withinMs = leftAloneMs): Promise<MatcherResult> {
    const server = serverOf(received);
    const pass = await becomes(() => server.running().length === 0, withinMs);
    return {
      pass,
      message: () =>
        pass
          ? "The server was expected to be in use, and nothing is left."
          : `After ${withinMs} ms the server still has: ${server.running().join(", ")}.`,
    };
  },
};

async function becomes(condition: () => boolean, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() >= end) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return true;
}

function recoveryMessage(
  connection: Connection,
  { pass, ms, after }: { readonly pass: boolean; readonly ms: number; readonly after: number | undefined },
): string {
  if (pass) return `The connection was not expected to recover within ${ms} ms. ${described(connection)}`;
  const unnoticed = connection.state === "connected" && after !== undefined;
  const verdict = unnoticed ? "has not noticed the fault" : "did not recover";
  return `The connection ${verdict} within ${ms} ms. ${described(connection)}`;
}

function described({ namespace, state, since, attempts, nextAttemptAt, lastError }: Connection): string {
  const next = nextAttemptAt === undefined ? "" : `, the next at ${new Date(nextAttemptAt).toISOString()}`;
  const why = lastError === undefined ? "There was no error." : `Its last error: ${messageOf(lastError)}`;
  return `\`${namespace}\` is ${state} since ${new Date(since).toISOString()}, after ${attempts} attempts${next}. ${why}`;
}

function connectionOf(received: unknown, matcher: string): Connection {
  if (isRecord(received) && "state" in received && "since" in received && "attempts" in received) {
    return received as unknown as Connection;
  }
  throw new TypeError(`${matcher} is for a Connection, such as addConnector returns.`);
}

function serverOf(received: unknown): FaultyServer {
  if (isRecord(received) && typeof received.running === "function") return received as unknown as FaultyServer;
  throw new TypeError("toBeLeftAlone is for a server of faultyServer().");
}
