import type { Redactor } from "../redact.ts";

const quotedLength = 200;
/** The 1st is reported, the 101st, the 201st, ... */
const reportEvery = 100;

/** The texts of a server that should be messages and are none: a server may send millions, so few are reported. */
export class OddTexts {
  readonly #redactor: Redactor;
  readonly #verb: string;
  readonly #noun: string;
  #count = 0;
  #first: string | undefined;

  /** @param words - of the warning, such as `sent something` and `texts` */
  constructor(redactor: Redactor, words: { readonly verb: string; readonly noun: string }) {
    this.#redactor = redactor;
    this.#verb = words.verb;
    this.#noun = words.noun;
  }

  /** The beginning of the first, redacted. */
  get first(): string | undefined {
    return this.#first;
  }

  /** The warning of a text, which is redacted whole: of one that was cut, a part of a secret may be left. Undefined for most. */
  warningOf(text: string): string | undefined {
    if (this.#count++ % reportEvery !== 0) return undefined;
    const said = this.#redactor.text(text);
    const shown = said.length > quotedLength ? `${said.slice(0, quotedLength)}…` : said;
    this.#first ??= shown;
    return `It ${this.#verb} that is no message (${this.#count} ${this.#noun} so far): ${JSON.stringify(shown)}`;
  }
}
