import type { ToolkitError } from "./error.ts";
import { invalidOption, type OptionNames } from "./options.ts";

/** Limits of one server. What goes beyond one fails with `LIMIT_EXCEEDED`, which names it in `details.limit`. */
export interface ConnectorLimits {
  /** The largest message the server may send, in bytes; the request whose answer is larger fails. Default: 64 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** The most entries of a kind; those beyond it are left out, and the `failures` of a list name the limit. Default: 10,000. */
  readonly maxListSize?: number | undefined;
  /** The deepest nesting of objects and lists in a message of the server, up to 1,000. Default: 256. */
  readonly maxNestingDepth?: number | undefined;
  /** The most calls, reads and renders in flight; one more fails at once and is not sent. Default: 1,000. */
  readonly maxConcurrentCalls?: number | undefined;
  /** The size of the end of a child process's stderr that is kept, in bytes. Default: 64 KiB. */
  readonly maxStderrBytes?: number | undefined;
}

/** Every limit, with its default in place. */
export type ReadConnectorLimits = { readonly [K in keyof ConnectorLimits]-?: number };

const defaults: ReadConnectorLimits = {
  maxMessageBytes: 64 * 1024 * 1024,
  maxListSize: 10_000,
  maxNestingDepth: 256,
  maxConcurrentCalls: 1_000,
  maxStderrBytes: 64 * 1024,
};

/** Those of a server that is not trusted. */
const untrustedDefaults: ReadConnectorLimits = {
  ...defaults,
  maxMessageBytes: 4 * 1024 * 1024,
  maxListSize: 1_000,
  maxNestingDepth: 64,
  maxConcurrentCalls: 100,
};

/** The names of the limits, as options. */
export const connectorLimitOptions: OptionNames<ConnectorLimits> = {
  maxMessageBytes: true,
  maxListSize: true,
  maxNestingDepth: true,
  maxConcurrentCalls: true,
  maxStderrBytes: true,
};

const names = Object.keys(connectorLimitOptions) as readonly (keyof ConnectorLimits)[];

/** Deeper nesting overflows the stack of recursive readers, such as JSON.stringify and validators. */
export const deepestNesting = 1_000;

/**
 * Reads the limits of a connector and puts the defaults in.
 *
 * @throws ToolkitError `INVALID_CONFIG` for one that is no whole number from 1
 */
export function readConnectorLimits(
  options: ConnectorLimits,
  trust: "standard" | "untrusted" = "standard",
): ReadConnectorLimits {
  const limits: { -readonly [K in keyof ReadConnectorLimits]: number } = {
    ...(trust === "untrusted" ? untrustedDefaults : defaults),
  };
  for (const name of names) {
    const value = options[name];
    if (value === undefined) continue;
    const max = name === "maxNestingDepth" ? deepestNesting : Number.POSITIVE_INFINITY;
    const whole = Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
    if (!(whole && value >= 1 && value <= max)) throw invalidLimit(name, max, value);
    limits[name] = value;
  }
  return limits;
}

function invalidLimit(name: string, max: number, value: unknown): ToolkitError<"INVALID_CONFIG"> {
  const range = Number.isFinite(max) ? ` to ${max}` : "";
  return invalidOption(name, `a whole number from 1${range}`, value, "of a connector");
}
