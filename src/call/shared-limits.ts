import type { RateLimitSetting } from "../core/call-settings.ts";
import { ConcurrencyLimit, ConcurrencyQueue } from "../lib/concurrency-queue.ts";
import { OwnedWindows } from "../lib/sliding-window.ts";
import type { SettingsRule, SettingsRules } from "./settings-rules.ts";
import type { Target } from "./step.ts";

/** A rate limit, with the attempts it counts. */
export interface AttemptWindow {
  readonly counted: OwnedWindows;
  readonly per: "principal" | "all";
}

/** The limits on the attempts of one target. */
export interface TargetLimits {
  readonly windows: readonly AttemptWindow[];
  readonly concurrency: readonly ConcurrencyLimit[];
}

/** The limits that tools share: one of each kind for each rule, for all tools that it fits. */
export class SharedLimits {
  /** The number of calls that wait for a place. */
  queued = 0;
  readonly #settings: SettingsRules;
  readonly #maxQueued: number;
  readonly #windows = new WeakMap<SettingsRule, AttemptWindow>();
  readonly #concurrency = new WeakMap<SettingsRule, ConcurrencyLimit>();
  // By the last limit of each, which may be that of a tool that is removed.
  readonly #queues = new WeakMap<ConcurrencyLimit, Map<string, ConcurrencyQueue>>();
  #ranks = 0;

  /** @param maxQueued - the most that may wait in one queue */
  constructor(settings: SettingsRules, maxQueued: number) {
    this.#settings = settings;
    this.#maxQueued = maxQueued;
  }

  /** Every limit that holds for a target: its own and those of the rules that fit, unless a later one lifts those before it. */
  of({ entry, definition }: Target): TargetLimits {
    let windows: AttemptWindow[] = [];
    let concurrency: ConcurrencyLimit[] = [];
    const own: SettingsRule = { pattern: entry.ref, settings: definition.options ?? {} };
    for (const rule of [own, ...this.#settings.rulesFor(entry)]) {
      const { rateLimit, maxConcurrent } = rule.settings;
      if (rateLimit === false) windows = [];
      else if (rateLimit !== undefined) windows.push(this.#window(rule, rateLimit));
      if (maxConcurrent === false) concurrency = [];
      else if (maxConcurrent !== undefined) concurrency.push(this.#limit(rule, maxConcurrent));
    }
    return { windows, concurrency: concurrency.sort((a, b) => a.rank - b.rank) };
  }

  /** The queue for places under all these limits: the same for all targets that need the same. */
  queue(limits: readonly ConcurrencyLimit[]): ConcurrencyQueue | undefined {
    const last = limits.at(-1);
    if (last === undefined) return undefined;
    const queues = kept(this.#queues, last, () => new Map<string, ConcurrencyQueue>());
    return kept(queues, limits.map(({ rank }) => rank).join(), () => new ConcurrencyQueue(limits, this.#maxQueued));
  }

  #window(rule: SettingsRule, { calls, perMs, per = "principal" }: RateLimitSetting): AttemptWindow {
    return kept(this.#windows, rule, () => ({ counted: new OwnedWindows(calls, perMs), per }));
  }

  #limit(rule: SettingsRule, max: number): ConcurrencyLimit {
    return kept(this.#concurrency, rule, () => new ConcurrencyLimit(max, this.#ranks++));
  }
}

/** The value under a key, made now where there is none. */
function kept<K, V>(map: { get(key: K): V | undefined; set(key: K, value: V): unknown }, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
