import type { CallSettings } from "../core/call-settings.ts";
import type { Definition } from "../core/definition.ts";
import { RefusingRules } from "../core/name-rules.ts";
import type { Named } from "../core/rule-names.ts";

/** Settings that the toolkit has for all items that fit. */
export interface SettingsRule {
  readonly pattern: string;
  readonly settings: CallSettings;
}

/** Finds the settings of calls. */
export class SettingsRules {
  /** Which items the settings are for. */
  readonly names: RefusingRules;
  readonly #rules: readonly SettingsRule[];

  /** @param byName - for names, refs and globs on these; of several that fit, the later has the last word, setting by setting */
  constructor(byName: Readonly<Record<string, CallSettings>>) {
    this.#rules = Object.entries(byName).map(([pattern, settings]) => ({ pattern, settings }));
    this.names = new RefusingRules(this.#rules.map(({ pattern }) => pattern));
  }

  /** The settings an item asks for itself, with those of the toolkit in their place. */
  of(item: Named, { options }: Definition): CallSettings {
    const settings: CallSettings = { ...options };
    for (const rule of this.rulesFor(item)) Object.assign(settings, given(rule.settings));
    return settings;
  }

  /** The rules of the toolkit that fit an item, in order. Each is the same object again. */
  rulesFor(item: Named): readonly SettingsRule[] {
    if (this.#rules.length === 0) return this.#rules;
    return this.names.positionsFor(item).flatMap((position) => this.#rules[position] ?? []);
  }
}

/** The settings without those that are left open. */
function given(settings: CallSettings): Partial<CallSettings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
