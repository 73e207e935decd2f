import { StepBudget } from "./step-budget.ts";

/** The shortest secret that is looked for. */
export const minSecretLength = 6;
/** Secrets that have more in common than this are rare: credentials begin with their scheme. */
const longStart = 16;

const firstSteps = 1_000_000;
const stepsPerCharacter = 16;

/** The steps of a search in one text, or in all texts of one value: each text adds to them, and what takes more is masked whole. */
export function searchSteps(): StepBudget {
  return new StepBudget(firstSteps);
}

/**
 * Finds secrets in texts, in upper or lower case. To add one costs no more than its length, however many there are. A search takes a number
 * of steps that is linear in the text: strangers choose secrets and texts, and could choose texts that are almost secrets everywhere.
 */
export class SecretIndex {
  readonly #counts = new Map<string, number>();
  /** Secrets by how they begin, the longest first. */
  readonly #byStart = new Map<string, string[]>();
  /** The number of secrets whose first two characters have a number: most places of a text are no beginning of any. */
  readonly #beginnings = new Uint32Array(1_024);
  #longest: number | undefined = 0;

  /** The length of the longest secret. */
  get longest(): number {
    if (this.#longest === undefined) {
      this.#longest = 0;
      for (const { length } of this.#counts.keys()) this.#longest = Math.max(this.#longest, length);
    }
    return this.#longest;
  }

  /** Adds a secret of `minSecretLength` characters or more. Added twice, it has to be removed twice. */
  add(secret: string): void {
    const text = folded(secret);
    const count = this.#counts.get(text) ?? 0;
    this.#counts.set(text, count + 1);
    if (count > 0) return;
    const same = this.#byStart.get(startOf(text));
    if (same === undefined) this.#byStart.set(startOf(text), [text]);
    else insertByLength(same, text);
    this.#count(text, 1);
    if (this.#longest !== undefined) this.#longest = Math.max(this.#longest, text.length);
  }

  remove(secret: string): void {
    const text = folded(secret);
    const count = this.#counts.get(text) ?? 0;
    if (count > 1) this.#counts.set(text, count - 1);
    if (count !== 1) return;
    this.#counts.delete(text);
    const rest = this.#byStart.get(startOf(text))?.filter((each) => each !== text) ?? [];
    if (rest.length === 0) this.#byStart.delete(startOf(text));
    else this.#byStart.set(startOf(text), rest);
    this.#count(text, -1);
    if (text.length === this.#longest) this.#longest = undefined;
  }

  /** The text with a mask in place of each secret, of several that begin at one place the longest; the mask alone where the steps are spent. */
  mask(text: string, mask: string, steps: StepBudget): string {
    if (this.#counts.size === 0 || text.length < minSecretLength) return text;
    steps.grow(text.length * stepsPerCharacter);
    const searched = folded(text);
    let masked = "";
    let from = 0;
    for (let at = 0; at <= text.length - minSecretLength; ) {
      const length = this.#beginnings[beginning(searched, at)] === 0 ? 0 : this.#lengthAt(searched, at, steps);
      if (steps.isSpent) return mask;
      if (length > 0) {
        masked += text.slice(from, at) + mask;
        from = at + length;
      }
      at += Math.max(1, length);
    }
    return from === 0 ? text : masked + text.slice(from);
  }

  #count(text: string, change: 1 | -1): void {
    const place = beginning(text, 0);
    this.#beginnings[place] = (this.#beginnings[place] ?? 0) + change;
  }

  /** The length of the longest secret at a place; 0 where there is none. */
  #lengthAt(text: string, at: number, steps: StepBudget): number {
    const long = this.#byStart.get(text.slice(at, at + longStart));
    const found = long === undefined ? 0 : lengthOfOne(long, text, at, steps);
    if (found > 0) return found;
    const short = this.#byStart.get(text.slice(at, at + minSecretLength));
    return short === undefined ? 0 : lengthOfOne(short, text, at, steps);
  }
}

function lengthOfOne(secrets: readonly string[], text: string, at: number, steps: StepBudget): number {
  for (const secret of secrets) {
    let index = minSecretLength;
    while (index < secret.length && secret.charCodeAt(index) === text.charCodeAt(at + index)) index++;
    steps.count(index);
    if (index >= secret.length) return index;
    if (steps.isSpent) return 0;
  }
  return 0;
}

/** Long ones by more of their beginning, so that few are alike. */
function startOf(text: string): string {
  return text.slice(0, text.length < longStart ? minSecretLength : longStart);
}

function beginning(text: string, at: number): number {
  return (text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) & 1_023;
}

function insertByLength(texts: string[], text: string): void {
  const index = texts.findIndex(({ length }) => length <= text.length);
  texts.splice(index === -1 ? texts.length : index, 0, text);
}

/** In lower case, as long as before: only the dotted capital I becomes longer; a sigma has two forms. */
function folded(text: string): string {
  return text.replaceAll("\u0130", "I").toLowerCase().replaceAll("\u03c2", "\u03c3");
}
