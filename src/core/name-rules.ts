import { type Glob, glob, isGlob } from "../lib/glob.ts";
import { lenientUri, uriKey } from "../lib/uri.ts";
import { builtinNamespace, inlineNamespace, isUri, userNamespace } from "./identifier.ts";
import type { Entry } from "./item.ts";
import { invalidOption } from "./options.ts";
import { isAddressed, type Named, type RuleNames, readingsOf, ruleNamesOf } from "./rule-names.ts";

/** Finds what names mean now. */
export interface NameScope {
  /**
   * The item that `lookup` finds for everybody, without waiting: undefined where nothing has the name, `undecided` while a namespace that
   * goes first may still come to have it, and where `strictNames` refuses a name of several.
   */
  meaning(key: string): Entry | "undecided" | undefined;
}

/** A scope in which no name means anything. */
export const emptyScope: NameScope = { meaning: () => undefined };

const none: readonly number[] = [];

/** Texts of rules by their readings, so that a name is found without a look at each rule. */
class RuleIndex {
  readonly #positions = new Map<string, number[]>();

  constructor(texts: readonly string[], readings: (text: string) => readonly string[]) {
    for (const [position, text] of texts.entries()) {
      if (isGlob(text)) continue;
      for (const reading of readings(text)) {
        const positions = this.#positions.get(reading);
        if (positions === undefined) this.#positions.set(reading, [position]);
        else positions.push(position);
      }
    }
  }

  /** Where the rules stand that say one of these names, in no order. */
  of(names: readonly string[]): readonly number[] {
    return names.flatMap((name) => this.#positions.get(name) ?? []);
  }
}

/**
 * Rules that refuse: of `block`, `exclude` and `settings`. Each fits the items whose ref or name it is, in every namespace, or is a glob on
 * these; of resources the URI, however it is written. What it fits depends on the item alone.
 */
export class RefusingRules {
  readonly texts: readonly string[];
  readonly #index: RuleIndex;
  readonly #globs: readonly (readonly [position: number, fits: Glob])[];
  readonly #fitting = new WeakMap<Named, readonly number[]>();

  constructor(texts: readonly string[]) {
    this.texts = texts;
    this.#index = new RuleIndex(texts, readingsOf);
    this.#globs = [...texts.entries()].flatMap(([position, text]) =>
      isGlob(text) ? readingsOf(text).map((reading) => [position, glob(reading)] as const) : [],
    );
  }

  /** Where the rules stand that fit an item, in ascending order. The same array at each call. */
  positionsFor(item: Named): readonly number[] {
    if (this.texts.length === 0) return none;
    let fitting = this.#fitting.get(item);
    if (fitting === undefined) {
      const { all } = ruleNamesOf(item);
      const found = new Set(this.#index.of(all));
      for (const [position, fits] of this.#globs) if (!found.has(position) && all.some(fits)) found.add(position);
      fitting = [...found].sort((a, b) => a - b);
      this.#fitting.set(item, fitting);
    }
    return fitting;
  }

  /** The first rule that fits an item, as it is written. */
  ruleFor(item: Named): string | undefined {
    const [first] = this.positionsFor(item);
    return first === undefined ? undefined : this.texts[first];
  }

  /** The names that none of the items has. Globs may fit nothing. */
  unused(items: Iterable<Named>): readonly string[] {
    const used = new Set<number>();
    for (const item of items) for (const position of this.#index.of(ruleNamesOf(item).all)) used.add(position);
    return this.texts.filter((text, position) => !isGlob(text) && !used.has(position));
  }
}

/**
 * Rules that choose: of `include`, `allow` and `tools`. Each is a ref, a glob on refs, or a bare name, which means what `lookup` finds, so
 * that no item is chosen for having the name of another; a bare glob means builtins.
 */
export class ChoosingRules {
  readonly texts: readonly string[];
  readonly #index: RuleIndex;
  readonly #globs: readonly (readonly [position: number, fits: ItemGlob])[];
  /** By item: the rule that chooses it, and names that do so as long as `lookup` finds it. */
  readonly #chosen = new WeakMap<Named, Choice>();

  constructor(texts: readonly string[]) {
    this.texts = texts;
    this.#index = new RuleIndex(texts, (text) => (isUri(text) ? [...new Set([text, uriKey(text)])] : [text]));
    this.#globs = [...texts.entries()].flatMap(([position, text]) =>
      isGlob(text) ? [[position, itemGlob(text)] as const] : [],
    );
  }

  /** The first rule that chooses an item, as it is written. */
  ruleFor(item: Named, scope: NameScope): string | undefined {
    const { rule, names } = this.#choiceOf(item);
    return rule ?? names.find((name) => isSame(scope.meaning(name), item));
  }

  /** True where it depends on what `lookup` finds whether an item is chosen: it may be another one each time. */
  isOpen(item: Named): boolean {
    const { rule, names } = this.#choiceOf(item);
    return rule === undefined && names.length > 0;
  }

  /** The names of rules an item has, whatever `lookup` finds. */
  namesFor(item: Named): readonly string[] {
    return this.#choiceOf(item).names;
  }

  /** True where something in a namespace may be chosen. */
  mayChooseIn(namespace: string, scope: NameScope): boolean {
    return this.texts.some((text) => mayBeIn(text, namespace, scope));
  }

  /** True where nothing in a namespace is ever chosen, whatever `lookup` finds. */
  neverChoosesIn(namespace: string): boolean {
    return this.texts.every(isGlob) && !this.mayChooseIn(namespace, emptyScope);
  }

  /** The names that choose nothing. Globs may. */
  unused(items: Iterable<Named>, scope: NameScope): readonly string[] {
    const used = new Set<number>();
    for (const item of items) for (const position of this.#index.of([item.ref])) used.add(position);
    const means = (name: string) => typeof scope.meaning(name) === "object";
    return this.texts.filter((text, position) => !isGlob(text) && !used.has(position) && !means(text));
  }

  #choiceOf(item: Named): Choice {
    let choice = this.#chosen.get(item);
    if (choice === undefined) {
      const names = ruleNamesOf(item);
      const byRef = this.#index.of([item.ref, names.refs[0]]);
      const byGlob = this.#globs.filter(([, fits]) => fits(item, names)).map(([position]) => position);
      const first = Math.min(...byRef, ...byGlob);
      choice = { rule: this.texts[first], names: this.#index.of([names.bare]).map((at) => this.texts[at] ?? "") };
      this.#chosen.set(item, choice);
    }
    return choice;
  }
}

interface Choice {
  readonly rule: string | undefined;
  readonly names: readonly string[];
}

type ItemGlob = (item: Named, names: RuleNames) => boolean;

/**
 * A glob that chooses. It is compared with the refs of tools and prompts, or of resources where it has a character that only URIs have: the
 * server of a resource chooses its URI, and must not choose one that looks like a ref of another namespace.
 */
function itemGlob(pattern: string): ItemGlob {
  if (isEverything(pattern)) return () => true;
  const fits = glob(pattern);
  if (!/[.:/#]/.test(pattern)) {
    return (item) => item.namespace === builtinNamespace && !isAddressed(item) && fits(item.name);
  }
  const isOfNames = !pattern.includes("#");
  const isOfUris = /[:/#]/.test(pattern);
  const byKey = glob(isUri(pattern) ? uriKey(pattern) : pattern);
  const lenient = glob(isUri(pattern) ? lenientUri(pattern) : pattern);
  return (item, { refs: [key, ...readings] }) =>
    isAddressed(item) ? isOfUris && byKey(key) && readings.every(lenient) : isOfNames && fits(item.ref);
}

function isEverything(pattern: string): boolean {
  return /^\*+$/.test(pattern);
}

/** Whether an item is the one that a name means. What belongs to one caller alone comes after everything that all have. */
function isSame(meant: Entry | "undecided" | undefined, item: Named): boolean {
  if (meant === "undecided") return false;
  if (meant === undefined) return item.namespace === userNamespace || item.namespace === inlineNamespace;
  return meant.namespace === item.namespace && isAddressed(meant) === isAddressed(item);
}

function mayBeIn(text: string, namespace: string, scope: NameScope): boolean {
  const hash = text.lastIndexOf("#");
  if (!isGlob(text)) {
    if (text.startsWith(`${namespace}.`) || (hash >= 0 && text.slice(hash + 1) === namespace)) return true;
    const meant = scope.meaning(text);
    return typeof meant === "object" && meant.namespace === namespace;
  }
  if (hash >= 0) return glob(text.slice(hash + 1))(namespace);
  if (isEverything(text) || /[:/]/.test(text)) return true;
  const dot = text.indexOf(".");
  if (dot < 0) return namespace === builtinNamespace;
  const star = text.indexOf("*");
  // A `*` before the dot may stand for a dot as well.
  return glob(star >= 0 && star < dot ? text.slice(0, star + 1) : text.slice(0, dot))(namespace);
}

/** Whether a ref of a tool or prompt fits a glob that chooses. */
export function choosesRef(pattern: string): (ref: string) => boolean {
  const fits = itemGlob(pattern);
  return (ref) => {
    const dot = ref.indexOf(".");
    const item: Named = { kind: "tool", namespace: ref.slice(0, dot), name: ref.slice(dot + 1), ref };
    return fits(item, ruleNamesOf(item));
  };
}

/**
 * @param path - where the rules stand
 * @param owner - whose they are, for the message: `of a view`
 * @throws ToolkitError `INVALID_CONFIG` for what is no list of rules
 */
export function assertRules(rules: unknown, path: string, owner?: string): void {
  const isRule = (text: unknown) => typeof text === "string" && text !== "";
  if (rules === undefined || (Array.isArray(rules) && rules.every(isRule))) return;
  throw invalidOption(path, "a list of names, refs or globs, none of them empty", rules, owner);
}
