import { type Clock, systemClock } from "../lib/clock.ts";
import { isRecord, present } from "../lib/value.ts";
import type { ApprovalOptions } from "./approval.ts";
import { assertSettingsByName, type CallSettings } from "./call-settings.ts";
import type { Delegate } from "./delegate.ts";
import { type MediaEgress, readToolkitEgress, type ToolkitEgressOptions } from "./egress.ts";
import type { Item } from "./item.ts";
import { silentLogger, steadyLogger } from "./logger.ts";
import type { Middleware } from "./middleware.ts";
import { assertRules } from "./name-rules.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "./options.ts";
import type { ToolkitPinOptions } from "./pin.ts";
import { type Policy, PolicyRules } from "./policy.ts";
import { type ReadPromptLimits, readPromptLimits } from "./prompt-limits.ts";
import type { Logger } from "./session.ts";
import type { Store } from "./store.ts";
import type { TelemetryOptions } from "./telemetry-options.ts";
import type { UserLimits, UserNamespaceSettings } from "./user.ts";

/** The options of a toolkit. Each has a default. */
export interface ToolkitOptions extends TelemetryOptions {
  /** Builtins to begin with, as for `add`. */
  readonly items?: readonly Item[] | undefined;
  /** Receives events, executes prompts, makes connectors. Of several, the first that can answer does. */
  readonly delegate?: Delegate | readonly Delegate[] | undefined;
  /** Rules for calls, renders and reads. Default: everything is allowed. */
  readonly policy?: Policy | undefined;
  /**
   * Where requests may go whose URL a stranger chose: of authorization servers, and of files in prompts. Default: public addresses, and
   * for a connector the origin of its own server. A connector may have its own.
   */
  readonly egress?: ToolkitEgressOptions | undefined;
  /**
   * Keeps waiting calls, suspended agent runs and the namespace `user` beyond the life of the process. It is opened at `start`, or when it
   * is needed first, and closed with the toolkit. Default: in memory, and nothing for `user`.
   */
  readonly store?: Store | undefined;
  /** Where the contracts of connectors with the option `pins` are kept. Default: in the store. */
  readonly pins?: ToolkitPinOptions | undefined;
  /** The quota of each principal in the namespace `user`, and what the stored prompts of principals may call. */
  readonly user?: UserNamespaceSettings | undefined;
  /** Limits for calls that wait for an approval, or for work elsewhere. */
  readonly approvals?: ApprovalOptions | undefined;
  /** Wraps every call, the first outermost. */
  readonly use?: readonly Middleware[] | undefined;
  /** Where the library says what an operator should know. Default: nowhere. */
  readonly logger?: Logger | undefined;
  /** Refuse an unscoped name that several namespaces have. Default false: the order decides, and `ambiguousName` is emitted. */
  readonly strictNames?: boolean | undefined;
  /** The longest silence of a tool, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** The longest attempt of a call, in milliseconds. Default 600,000. */
  readonly maxTimeoutMs?: number | undefined;
  /**
   * Settings of calls, by names, refs and globs on these (`weather.*`), in place of those of the tools and their connectors. Of several that
   * fit, the later has the last word, setting by setting.
   */
  readonly settings?: Readonly<Record<string, CallSettings>> | undefined;
  /** The size of the cache for results of tools that ask for one. */
  readonly cache?: Partial<CacheLimits> | undefined;
  /** The most calls that wait for a place in each queue of `maxConcurrent`. Default 10,000. */
  readonly maxQueuedCalls?: number | undefined;
  /** The deepest nesting of calls; 0 allows only calls from outside. Default 8. */
  readonly maxDepth?: number | undefined;
  /** The longest wait of `start` and of first lookups for a connector or source, in milliseconds. Default 10,000. */
  readonly startTimeoutMs?: number | undefined;
  /** Time, for tests. Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Chance, for tests: gives a number from 0 up to 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The bounds of the result cache; beyond them the least recently used results are dropped. */
export interface CacheLimits {
  /** So many answers. Default 1,000. */
  readonly maxEntries: number;
  /** So many bytes, about. Default 64 MiB. */
  readonly maxBytes: number;
}

/** Options with every default in place. */
export type ReadToolkitOptions = {
  readonly [K in Exclude<keyof ToolkitOptions, Unread>]-?: NonNullable<ToolkitOptions[K]>;
} & {
  readonly policy: PolicyRules;
  readonly approvals: ReadApprovalOptions;
  readonly cache: CacheLimits;
  readonly user: UserLimits;
  /** Texts of the rules of `user.tools`. */
  readonly userTools: readonly string[];
  /** Of `user.promptLimits`. */
  readonly userPromptLimits: ReadPromptLimits;
  readonly egress: MediaEgress;
};

/** Options that are read otherwise. */
type Unread =
  | "items"
  | "delegate"
  | "policy"
  | "egress"
  | "store"
  | "pins"
  | "approvals"
  | "cache"
  | "user"
  | keyof TelemetryOptions;

type ReadApprovalOptions = { readonly [K in keyof ApprovalOptions]-?: NonNullable<ApprovalOptions[K]> };

/**
 * Reads the options of a toolkit and puts the defaults in.
 *
 * @throws ToolkitError `INVALID_CONFIG` for one out of its range, or one there is not
 */
export function readToolkitOptions(options: ToolkitOptions): ReadToolkitOptions {
  assertOptionNames(options, optionNames, "of a toolkit");
  const { timeoutMs = 60_000, maxTimeoutMs = 600_000, startTimeoutMs = 10_000, maxDepth = 8 } = options;
  for (const [name, value] of Object.entries({ timeoutMs, maxTimeoutMs, startTimeoutMs })) {
    if (!(typeof value === "number" && value > 0)) throw invalidOption(name, "a number above 0", value);
  }
  if (!(Number.isInteger(maxDepth) && maxDepth >= 0))
    throw invalidOption("maxDepth", "a whole number from 0", maxDepth);
  const { items, use = [], delegate, logger, settings = {}, maxQueuedCalls = 10_000 } = options;
  assertSettingsByName(settings);
  const cache = readLimits("cache", options.cache, cacheLimits);
  const { tools: userTools = [], promptLimits, ...quota } = readUser(options.user);
  const user = readLimits("user", quota, userLimits);
  if (!isCount(maxQueuedCalls)) throw invalidOption("maxQueuedCalls", "a whole number from 1", maxQueuedCalls);
  if (items !== undefined && !Array.isArray(items)) throw invalidOption("items", "a list of items", items);
  if (!Array.isArray(use) || !use.every(isFunction)) throw invalidOption("use", "a list of functions", use);
  if (delegate !== undefined && ![delegate].flat().every(isRecord))
    throw invalidOption("delegate", "a delegate or a list of them", delegate);
  if (logger !== undefined && !logMethods.every((method) => isFunction(logger[method])))
    throw invalidOption("logger", `an object with the functions ${logMethods.join(", ")}`, logger);
  if (options.store !== undefined && !isStore(options.store)) throw invalidOption("store", "a store", options.store);
  assertPins(options.pins);
  assertTelemetry(options);
  return {
    approvals: readApprovals(options.approvals),
    timeoutMs,
    maxTimeoutMs,
    startTimeoutMs,
    maxDepth,
    strictNames: options.strictNames ?? false,
    policy: new PolicyRules(options.policy ?? {}),
    egress: readToolkitEgress(options.egress),
    use,
    settings,
    cache,
    user,
    userTools,
    userPromptLimits: readPromptLimits(promptLimits, "user.promptLimits"),
    maxQueuedCalls,
    logger: logger === undefined ? silentLogger : steadyLogger(logger),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  };
}

function readUser(user: UserNamespaceSettings = {}): UserNamespaceSettings {
  if (!isRecord(user)) throw invalidOption("user", "an object", user);
  assertRules(user.tools, "user.tools");
  return user;
}

function readApprovals(approvals: ApprovalOptions = {}): ReadApprovalOptions {
  if (!isRecord(approvals)) throw invalidOption("approvals", "an object", approvals);
  assertOptionNames(approvals, approvalNames, "of approvals", "approvals");
  const { ttlMs = 900_000, keepMs = 900_000, leaseMs = 30_000 }: ApprovalOptions = approvals;
  const { limit = 10_000, maxBytes = 64 * 2 ** 20 }: ApprovalOptions = approvals;
  for (const [name, value] of Object.entries({ limit, maxBytes })) {
    if (!isCount(value)) throw invalidOption(`approvals.${name}`, "a whole number from 1", value);
  }
  for (const [name, value] of Object.entries({ ttlMs, keepMs, leaseMs })) {
    if (!(Number.isFinite(value) && value > 0))
      throw invalidOption(`approvals.${name}`, "a finite number above 0", value);
  }
  return { ttlMs, keepMs, leaseMs, limit, maxBytes };
}

function assertPins(pins: ToolkitPinOptions = {}): void {
  assertOptionNames(pins, pinNames, "of pins", "pins");
  if (pins.file !== undefined && (typeof pins.file !== "string" || pins.file === ""))
    throw invalidOption("pins.file", "the path of a file", pins.file);
}

const pinNames: OptionNames<ToolkitPinOptions> = { file: true };

function assertTelemetry({ tracer, meter, recordContent, redact }: TelemetryOptions): void {
  if (tracer && !isFunction(tracer.startSpan)) throw invalidOption("tracer", "a tracer of OpenTelemetry", tracer);
  if (meter && !isFunction(meter.createCounter)) throw invalidOption("meter", "a meter of OpenTelemetry", meter);
  if (recordContent !== undefined && typeof recordContent !== "boolean")
    throw invalidOption("recordContent", "true or false", recordContent);
  const isGlob = (glob: unknown) => typeof glob === "string" && glob !== "";
  if (redact !== undefined && !(Array.isArray(redact) && redact.every(isGlob)))
    throw invalidOption("redact", "a list of globs on keys", redact);
}

/** Limits with every default in place. */
function readLimits<T extends object>(option: string, given: unknown = {}, defaults: T): T {
  if (!isRecord(given)) throw invalidOption(option, "an object", given);
  assertOptionNames(given, defaults as OptionNames<unknown>, `of ${option}`, option);
  const limits = { ...defaults, ...present(given) };
  for (const [name, value] of Object.entries(limits)) {
    if (!isCount(value)) throw invalidOption(`${option}.${name}`, "a whole number from 1", value);
  }
  return limits;
}

const cacheLimits: CacheLimits = { maxEntries: 1_000, maxBytes: 64 * 2 ** 20 };
const userLimits: UserLimits = {
  maxItems: 10_000,
  maxItemBytes: 16 * 2 ** 20,
  maxBytes: 256 * 2 ** 20,
  maxPrincipals: 1_000,
};

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) > 0;

const logMethods = ["debug", "info", "warn", "error"] as const satisfies readonly (keyof Logger)[];

const isStore = (value: unknown): boolean => isRecord(value) && isFunction(value.put) && isFunction(value.watch);

const isFunction = (value: unknown): boolean => typeof value === "function";

const optionNames: OptionNames<ToolkitOptions> = {
  items: true,
  delegate: true,
  policy: true,
  egress: true,
  store: true,
  pins: true,
  user: true,
  approvals: true,
  use: true,
  logger: true,
  strictNames: true,
  timeoutMs: true,
  maxTimeoutMs: true,
  settings: true,
  cache: true,
  maxQueuedCalls: true,
  maxDepth: true,
  startTimeoutMs: true,
  clock: true,
  random: true,
  tracer: true,
  meter: true,
  recordContent: true,
  redact: true,
};
const approvalNames: OptionNames<ApprovalOptions> = {
  ttlMs: true,
  keepMs: true,
  leaseMs: true,
  limit: true,
  maxBytes: true,
};
