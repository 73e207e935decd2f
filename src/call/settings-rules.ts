import type { CallSettings } from "../core/call-settings.ts";
import type { Definition } from "../core/definition.ts";
import { type Glob, glob } from "../lib/glob.ts";

/** What the toolkit says of all refs that fit. */
export interface SettingsRule {
  readonly pattern: string;
  readonly settings: CallSettings;
}

/** Finds the settings of whatever is called. */
export class SettingsRules {
  readonly #rules: readonly (readonly [fits: Glob, rule: SettingsRule])[];

  /** @param byGlob - for refs; of several that fit, the later has the last word, setting by setting */
  constructor(byGlob: Readonly<Record<string, CallSettings>>) {
    this.#rules = Object.entries(byGlob).map(([pattern, settings]) => [glob(pattern), { pattern, settings }]);
  }

  /** What an item asks for itself, with what the toolkit says in its place. */
  of(ref: string, { options }: Definition): CallSettings {
    return Object.assign({}, options, ...this.rulesFor(ref).map(({ settings }) => given(settings)));
  }

  /** What the toolkit says of a ref, in order. Each is the same object again. */
  rulesFor(ref: string): readonly SettingsRule[] {
    return this.#rules.filter(([fits]) => fits(ref)).map(([, rule]) => rule);
  }
}

/** Without what is left open. */
function given(settings: CallSettings): Partial<CallSettings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
