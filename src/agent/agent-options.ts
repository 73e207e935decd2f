import type { ModelSettings } from "../core/model-settings.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { isRecord, present } from "../lib/value.ts";
import type { RunPolicy } from "../toolset/toolset-types.ts";
import type { ModelsOptions } from "./model/models.ts";
import type { ModelPrice } from "./run/usage.ts";

/** What one run may take; each has a default, and `Number.POSITIVE_INFINITY` lifts it. */
export interface RunLimits {
  /** So many calls of a model. Beyond it `STEP_LIMIT`. Default 20. */
  readonly maxSteps?: number | undefined;
  /** So many tool calls; those beyond are refused, which the model is told. Default 100. */
  readonly maxToolCalls?: number | undefined;
  /** How often the model is asked again for an answer that does not fit. Then `INVALID_OUTPUT`. Default 2. */
  readonly maxRepairs?: number | undefined;
  /** What one answer of a model may have, in bytes of UTF-8. Beyond it `LIMIT_EXCEEDED`. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /** What a model is shown of one result, in bytes of UTF-8; the rest is read with `read_resource`. Default 64 KiB. */
  readonly maxResultBytes?: number | undefined;
  /**
   * What models may be given and give in all, in tokens, sub-agents included. No further step is made beyond it, and the run ends with
   * `LIMIT_EXCEEDED`. Default: no limit.
   */
  readonly maxTokens?: number | undefined;
  /** What that may cost, by `prices`. As `maxTokens`. Default: no limit. */
  readonly maxCost?: number | undefined;
  /** How long a run may take, in milliseconds; while it waits to be resumed nothing counts. Then `TIMEOUT`. Default 1,800,000 (30 minutes). */
  readonly timeoutMs?: number | undefined;
}

/** How runs that wait are kept. */
export interface SuspendedOptions {
  /** How many, in one store. Beyond it a run that would wait ends with `LIMIT_EXCEEDED`. Default 10,000. */
  readonly limit?: number | undefined;
  /** For how long after all that it waits for is over a run is kept that nobody resumes, in milliseconds. Default 604,800,000 (7 days). */
  readonly keepMs?: number | undefined;
  /**
   * For how long a process that resumes a run may give no sign of life, in milliseconds, until the others that share the store take it for
   * dead. Default 30,000.
   */
  readonly leaseMs?: number | undefined;
}

/** How an agent is made. */
export interface AgentOptions extends ModelsOptions, RunLimits {
  /** Which tools may be called in its runs, beside what the toolkit's own policy says. */
  readonly policy?: RunPolicy | undefined;
  /** What the definitions of tools may cost a model, in tokens: what does not fit is told on demand. Default: no limit. */
  readonly maxDefinitionTokens?: number | undefined;
  /** How models write, where a prompt does not say. */
  readonly settings?: ModelSettings | undefined;
  /** What models cost, by `provider/name`. */
  readonly prices?: Readonly<Record<string, ModelPrice>> | undefined;
  /** How often one call of a model is tried in all, where the provider is overloaded or not reached. Default 4. */
  readonly modelAttempts?: number | undefined;
  /** How long a model may show no sign of life, in milliseconds. Default 300,000 (5 minutes). */
  readonly modelTimeoutMs?: number | undefined;
  /** The longest wait a provider may ask for before it is tried again, in milliseconds. Default 60,000. */
  readonly maxRetryWaitMs?: number | undefined;
  /**
   * Answer servers and tools that ask for a model (MCP's sampling), where the session of the call does not. Default false: they would
   * spend your tokens on what they like.
   */
  readonly sampling?: boolean | undefined;
  /** How runs that wait are kept. */
  readonly suspended?: SuspendedOptions | undefined;
  /** Time, for tests. Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Chance, for tests: gives a number from 0 up to 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** The limits of a run, all of them known. */
export type KnownLimits = { readonly [K in keyof RunLimits]-?: number };

/** How models are asked, all of it known. */
export interface ModelPatience {
  readonly modelAttempts: number;
  readonly modelTimeoutMs: number;
  readonly maxRetryWaitMs: number;
}

/** How runs that wait are kept, all of it known. */
export type KeptRuns = { readonly [K in keyof SuspendedOptions]-?: number };

/** Options with every default in place. */
export interface ReadAgentOptions {
  readonly limits: KnownLimits;
  readonly patience: ModelPatience;
  readonly policy: RunPolicy;
  readonly maxDefinitionTokens: number | undefined;
  readonly settings: ModelSettings;
  readonly prices: Readonly<Record<string, ModelPrice>>;
  readonly sampling: boolean;
  readonly suspended: KeptRuns;
  readonly clock: Clock;
  readonly random: () => number;
}

const limitDefaults: KnownLimits = {
  maxSteps: 20,
  maxToolCalls: 100,
  maxRepairs: 2,
  maxOutputBytes: 2 ** 20,
  maxResultBytes: 2 ** 16,
  maxTokens: Number.POSITIVE_INFINITY,
  maxCost: Number.POSITIVE_INFINITY,
  timeoutMs: 1_800_000,
};
const keptDefaults: KeptRuns = { limit: 10_000, keepMs: 7 * 24 * 3_600_000, leaseMs: 30_000 };
const patienceDefaults: ModelPatience = { modelAttempts: 4, modelTimeoutMs: 300_000, maxRetryWaitMs: 60_000 };

/** Of these a fraction is no less sensible. */
const fractions: ReadonlySet<string> = new Set(["maxCost", "timeoutMs", "modelTimeoutMs", "maxRetryWaitMs"]);

/**
 * Reads the options of an agent and puts the defaults in. Those of its models are read by `Models`.
 *
 * @throws ToolkitError `INVALID_CONFIG` for one out of its range, or one there is not
 */
export function readAgentOptions(options: AgentOptions): ReadAgentOptions {
  assertOptionNames(options, optionNames, "of an agent");
  const { policy = {}, settings = {}, prices = {}, clock = systemClock, random = Math.random } = options;
  for (const [name, value] of Object.entries({ policy, settings, prices })) {
    if (!isRecord(value)) throw invalidOption(name, "an object", value, "of an agent");
  }
  if (options.sampling !== undefined && typeof options.sampling !== "boolean")
    throw invalidOption("sampling", "true or false", options.sampling, "of an agent");
  for (const [model, price] of Object.entries(prices)) assertPrice(price, `prices[${JSON.stringify(model)}]`);
  return {
    limits: readLimits(options),
    patience: readNumbers(patienceDefaults, options),
    policy,
    maxDefinitionTokens: options.maxDefinitionTokens,
    settings,
    prices,
    sampling: options.sampling === true,
    suspended: readSuspended(options.suspended),
    clock,
    random,
  };
}

/**
 * The limits of a run, with those of the agent where it has none of its own.
 *
 * @throws ToolkitError `INVALID_CONFIG` for one out of its range
 */
export function readLimits(limits: RunLimits, others: KnownLimits = limitDefaults): KnownLimits {
  return readNumbers(others, limits);
}

function readNumbers<T extends object>(others: T, given: { readonly [K in keyof T]?: number | undefined }): T {
  const numbers = Object.entries(others).map(([name, other]) => {
    const value: unknown = (given as Readonly<Record<string, unknown>>)[name] ?? other;
    const least = name === "maxRepairs" || name === "maxToolCalls" ? 0 : 1;
    const isWhole = Number.isInteger(value) || value === Number.POSITIVE_INFINITY;
    const fits = fractions.has(name) ? typeof value === "number" && value > 0 : isWhole && Number(value) >= least;
    const wanted = fractions.has(name) ? "a number above 0" : `a whole number from ${least}`;
    if (!fits) throw invalidOption(name, wanted, value, "of an agent");
    return [name, value] as const;
  });
  return Object.fromEntries(numbers) as T;
}

function readSuspended(given: SuspendedOptions = {}): KeptRuns {
  if (!isRecord(given)) throw invalidOption("suspended", "an object", given, "of an agent");
  const names: OptionNames<SuspendedOptions> = { limit: true, keepMs: true, leaseMs: true };
  assertOptionNames(given, names, "of suspended", "suspended");
  const kept = { ...keptDefaults, ...present(given) };
  if (!(Number.isInteger(kept.limit) && kept.limit > 0))
    throw invalidOption("suspended.limit", "a whole number from 1", kept.limit);
  for (const name of ["keepMs", "leaseMs"] as const) {
    if (!(Number.isFinite(kept[name]) && kept[name] > 0))
      throw invalidOption(`suspended.${name}`, "a finite number above 0", kept[name]);
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
  modelAttempts: true,
  modelTimeoutMs: true,
  maxRetryWaitMs: true,
  sampling: true,
  suspended: true,
  clock: true,
  random: true,
};
