import type { CallSettings } from "../core/call-settings.ts";
import type { Definition } from "../core/definition.ts";
import { type Glob, glob } from "../lib/glob.ts";

/** Finds the settings of whatever is called. */
export class Settings {
  readonly #rules: readonly (readonly [fits: Glob, settings: CallSettings])[];

  /** @param byGlob - for refs; of several that fit, the later has the last word, setting by setting */
  constructor(byGlob: Readonly<Record<string, CallSettings>>) {
    this.#rules = Object.entries(byGlob).map(([pattern, settings]) => [glob(pattern), settings]);
  }

  /** What an item asks for itself, with what the toolkit says in its place. */
  of(ref: string, { options }: Definition): CallSettings {
    const ruled = this.#rules.filter(([fits]) => fits(ref)).map(([, settings]) => given(settings));
    return Object.assign({}, options, ...ruled);
  }
}

/** Without what is left open. */
function given(settings: CallSettings): Partial<CallSettings> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
