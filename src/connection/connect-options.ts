import type { Connector } from "../core/connector.ts";
import { type ConnectorLimits, connectorLimitOptions, readConnectorLimits } from "../core/connector-limits.ts";
import type { HeadersOption, HttpAuth } from "../core/http-auth.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";

/** How a connector is added, and takes part in a toolkit. Of the limits a `Connector` takes `maxConcurrentCalls` alone; it has the others of its own. */
export interface AddConnectorOptions extends ConnectorLimits {
  /** Where its items live. Default: the name its server says, fixed at the first handshake. */
  readonly namespace?: string | undefined;
  /**
   * For an HTTP target of the MCP connector: sent with every request; a function decides at each, and is told the session of the call.
   * A child process takes none (`INVALID_TARGET`); a delegate that makes its own connector gets none.
   */
  readonly headers?: HeadersOption | undefined;
  /** For an HTTP target of the MCP connector: how it gets its credentials, such as `oauth()`. A child process takes none (`INVALID_TARGET`). */
  readonly auth?: HttpAuth | undefined;
  /** Connect at the first list, lookup or call that needs it. Default false. */
  readonly lazy?: boolean | undefined;
  /** The inactivity limit of its tools, in milliseconds. Default: the toolkit's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** How often lists whose changes the server does not announce are read again, in milliseconds. Default 60,000. */
  readonly pollMs?: number | undefined;
  /**
   * How long the server may be silent though it is asked by a ping, in milliseconds, before it is taken for gone and connected anew; its
   * calls in flight fail. While it sends anything, nothing is asked. Default: 5,000 over HTTP, where nothing else tells that a socket
   * is open at this end only; 60,000 for a child process, whose end the system tells. Raise it for a server that answers nothing while it
   * works; `Number.POSITIVE_INFINITY` never asks.
   */
  readonly healthCheckMs?: number | undefined;
  /** Whether the server is told that it may ask a person: the caller's session, else the delegate, else it is declined. Default true. */
  readonly elicitation?: boolean | undefined;
  /** Whether the server is told that it may ask a model, as for `elicitation`. Default true. */
  readonly sampling?: boolean | undefined;
  /** How long one attempt to connect and list may take, in milliseconds. Default 30,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** The bound of the first wait after a failed attempt, in milliseconds; it doubles up to `maxRetryMs`. Default 2,000. */
  readonly retryMs?: number | undefined;
  /** The longest wait between two attempts, in milliseconds. Default 1,200,000 (20 minutes). */
  readonly maxRetryMs?: number | undefined;
  /** Failed attempts in a row after which it is removed. Default: it never gives up. */
  readonly maxAttempts?: number | undefined;
}

const making = {
  headers: true,
  auth: true,
  connectTimeoutMs: true,
  ...connectorLimitOptions,
} as const satisfies Partial<OptionNames<AddConnectorOptions>>;

const optionNames: OptionNames<AddConnectorOptions> = {
  namespace: true,
  lazy: true,
  timeoutMs: true,
  pollMs: true,
  healthCheckMs: true,
  elicitation: true,
  sampling: true,
  retryMs: true,
  maxRetryMs: true,
  maxAttempts: true,
  ...making,
};

/** What of the options a connector is made with; the rest is for those who supervise it. */
export type MakingOptions = Pick<AddConnectorOptions, keyof typeof making>;

/**
 * What of the options the connector of a target is made with.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an option there is not
 */
export function makingOptions(options: AddConnectorOptions): MakingOptions {
  assertOptionNames(options, optionNames, "of a connector");
  return Object.fromEntries(
    (Object.keys(making) as readonly (keyof typeof making)[]).map((name) => [name, options[name]]),
  );
}

/** What a connector takes over from its toolkit. */
export interface ConnectDefaults {
  /** How long lookups and `start` wait for the first attempt, in milliseconds. */
  readonly startTimeoutMs: number;
  /** How long a call waits for a connection where its connector has no limit of its own, in milliseconds. */
  readonly timeoutMs: number;
}

/** How a connection is supervised: every default is in place. */
export interface SupervisionOptions {
  /** The inactivity limit of its tools, in milliseconds; undefined where it is the toolkit's. */
  readonly timeoutMs: number | undefined;
  readonly pollMs: number;
  /** Undefined where the connector is to say. */
  readonly healthCheckMs: number | undefined;
  readonly elicitation: boolean;
  readonly sampling: boolean;
  readonly connectTimeoutMs: number;
  readonly retryMs: number;
  readonly maxRetryMs: number;
  readonly maxAttempts: number | undefined;
  /** How many requests may wait for the server. */
  readonly maxConcurrentCalls: number;
  /** How long lookups and `start` wait for the first attempt, in milliseconds. */
  readonly startTimeoutMs: number;
  /** How long a call that has no limit of its own waits for the connection, in milliseconds. */
  readonly waitMs: number;
}

const numbers = [
  "timeoutMs",
  "pollMs",
  "healthCheckMs",
  "connectTimeoutMs",
  "retryMs",
  "maxRetryMs",
  "maxAttempts",
] as const;

/** What a connector that minds its own time is left to say why it failed, and to list, in milliseconds. */
const lastWordsMs = 3_000;

/**
 * Reads how a connection is to be supervised, and puts the defaults in.
 *
 * @param own - what the connector itself says
 * @throws ToolkitError `INVALID_CONFIG` for a number that is not above 0, or a limit that is no whole number
 */
export function readSupervision(
  options: AddConnectorOptions,
  defaults: ConnectDefaults,
  own: Pick<Connector, "connectTimeoutMs" | "maxConcurrentCalls">,
): SupervisionOptions {
  for (const name of numbers) assertPositive(name, options[name]);
  const { timeoutMs, healthCheckMs, maxAttempts } = options;
  const { maxConcurrentCalls } = readConnectorLimits({ maxConcurrentCalls: own.maxConcurrentCalls, ...options });
  const { connectTimeoutMs: ownTimeoutMs } = own;
  const { elicitation = true, sampling = true, pollMs = 60_000, retryMs = 2_000, maxRetryMs = 20 * 60_000 } = options;
  const given = options.connectTimeoutMs ?? ownTimeoutMs ?? 30_000;
  const connectTimeoutMs = ownTimeoutMs !== undefined && given >= ownTimeoutMs ? ownTimeoutMs + lastWordsMs : given;
  const { startTimeoutMs } = defaults;
  const waitMs = timeoutMs ?? defaults.timeoutMs;
  return {
    timeoutMs,
    pollMs,
    healthCheckMs,
    elicitation,
    sampling,
    connectTimeoutMs,
    retryMs,
    maxRetryMs,
    maxAttempts,
    maxConcurrentCalls,
    startTimeoutMs,
    waitMs,
  };
}

function assertPositive(name: string, value: unknown): void {
  if (value === undefined || (typeof value === "number" && value > 0)) return;
  throw invalidOption(name, "a number above 0", value, "of a connector");
}
