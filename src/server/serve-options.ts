import type { Host } from "../core/host.ts";
import { silentLogger, steadyLogger } from "../core/logger.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import type { Logger, LogLevel, Session } from "../core/session.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { packageVersion } from "../lib/package.ts";
import { isRecord } from "../lib/value.ts";
import type { ViewSelection } from "../toolkit/view-filter.ts";

/** A host that can be served. A Toolkit is one; a view of one is too, where no `selection` and no principals are needed. */
export interface ServableHost extends Host {
  /** Makes the view of a principal. Missing, every caller sees all that the host shows. */
  view?(selection: ViewSelection): Host;
}

/** The description that a served host gives of itself. */
export interface ServedInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly websiteUrl?: string | undefined;
  readonly icons?: readonly Readonly<Record<string, unknown>>[] | undefined;
}

/** A request that was served, or refused, for an audit log. It holds no arguments, no results and no credentials. */
export interface AuditRecord {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly transport: "stdio" | "http";
  /** Of MCP, such as `tools/call`; of HTTP where the request got no further. */
  readonly method: string;
  /** The name of the tool or prompt, or the URI, as the client gave it. */
  readonly target?: string | undefined;
  readonly principal?: string | undefined;
  /** The session, as a short digest of its id: the id itself is a credential. */
  readonly session?: string | undefined;
  readonly outcome: "ok" | "failed" | "refused" | "cancelled";
  /** Code of the error: of JSON-RPC, of the Toolkit, or the status of HTTP. */
  readonly code?: number | string | undefined;
  readonly durationMs: number;
}

/** The revisions that clients may speak: each on the same endpoint, those with a handshake alone, or the one without sessions alone. */
export type ServedProtocol = "auto" | "2025-11-25" | "2026-07-28";

/** Options of serving a host, over any transport. */
export interface ServeOptions {
  /**
   * `2025-11-25` serves that revision and those before it, which begin with a handshake; `2026-07-28` that revision alone, whose requests
   * each stand for themselves. Default: `auto`, both.
   */
  readonly protocol?: ServedProtocol | undefined;
  /**
   * The key of the `requestState` that clients of 2026-07-28 carry, of at least 32 characters, or several of which the first seals and each
   * opens. Replicas share it. Default: a random one, with which a state is worth nothing after a restart.
   */
  readonly stateKey?: string | readonly string[] | undefined;
  /** The time that a client of 2026-07-28 has to answer the questions of a call, in milliseconds. Then it is cancelled. Default: 10 minutes. */
  readonly inputTimeoutMs?: number | undefined;
  /** The most calls that wait for such answers. Beyond it a question fails. Default: 1,000. */
  readonly maxParkedCalls?: number | undefined;
  /** The same for one principal, or for all callers without one. Default: 100. */
  readonly maxParkedCallsPerPrincipal?: number | undefined;
  /** The time that a client of 2026-07-28 may take a list for current, in milliseconds. Default: 0. */
  readonly listTtlMs?: number | undefined;
  /** The name and version that clients are given. Default: toolweave and its version. */
  readonly server?: ServedInfo | undefined;
  /** Instructions for the model of a client, sent with the handshake. */
  readonly instructions?: string | undefined;
  /**
   * Names of tools and prompts. `prefixed`: `namespace__name`, in the form that models accept; a builtin keeps its name. `bare`: as they
   * are; of those that share a name the one that `lookup` finds is served, and the others are not, which is logged. Default: `prefixed`.
   */
  readonly names?: "prefixed" | "bare" | undefined;
  /** Each prompt is served as a tool too, which executes it. Default false. */
  readonly promptsAsTools?: boolean | undefined;
  /**
   * The tools that clients see. `all`: each. `search`: `search_tools`, `describe_tool` and `call_tool` alone, by which a model finds and calls the
   * others; for a host with hundreds. Default: `all`.
   */
  readonly discovery?: "all" | "search" | undefined;
  /** The most entries of one page of a list. Default 500. */
  readonly pageSize?: number | undefined;
  /**
   * The part of the host that a caller may see, chosen once for each session; `principal` is added to it. Default: everything, and of the
   * namespace `user` what is the principal's own.
   */
  selection?(session: Session): ViewSelection | undefined | Promise<ViewSelection | undefined>;
  /** The most requests of one session that are worked on at once. Default 100. */
  readonly maxConcurrentRequests?: number | undefined;
  /** The most bytes of one message of a client. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** The least level of the log messages that a client gets until it chooses one. Default: `info`. */
  readonly logLevel?: LogLevel | undefined;
  /** Receives a record of each request. What it throws is logged. */
  audit?(record: AuditRecord): void;
  /** Receives what operators should know. Default: nothing is logged. */
  readonly logger?: Logger | undefined;
  /** Time and timers. Default: those of the machine. */
  readonly clock?: Clock | undefined;
}

/** The same, with every default in place. */
export interface ReadServeOptions extends ServeOptions {
  readonly protocol: ServedProtocol;
  readonly stateKey: readonly string[] | undefined;
  readonly inputTimeoutMs: number;
  readonly maxParkedCalls: number;
  readonly maxParkedCallsPerPrincipal: number;
  readonly listTtlMs: number;
  readonly server: ServedInfo;
  readonly names: "prefixed" | "bare";
  readonly promptsAsTools: boolean;
  readonly discovery: "all" | "search";
  readonly pageSize: number;
  readonly maxConcurrentRequests: number;
  readonly maxMessageBytes: number;
  readonly logLevel: LogLevel;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** The names of those options. */
export const serveOptionNames: OptionNames<ServeOptions> = {
  protocol: true,
  stateKey: true,
  inputTimeoutMs: true,
  maxParkedCalls: true,
  maxParkedCallsPerPrincipal: true,
  listTtlMs: true,
  server: true,
  instructions: true,
  names: true,
  promptsAsTools: true,
  discovery: true,
  pageSize: true,
  selection: true,
  maxConcurrentRequests: true,
  maxMessageBytes: true,
  logLevel: true,
  audit: true,
  logger: true,
  clock: true,
};

/** The levels of log messages, the least first. */
export const logLevels: readonly LogLevel[] = [
  ...(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const),
];

const mebibyte = 1024 * 1024;

/**
 * Puts the defaults in.
 *
 * @param names - the options that there are
 * @throws ToolkitError `INVALID_CONFIG` for an option that is not what it must be, or that there is not
 */
export function readServeOptions<T extends ServeOptions>(
  host: ServableHost,
  options: T,
  names: OptionNames<T>,
): T & ReadServeOptions {
  assertOptionNames(options, names, owner);
  const { server = { name: "toolweave", version: packageVersion() }, promptsAsTools = false } = options;
  const {
    names: naming = "prefixed",
    discovery = "all",
    logLevel = "info",
    logger = silentLogger,
    clock = systemClock,
  } = options;
  if (!isRecord(host) && typeof host !== "object")
    throw invalidOption("host", "a Toolkit or a view of one", host, owner);
  if (!isRecord(server) || typeof server.name !== "string" || typeof server.version !== "string")
    throw invalidOption("server", "an object with name and version", server, owner);
  if (naming !== "prefixed" && naming !== "bare") throw invalidOption("names", '"prefixed" or "bare"', naming, owner);
  if (discovery !== "all" && discovery !== "search")
    throw invalidOption("discovery", '"all" or "search"', discovery, owner);
  if (!logLevels.includes(logLevel)) throw invalidOption("logLevel", `one of ${logLevels.join(", ")}`, logLevel, owner);
  if (options.selection !== undefined && host.view === undefined)
    throw invalidOption("selection", "left out, because the host has no view()", options.selection, owner);
  return {
    ...options,
    ...statelessOptions(options),
    server,
    promptsAsTools,
    discovery,
    names: naming,
    logLevel,
    logger: steadyLogger(logger),
    clock,
    pageSize: wholeNumber("pageSize", options.pageSize, 500),
    maxConcurrentRequests: wholeNumber("maxConcurrentRequests", options.maxConcurrentRequests, 100),
    maxMessageBytes: wholeNumber("maxMessageBytes", options.maxMessageBytes, 4 * mebibyte),
  };
}

const owner = "of serving";
/** A shorter key can be guessed. */
const minKeyLength = 32;
const protocols: readonly unknown[] = ["auto", "2025-11-25", "2026-07-28"];

/** The options of the revision without sessions. @throws ToolkitError `INVALID_CONFIG` */
function statelessOptions({ protocol = "auto", stateKey, listTtlMs = 0, ...options }: ServeOptions) {
  if (!protocols.includes(protocol))
    throw invalidOption("protocol", '"auto", "2025-11-25" or "2026-07-28"', protocol, owner);
  const keys: readonly unknown[] | undefined = stateKey === undefined ? undefined : [stateKey].flat();
  const isKey = (key: unknown): key is string => typeof key === "string" && key.length >= minKeyLength;
  if (keys !== undefined && (keys.length === 0 || !keys.every(isKey)))
    throw invalidOption("stateKey", `a text of at least ${minKeyLength} characters, or several`, "another one", owner);
  if (!Number.isSafeInteger(listTtlMs) || listTtlMs < 0)
    throw invalidOption("listTtlMs", "a whole number from 0", listTtlMs, owner);
  return {
    protocol,
    stateKey: keys?.filter(isKey),
    listTtlMs,
    inputTimeoutMs: wholeNumber("inputTimeoutMs", options.inputTimeoutMs, 10 * 60_000),
    maxParkedCalls: wholeNumber("maxParkedCalls", options.maxParkedCalls, 1_000),
    maxParkedCallsPerPrincipal: wholeNumber("maxParkedCallsPerPrincipal", options.maxParkedCallsPerPrincipal, 100),
  };
}

/** An option that is a whole number from 1, or its default. @throws ToolkitError `INVALID_CONFIG` */
export function wholeNumber(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw invalidOption(name, "a whole number from 1", value, owner);
}
