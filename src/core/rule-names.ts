import { dereferencedUri, lenientUri, uriKey } from "../lib/uri.ts";
import { templateOf } from "./entry.ts";
import { isUri } from "./identifier.ts";
import type { Entry } from "./item.ts";

/** An item, as far as rules know it. */
export type Named = Pick<Entry, "kind" | "namespace" | "name" | "ref">;

/** The texts that rules are compared with. */
export interface RuleNames {
  /** Of the item in every way in which it may be named: a refusing rule that fits one of them fits the item. */
  readonly all: readonly string[];
  /** The ref, of a resource with its URI in each of its readings: a choosing glob must fit all of them. */
  readonly refs: readonly [string, ...string[]];
  /** The name that `lookup` takes without a namespace: of a resource its URI. */
  readonly bare: string;
}

const known = new WeakMap<Named, RuleNames>();

/** The texts that rules are compared with for an item. The same object at each call. */
export function ruleNamesOf(item: Named): RuleNames {
  let names = known.get(item);
  if (names === undefined) {
    names = isAddressed(item)
      ? namesOfUri(item)
      : { all: composed([item.ref, item.name]), refs: [item.ref], bare: item.name };
    known.set(item, names);
  }
  return names;
}

/** True for a resource or template: it is named by its URI. */
export function isAddressed({ kind }: Pick<Named, "kind">): boolean {
  return kind === "resource" || kind === "template";
}

/** The readings of a rule that refuses: as it is written, and of a URI its key and its most lenient form. */
export function readingsOf(rule: string): readonly string[] {
  return composed(isUri(rule) ? [rule, uriKey(rule), lenientUri(rule)] : [rule]);
}

/** The texts, each once, and in the form in which a letter with an accent is one character: both are written alike. */
function composed(texts: readonly string[]): readonly string[] {
  return [...new Set([...texts, ...texts.map((text) => text.normalize("NFC"))])];
}

function namesOfUri(item: Named): RuleNames {
  const { ref, name, namespace } = item;
  const uri = ref.slice(0, -namespace.length - 1);
  const readings = [uriKey(uri), lenientUri(uri), lenientUri(dereferencedUri(uri))] as const;
  const inNamespace = (each: string) => `${each}#${namespace}`;
  const template = templateOf(item as Entry);
  // Rules that refuse a template refuse what it makes.
  const ofTemplate = template === undefined ? [] : ruleNamesOf(template).all;
  const all = [ref, uri, name, ...readings, ...readings.map(inNamespace), ...ofTemplate];
  const [key, ...lenient] = readings;
  return { all: composed(all), refs: [inNamespace(key), ...lenient.map(inNamespace)], bare: key };
}
