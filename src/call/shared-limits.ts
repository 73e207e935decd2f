import type { CallSettings } from "../core/call-settings.ts";
import { ConcurrencyLimit, ConcurrencyQueue } from "../lib/concurrency-queue.ts";
import { SlidingWindow } from "../lib/sliding-window.ts";
import type { SettingsRule, SettingsRules } from "./settings-rules.ts";
import type { Target } from "./step.ts";

/** What limits the attempts of one target. */
export interface TargetLimits {
  readonly windows: readonly SlidingWindow[];
  readonly bounds: readonly ConcurrencyLimit[];
}

/** The limits that tools share: one of each kind for each rule, whatever fits it. */
export class SharedLimits {
  /** How many calls wait for a place. */
  queued = 0;
  readonly #settings: SettingsRules;
  readonly #maxQueued: number;
  readonly #windows = new WeakMap<SettingsRule, SlidingWindow>();
  readonly #bounds = new WeakMap<SettingsRule, ConcurrencyLimit>();
  // By the last bound of each, which may be that of a tool that goes away.
  readonly #lanes = new WeakMap<ConcurrencyLimit, Map<string, ConcurrencyQueue>>();
  #ranks = 0;

  /** @param maxQueued - how many may wait for a place in one lane */
  constructor(settings: SettingsRules, maxQueued: number) {
    this.#settings = settings;
    this.#maxQueued = maxQueued;
  }

  /** Every limit that holds for a target: its own and those of the rules that fit, unless a later one lifts those before it. */
  of({ entry, definition }: Target): TargetLimits {
    let windows: SlidingWindow[] = [];
    let bounds: ConcurrencyLimit[] = [];
    const own: SettingsRule = { pattern: entry.ref, settings: definition.options ?? {} };
    for (const rule of [own, ...this.#settings.rulesFor(entry)]) {
      const { rateLimit, maxConcurrent } = rule.settings;
      if (rateLimit === false) windows = [];
      else if (rateLimit !== undefined) windows.push(this.#window(rule, rateLimit));
      if (maxConcurrent === false) bounds = [];
      else if (maxConcurrent !== undefined) bounds.push(this.#bound(rule, maxConcurrent));
    }
    return { windows, bounds: bounds.sort((a, b) => a.rank - b.rank) };
  }

  /** Where to wait for places of all these: the same for all that need the same. */
  lane(bounds: readonly ConcurrencyLimit[]): ConcurrencyQueue | undefined {
    const last = bounds.at(-1);
    if (last === undefined) return undefined;
    const lanes = kept(this.#lanes, last, () => new Map<string, ConcurrencyQueue>());
    return kept(lanes, bounds.map(({ rank }) => rank).join(), () => new ConcurrencyQueue(bounds, this.#maxQueued));
  }

  #window(rule: SettingsRule, { calls, perMs }: NonNullable<Exclude<CallSettings["rateLimit"], false>>): SlidingWindow {
    return kept(this.#windows, rule, () => new SlidingWindow(calls, perMs));
  }

  #bound(rule: SettingsRule, max: number): ConcurrencyLimit {
    return kept(this.#bounds, rule, () => new ConcurrencyLimit(max, this.#ranks++));
  }
}

/** What is there under a key, or is made for it now. */
function kept<K, V>(map: { get(key: K): V | undefined; set(key: K, value: V): unknown }, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
