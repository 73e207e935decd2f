import type { ModelSettings } from "../core/model-settings.ts";
import { emptyScope } from "../core/name-rules.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import type { PolicyRules } from "../core/policy.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { isRecord, present } from "../lib/value.ts";
import { runRules } from "../toolset/run-policy.ts";
import type { RunPolicy } from "../toolset/toolset-types.ts";
import type { HistoryHook } from "./conversation/history.ts";
import type { ModelsOptions } from "./model/models.ts";
import type { ModelPrice } from "./run/run-state.ts";

/** Limits of one run. Each has a default; `Number.POSITIVE_INFINITY` lifts it. */
export interface RunLimits {
  /** Calls of the model. Beyond it `STEP_LIMIT`. Default 20. */
  readonly maxSteps?: number | undefined;
  /**
   * Tool calls. Further ones are refused, and the model gets the reason; of an answer with more calls than that, and more than 128, none is
   * made. Default 100.
   */
  readonly maxToolCalls?: number | undefined;
  /** A call that is made in this many turns in a row is reported to the model. Default 3. */
  readonly repeatNoticeAt?: number | undefined;
  /** A call that is requested in this many turns in a row ends the run with `STEP_LIMIT`. Default 5. */
  readonly maxRepeatedCalls?: number | undefined;
  /** Requests to repair an answer that does not fit. Then `INVALID_OUTPUT`. Default 2. */
  readonly maxRepairs?: number | undefined;
  /** Size of one answer of the model, in bytes of UTF-8. Beyond it `LIMIT_EXCEEDED`. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /**
   * Size of one result in the conversation, in bytes of UTF-8. Of a larger one the model gets the beginning, and tools that read the rest.
   * Default 4 KiB.
   */
  readonly maxResultBytes?: number | undefined;
  /**
   * Tokens of all steps, input and output, sub-agents included. Beyond it no further step is made, and the run ends with
   * `LIMIT_EXCEEDED`. Default: no limit.
   */
  readonly maxTokens?: number | undefined;
  /** Cost of all steps by `prices`, with the effect of `maxTokens`. Default: no limit. */
  readonly maxCost?: number | undefined;
  /** Duration in milliseconds, without the time in suspension. Beyond it `TIMEOUT`. Default 1,800,000 (30 minutes). */
  readonly timeoutMs?: number | undefined;
}

/** Options for suspended runs. */
export interface SuspendedOptions {
  /** Suspended runs in one store. Beyond it a run that would be suspended ends with `LIMIT_EXCEEDED`. Default 10,000. */
  readonly limit?: number | undefined;
  /** Retention of a run after the last call that it waits for has expired, in milliseconds. Default 604,800,000 (7 days). */
  readonly keepMs?: number | undefined;
  /**
   * Lease of a process that resumes a run, in milliseconds. A process that does not renew it counts as dead for the others that share the
   * store. Default 30,000.
   */
  readonly leaseMs?: number | undefined;
}

/** Options for results that are too long for a conversation. */
export interface ResultRetention {
  /** Retention in milliseconds. Default 86,400,000 (1 day). */
  readonly keepMs?: number | undefined;
  /** Size of the results of one principal in a store, in bytes. Beyond it the oldest are deleted. Default 256 MiB. */
  readonly maxBytes?: number | undefined;
}

/** Options for conversations that are kept by id. */
export interface ConversationRetention {
  /** Retention after the last turn, in milliseconds. One that has expired is there no more, and begins anew. Default: no limit. */
  readonly keepMs?: number | undefined;
  /** Conversations of one owner. Beyond it a new one is `LIMIT_EXCEEDED`. Default 10,000. */
  readonly limit?: number | undefined;
  /** Turns of one conversation. Beyond it a turn is `LIMIT_EXCEEDED`, before a model is asked. Default: no limit. */
  readonly maxTurns?: number | undefined;
  /** Size of one conversation, in bytes. Beyond it a turn is `LIMIT_EXCEEDED`. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
}

/** Options of an agent. */
export interface AgentOptions extends ModelsOptions, RunLimits {
  /** A policy for the tool calls of its runs, in addition to that of the toolkit. */
  readonly policy?: RunPolicy | undefined;
  /** Budget for the definitions of tools, in tokens. Definitions that exceed it are disclosed on demand. Default: no limit. */
  readonly maxDefinitionTokens?: number | undefined;
  /** Settings of models where a prompt has none. */
  readonly settings?: ModelSettings | undefined;
  /** Chooses what of a conversation a model is sent, such as `recentHistory({ maxTokens })`. Default: all of it. */
  readonly history?: HistoryHook | undefined;
  /** Prices of models, by `provider/name`. */
  readonly prices?: Readonly<Record<string, ModelPrice>> | undefined;
  /** Attempts in all of one call of a model, where the provider is overloaded or not reached. Default 4. */
  readonly modelAttempts?: number | undefined;
  /** Time without a byte from the model, in milliseconds. Default 300,000 (5 minutes). */
  readonly modelTimeoutMs?: number | undefined;
  /** The longest wait that a provider may ask for before a retry, in milliseconds. Default 60,000. */
  readonly maxRetryWaitMs?: number | undefined;
  /**
   * Answer servers and tools that ask for a completion (MCP's sampling), where the session of the call does not. Default false, because
   * they decide what your tokens are spent on.
   */
  readonly sampling?: boolean | undefined;
  /** Options for suspended runs. */
  readonly suspended?: SuspendedOptions | undefined;
  /** Options for results that are too long for a conversation. */
  readonly results?: ResultRetention | undefined;
  /** Options for conversations that are kept by id. */
  readonly conversations?: ConversationRetention | undefined;
  /** Replaced in tests. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Replaced in tests: gives a number from 0 up to 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The limits of a run, with defaults. */
export type KnownLimits = { readonly [K in keyof RunLimits]-?: number };

/** The retries and timeouts of models, with defaults. */
export interface ModelRetryOptions {
  readonly modelAttempts: number;
  readonly modelTimeoutMs: number;
  readonly maxRetryWaitMs: number;
}

/** The options for suspended runs, with defaults. */
export type KeptRuns = { readonly [K in keyof SuspendedOptions]-?: number };

/** The options for long results, with defaults. */
export type KnownRetention = { readonly [K in keyof ResultRetention]-?: number };

/** The options for kept conversations, with defaults. */
export type ConversationLimits = { readonly [K in keyof ConversationRetention]-?: number };

/** The options of an agent, with defaults. */
export interface ParsedAgentOptions {
  readonly limits: KnownLimits;
  readonly retries: ModelRetryOptions;
  readonly policy: RunPolicy;
  /** The rules of the policy, whose names mean nothing yet; undefined without a policy. */
  readonly rules: PolicyRules | undefined;
  readonly maxDefinitionTokens: number | undefined;
  readonly settings: ModelSettings;
  readonly prices: Readonly<Record<string, ModelPrice>>;
  readonly history: HistoryHook | undefined;
  readonly sampling: boolean;
  readonly suspended: KeptRuns;
  readonly results: KnownRetention;
  readonly conversations: ConversationLimits;
  readonly clock: Clock;
  readonly random: () => number;
}

const limitDefaults: KnownLimits = {
  maxSteps: 20,
  maxToolCalls: 100,
  repeatNoticeAt: 3,
  maxRepeatedCalls: 5,
  maxRepairs: 2,
  maxOutputBytes: 2 ** 20,
  maxResultBytes: 2 ** 12,
  maxTokens: Number.POSITIVE_INFINITY,
  maxCost: Number.POSITIVE_INFINITY,
  timeoutMs: 1_800_000,
};
const keptDefaults: KeptRuns = { limit: 10_000, keepMs: 7 * 24 * 3_600_000, leaseMs: 30_000 };
const retentionDefaults: KnownRetention = { keepMs: 24 * 3_600_000, maxBytes: 256 * 2 ** 20 };
const conversationDefaults: ConversationLimits = {
  keepMs: Number.POSITIVE_INFINITY,
  limit: 10_000,
  maxTurns: Number.POSITIVE_INFINITY,
  maxBytes: 16 * 2 ** 20,
};
const retryDefaults: ModelRetryOptions = { modelAttempts: 4, modelTimeoutMs: 300_000, maxRetryWaitMs: 60_000 };

/** Options that need not be whole numbers. */
const fractions: ReadonlySet<string> = new Set(["maxCost", "timeoutMs", "modelTimeoutMs", "maxRetryWaitMs"]);

/**
 * Parses the options of an agent, and adds defaults. `Models` parses those of its models.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an option out of its range, or an unknown one
 */
export function parseAgentOptions(options: AgentOptions): ParsedAgentOptions {
  assertOptionNames(options, optionNames, "of an agent");
  const { policy, settings = {}, prices = {}, clock = systemClock, random = Math.random } = options;
  for (const [name, value] of Object.entries({ policy, settings, prices })) {
    if (value !== undefined && !isRecord(value)) throw invalidOption(name, "an object", value, "of an agent");
  }
  if (options.sampling !== undefined && typeof options.sampling !== "boolean")
    throw invalidOption("sampling", "true or false", options.sampling, "of an agent");
  if (options.history !== undefined && typeof options.history !== "function")
    throw invalidOption("history", "a function", options.history, "of an agent");
  for (const [model, price] of Object.entries(prices)) assertPrice(price, `prices[${JSON.stringify(model)}]`);
  return {
    limits: readLimits(options),
    retries: readNumbers(retryDefaults, options),
    policy: policy ?? {},
    rules: policy && runRules(policy, emptyScope),
    maxDefinitionTokens: options.maxDefinitionTokens,
    settings,
    prices,
    history: options.history,
    sampling: options.sampling === true,
    suspended: readKept("suspended", options.suspended, keptDefaults),
    results: readKept("results", options.results, retentionDefaults),
    conversations: readKept("conversations", options.conversations, conversationDefaults),
    clock,
    random,
  };
}

/**
 * Parses the limits of a run, with those of the agent as defaults.
 *
 * @throws ToolkitError `INVALID_CONFIG` for a limit out of its range
 */
export function readLimits(limits: RunLimits, others: KnownLimits = limitDefaults): KnownLimits {
  return readNumbers(others, limits);
}

function readNumbers<T extends object>(others: T, given: { readonly [K in keyof T]?: number | undefined }): T {
  // Most runs have no limits of their own.
  if (!Object.keys(others).some((name) => given[name as keyof T] !== undefined)) return others;
  const numbers: Record<string, unknown> = {};
  for (const [name, other] of Object.entries(others)) {
    const value: unknown = (given as Readonly<Record<string, unknown>>)[name] ?? other;
    const least = name === "maxRepairs" || name === "maxToolCalls" ? 0 : 1;
    const isWhole = Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
    const fits = fractions.has(name) ? typeof value === "number" && value > 0 : isWhole && Number(value) >= least;
    const wanted = fractions.has(name) ? "a number above 0" : `a whole number from ${least}`;
    if (!fits) throw invalidOption(name, wanted, value, "of an agent");
    numbers[name] = value;
  }
  return numbers as T;
}

/** Options about what is kept: each is a number above 0, and one that counts is whole. A default may be infinite. */
function readKept<T extends { readonly [K in keyof T]: number }>(name: string, given: object = {}, defaults: T): T {
  if (!isRecord(given)) throw invalidOption(name, "an object", given, "of an agent");
  const names = Object.fromEntries(Object.keys(defaults).map((key) => [key, true as const]));
  assertOptionNames<Record<string, unknown>>(given, names, `of ${name}`, name);
  const kept = { ...defaults, ...present(given) };
  for (const [key, value] of Object.entries(kept)) {
    if (value === (defaults as Readonly<Record<string, unknown>>)[key]) continue;
    const isCount = key === "limit" || key === "maxTurns";
    const fits = isCount ? Number.isInteger(value) : Number.isFinite(value);
    const wanted = isCount ? "a whole number from 1" : "a finite number above 0";
    if (!fits || Number(value) <= 0) throw invalidOption(`${name}.${key}`, wanted, value);
  }
  return kept;
}

function assertPrice(price: unknown, path: string): void {
  assertOptionNames<ModelPrice>(price, { input: true, output: true, cachedInput: true }, "of a price", path);
  const { input, output, cachedInput = 0 } = price as ModelPrice;
  for (const [name, value] of Object.entries({ input, output, cachedInput })) {
    if (!(typeof value === "number" && value >= 0)) throw invalidOption(`${path}.${name}`, "a number from 0", value);
  }
}

/** The names of the limits of a run. */
export const limitNames: OptionNames<RunLimits> = {
  maxSteps: true,
  maxToolCalls: true,
  repeatNoticeAt: true,
  maxRepeatedCalls: true,
  maxRepairs: true,
  maxOutputBytes: true,
  maxResultBytes: true,
  maxTokens: true,
  maxCost: true,
  timeoutMs: true,
};

const optionNames: OptionNames<AgentOptions> = {
  ...limitNames,
  models: true,
  defaultModel: true,
  policy: true,
  maxDefinitionTokens: true,
  settings: true,
  prices: true,
  history: true,
  modelAttempts: true,
  modelTimeoutMs: true,
  maxRetryWaitMs: true,
  sampling: true,
  suspended: true,
  results: true,
  conversations: true,
  clock: true,
  random: true,
};
