import type { CallSettings } from "../core/call-settings.ts";
import type { Definition } from "../core/definition.ts";
import { RefusingRules } from "../core/name-rules.ts";
import type { Named } from "../core/rule-names.ts";

/** Settings that the toolkit has for all items that fit. */
export interface SettingsRule {
  readonly pattern: string;
  readonly settings: CallSettings;
}

/** A rule, and its form for an item that has a ref of the pattern as its own name: it may ask for more, and lifts nothing. */
interface KnownRule extends SettingsRule {
  readonly stricter: SettingsRule;
  /** Fits the items that the pattern names by their ref; undefined where it makes no difference. */
  readonly byRef: RefusingRules | undefined;
}

/** Finds the settings of calls. */
export class SettingsRules {
  /** Which items the settings are for. */
  readonly names: RefusingRules;
  readonly #rules: readonly KnownRule[];

  /** @param byName - for names, refs and globs on these; of several that fit, the later has the last word, setting by setting */
  constructor(byName: Readonly<Record<string, CallSettings>>) {
    this.#rules = Object.entries(byName).map(([pattern, settings]) => knownRule(pattern, settings));
    this.names = new RefusingRules(this.#rules.map(({ pattern }) => pattern));
  }

  /** The settings an item asks for itself, with those of the toolkit in their place. */
  of(item: Named, { options }: Definition): CallSettings {
    let settings: CallSettings = { ...options };
    for (const rule of this.#fitting(item)) {
      const asked = given(isFor(item, rule) ? rule.settings : rule.stricter.settings);
      const before = settings.needsApproval;
      settings = { ...settings, ...asked };
      // A function may ask for less than what it takes the place of.
      if (before && asked.needsApproval !== true && !isFor(item, rule))
        settings = { ...settings, needsApproval: before };
    }
    return settings;
  }

  /** The rules of the toolkit that fit an item, in order, as they hold for it. Each is the same object again. */
  rulesFor(item: Named): readonly SettingsRule[] {
    return this.#fitting(item).map((rule) => (isFor(item, rule) ? rule : rule.stricter));
  }

  #fitting(item: Named): readonly KnownRule[] {
    if (this.#rules.length === 0) return this.#rules;
    return this.names.positionsFor(item).flatMap((position) => this.#rules[position] ?? []);
  }
}

function knownRule(pattern: string, settings: CallSettings): KnownRule {
  const { needsApproval, rateLimit, maxConcurrent } = settings;
  const lifted = Object.entries({ needsApproval, rateLimit, maxConcurrent }).filter(([, value]) => value === false);
  const mayLift = lifted.length > 0 || typeof needsApproval === "function";
  const open = Object.fromEntries(lifted.map(([name]) => [name, undefined]));
  return {
    pattern,
    settings,
    stricter: lifted.length === 0 ? { pattern, settings } : { pattern, settings: { ...settings, ...open } },
    // Without a dot it is a name, which is meant in every namespace.
    byRef: mayLift && pattern.includes(".") ? new RefusingRules([pattern]) : undefined,
  };
}

/** Whether a rule that fits an item names it by its ref, or by a name that is meant in every namespace. */
function isFor({ kind, namespace, ref }: Named, { byRef }: KnownRule): boolean {
  return byRef === undefined || byRef.ruleFor({ kind, namespace, name: ref, ref }) !== undefined;
}

/** The settings without those that are left open. */
function given(settings: CallSettings): Partial<CallSettings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
