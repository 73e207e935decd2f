import type { Connector } from "../core/connector.ts";
import { type ConnectorLimits, connectorLimitOptions, readConnectorLimits } from "../core/connector-limits.ts";
import type { EgressOptions } from "../core/egress.ts";
import { ToolkitError } from "../core/error.ts";
import type { HeadersOption, HttpAuth } from "../core/http-auth.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import type { PinOptions } from "../core/pin.ts";
import type { ConnectorTarget } from "../core/target.ts";
import { type AllowList, readAllow } from "./allow-list.ts";
import {
  type CallerRootsLimits,
  type ElicitationLimits,
  type InteractionLimits,
  readInteractionLimits,
  type SamplingLimits,
} from "./interaction-limits.ts";

/** Options of `addConnector`. With a `Connector` object, the only limit to give here is `maxConcurrentCalls`: it has the others itself. */
export interface AddConnectorOptions extends ConnectorLimits {
  /** The namespace of its items. Default: the name its server gives, fixed at the first handshake. */
  readonly namespace?: string | undefined;
  /**
   * For an HTTP target of the MCP connector: sent with every request; a function is called for each, with the session of the call. A
   * child process takes none (`INVALID_TARGET`); a delegate that makes its own connector gets none.
   */
  readonly headers?: HeadersOption | undefined;
  /** For an HTTP target of the MCP connector: its source of credentials, such as `oauth()`. A child process takes none (`INVALID_TARGET`). */
  readonly auth?: HttpAuth | undefined;
  /**
   * With `untrusted`, everything of the server is refused but what `allow` names; it gets no sampling, no form that asks for secrets and no
   * page to send a person to; its results are without text that does not show, and are marked for models; its limits are tighter; its child
   * process inherits `PATH` alone. Default `standard`.
   */
  readonly trust?: "standard" | "untrusted" | undefined;
  /**
   * The tools and prompts that may be used, by the names that the server gives them, and resources by URI, or globs on these; a glob with a
   * colon means URIs. Everything else is refused, and is in no toolset. Default: everything, of an untrusted server nothing.
   */
  readonly allow?: readonly string[] | undefined;
  /**
   * Keeps what the server says of its items and of itself the first time, and reports what changes afterwards; with `onChange: "quarantine"` what
   * changes is refused until it is accepted. It needs a `namespace`. Default false.
   */
  readonly pins?: boolean | PinOptions | undefined;
  /**
   * For an HTTP target of the MCP connector: where requests of its `auth` may go, beside public addresses and the origin of the target.
   * Default: the toolkit's. A delegate that makes its own connector gets none.
   */
  readonly egress?: EgressOptions | undefined;
  /**
   * The revision of MCP to speak with a target. `auto` finds out whether the server keeps sessions, as up to 2025-11-25, or none, as from
   * 2026-07-28, and keeps what it found in the store for a day. Default `auto`.
   */
  readonly protocol?: "auto" | "2025-11-25" | "2026-07-28" | undefined;
  /** Connect at the first list, lookup or call that needs it. Default false. */
  readonly lazy?: boolean | undefined;
  /** Inactivity limit of its tools, in milliseconds. Default: the toolkit's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Interval at which lists whose changes the server does not announce are read again, in milliseconds. Default 60,000. */
  readonly pollMs?: number | undefined;
  /**
   * Time after which a server that sends nothing and answers no ping is taken for lost, in milliseconds: its calls in flight fail, and it
   * is connected again. No ping is sent while it sends anything. Default: 5,000 over HTTP, where a socket that is open at this end only
   * is noticed by nothing else; 60,000 for a child process, whose end the operating system reports. Raise it for a server that answers
   * nothing while it works; `Number.POSITIVE_INFINITY` sends no pings.
   */
  readonly healthCheckMs?: number | undefined;
  /**
   * Offer elicitation to the server: requests go to the caller's session, else to the delegate, else they are declined. Default true, with
   * the limits of `ElicitationLimits`.
   */
  readonly elicitation?: boolean | ElicitationLimits | undefined;
  /** Offer sampling to the server, as for `elicitation`. Default true, with the limits of `SamplingLimits`. */
  readonly sampling?: boolean | SamplingLimits | undefined;
  /**
   * A server that asks for roots while it works for a caller gets those of the caller's session, and is notified when they change; outside of a
   * call, and where several sessions are calling and it does not say for which, those of its connector. Only for a server that uses roots as a
   * wish: one that takes them for a permission lets any caller widen what it may touch. Default false.
   */
  readonly callerRoots?: boolean | CallerRootsLimits | undefined;
  /** Time limit of one attempt to connect and list its tools, and of each other list, in milliseconds. Default 30,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Upper bound of the first wait after a failed attempt, in milliseconds; it doubles up to `maxRetryMs`. Default 2,000. */
  readonly retryMs?: number | undefined;
  /** The longest wait between two attempts, in milliseconds. Default 1,200,000 (20 minutes). */
  readonly maxRetryMs?: number | undefined;
  /** Failed attempts in a row after which it is removed. Default: it never gives up. */
  readonly maxAttempts?: number | undefined;
}

/** The options that a connector is made with; the others are of its supervision. */
const making = {
  headers: true,
  auth: true,
  egress: true,
  protocol: true,
  connectTimeoutMs: true,
  trust: true,
  ...connectorLimitOptions,
} as const satisfies Partial<OptionNames<AddConnectorOptions>>;

const optionNames: OptionNames<AddConnectorOptions> = {
  namespace: true,
  allow: true,
  pins: true,
  lazy: true,
  timeoutMs: true,
  pollMs: true,
  healthCheckMs: true,
  elicitation: true,
  sampling: true,
  callerRoots: true,
  retryMs: true,
  maxRetryMs: true,
  maxAttempts: true,
  ...making,
};

/** The options that the connector of a target is made with. */
export type MakingOptions = Pick<AddConnectorOptions, keyof typeof making>;

const makingNames = Object.keys(making) as readonly (keyof MakingOptions)[];

/**
 * The connector of a target: a Connector object itself, else one that is made.
 *
 * @throws ToolkitError `INVALID_TARGET`; `INVALID_CONFIG` for an unknown option; `RESERVED_NAME` for `connector:user`; whatever `make`
 *   throws
 */
export function connectorOf(
  target: ConnectorTarget | Connector,
  options: AddConnectorOptions,
  make: (target: ConnectorTarget, options: MakingOptions) => Connector,
): Connector {
  assertOptionNames(options, optionNames, "of a connector");
  if (isConnector(target)) {
    const own = makingNames.filter((name) => !["connectTimeoutMs", "maxConcurrentCalls", "trust"].includes(name));
    const given = own.find((name) => options[name] !== undefined);
    if (given === undefined) return target;
    throw invalidTarget(`Give a Connector its ${given} where it is made: here it is for a target.`, target.label);
  }
  if (target === "connector:user") {
    const message = '"connector:user" is reserved for the user namespace, which a store fills.';
    throw new ToolkitError("RESERVED_NAME", message, { name: target });
  }
  if (typeof target === "object" && target !== null && ("mcpServers" in target || "mcp_servers" in target)) {
    throw invalidTarget("This configuration names several servers: give it to addConnectors.", "mcpServers");
  }
  return make(target, Object.fromEntries(makingNames.map((name) => [name, options[name]])));
}

function isConnector(target: ConnectorTarget | Connector): target is Connector {
  return typeof target === "object" && target !== null && typeof (target as Connector).connect === "function";
}

function invalidTarget(message: string, target: string): ToolkitError<"INVALID_TARGET"> {
  return new ToolkitError("INVALID_TARGET", message, { target });
}

/** Options of the toolkit that apply to all connectors. */
export interface ConnectDefaults {
  /** Time that lookups and `start` wait for the first attempt, in milliseconds. */
  readonly startTimeoutMs: number;
  /** Time that a call waits for a connection whose connector has no limit of its own, in milliseconds. */
  readonly timeoutMs: number;
  /** The most calls that may wait for their turn. */
  readonly maxQueuedCalls: number;
}

/** Options of the supervision of one connection, with every default in place. */
export interface SupervisionOptions {
  readonly trust: "standard" | "untrusted";
  /** Undefined where nothing is pinned. */
  readonly pins: "report" | "quarantine" | undefined;
  /** The items that may be used. */
  readonly allow: AllowList;
  /** Inactivity limit of its tools, in milliseconds; undefined where it is the toolkit's. */
  readonly timeoutMs: number | undefined;
  readonly pollMs: number;
  /** Undefined where the session has its own. */
  readonly healthCheckMs: number | undefined;
  readonly interaction: InteractionLimits;
  readonly connectTimeoutMs: number;
  readonly retryMs: number;
  readonly maxRetryMs: number;
  readonly maxAttempts: number | undefined;
  readonly maxConcurrentCalls: number;
  readonly maxQueuedCalls: number;
  /** Time that lookups and `start` wait for the first attempt, in milliseconds. */
  readonly startTimeoutMs: number;
  /** Time that a call without a limit of its own waits for the connection, in milliseconds. */
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

/** Time that a connector with a time limit of its own is given beyond it, to report why it failed, and to list, in milliseconds. */
const graceMs = 3_000;

/**
 * Reads the options of the supervision of a connection, and puts the defaults in.
 *
 * @param own - the options of the connector itself
 * @throws ToolkitError `INVALID_CONFIG` for a number that is not above 0, or a limit that is no whole number from 1
 */
export function readSupervision(
  options: AddConnectorOptions,
  defaults: ConnectDefaults,
  own: Pick<Connector, "connectTimeoutMs" | "maxConcurrentCalls">,
): SupervisionOptions {
  for (const name of numbers) assertPositive(name, options[name]);
  const { pollMs = 60_000, retryMs = 2_000, maxRetryMs = 20 * 60_000 } = options;
  const { timeoutMs, healthCheckMs, maxAttempts } = options;
  const allow = readAllow(options);
  const pins = readPins(options);
  const { trust = "standard" } = options;
  const { maxConcurrentCalls } = readConnectorLimits(
    { ...options, maxConcurrentCalls: options.maxConcurrentCalls ?? own.maxConcurrentCalls },
    trust,
  );
  const { connectTimeoutMs: ownTimeoutMs } = own;
  const given = options.connectTimeoutMs ?? ownTimeoutMs ?? 30_000;
  const connectTimeoutMs = ownTimeoutMs !== undefined && given >= ownTimeoutMs ? ownTimeoutMs + graceMs : given;
  const { startTimeoutMs, maxQueuedCalls } = defaults;
  const interaction = readInteractionLimits(options);
  const waitMs = timeoutMs ?? defaults.timeoutMs;
  const reconnecting = { connectTimeoutMs, retryMs, maxRetryMs, maxAttempts };
  const limits = { timeoutMs, maxConcurrentCalls, maxQueuedCalls, startTimeoutMs, waitMs };
  return { trust, allow, pins, pollMs, healthCheckMs, interaction, ...reconnecting, ...limits };
}

/** A server that gives its own name would choose its pins by it. */
function readPins({ pins = false, namespace }: AddConnectorOptions): SupervisionOptions["pins"] {
  if (typeof pins !== "boolean") assertOptionNames(pins, pinNames, "of pins", "pins");
  if (pins === false) return undefined;
  const { onChange = "report" } = pins === true ? {} : pins;
  if (onChange !== "report" && onChange !== "quarantine")
    throw invalidOption("pins.onChange", '"report" or "quarantine"', onChange, "of a connector");
  if (namespace !== undefined) return onChange;
  const message =
    "A connector with pins needs a namespace: without one its server chooses under which name it is pinned.";
  throw new ToolkitError("INVALID_CONFIG", message, { path: "pins" });
}

const pinNames: OptionNames<PinOptions> = { onChange: true };

function assertPositive(name: string, value: unknown): void {
  if (value === undefined || (typeof value === "number" && value > 0)) return;
  throw invalidOption(name, "a number above 0", value, "of a connector");
}
