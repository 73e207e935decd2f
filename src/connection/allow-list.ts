import type { ConnectorRefusal } from "../core/definition.ts";
import { refOf } from "../core/entry.ts";
import type { Kind } from "../core/item.ts";
import { assertRules, ChoosingRules, emptyScope } from "../core/name-rules.ts";
import { invalidOption } from "../core/options.ts";
import { denied } from "../core/policy.ts";
import { isGlob } from "../lib/glob.ts";
import { nearest, orDidYouMean } from "../lib/similar.ts";

/** An item of a server, by its name or URI there. */
export interface ServerItem {
  readonly kind: Kind;
  /** The URI of a resource or template, else the name. */
  readonly key: string;
  readonly name: string;
}

/** The items that a connector may be used for: its option `allow`. */
export interface AllowList {
  /** The reason why an item is refused; undefined where it is not. */
  refusal(item: ServerItem): ConnectorRefusal | undefined;
  /** The rule that refuses a resource that an allowed template made: where a glob allows the template, it must fit the URI too. */
  refusalOf(uri: string, template: ServerItem): ConnectorRefusal | undefined;
  /** The warning about what is in the list and allows none of all items that the server has; undefined where there is no such thing. */
  warning(items: () => readonly ServerItem[]): string | undefined;
}

// Stands for the namespace, which may not be known yet.
const own = "own";

/** So many of a list are named in a warning, and looked for among what there is. */
const maxNamed = 20;

const everything: AllowList = { refusal: () => undefined, refusalOf: () => undefined, warning: () => undefined };

/**
 * Reads the list of what a connector may be used for. Of an untrusted one without a list that is nothing.
 *
 * @throws ToolkitError `INVALID_CONFIG`
 */
export function readAllow({
  trust = "standard",
  allow,
}: {
  readonly trust?: "standard" | "untrusted" | undefined;
  readonly allow?: readonly string[] | undefined;
}): AllowList {
  if (trust !== "standard" && trust !== "untrusted") {
    throw invalidOption("trust", '"standard" or "untrusted"', trust, "of a connector");
  }
  assertRules(allow, "allow", "of a connector");
  if (allow === undefined && trust === "standard") return everything;
  const list = [...(allow ?? [])];
  const rules = new ChoosingRules(list.flatMap(ownRefs));
  const rule = `allow of its connector: ${list.length === 0 ? "nothing" : list.join(", ")}`;
  const refusal: ConnectorRefusal = { at: "allow", rule, error: (ref) => denied(ref, rule) };
  const ruleFor = (item: ServerItem) => rules.ruleFor(named(item), emptyScope);
  return {
    refusal: (item) => (ruleFor(item) === undefined ? refusal : undefined),
    refusalOf: (uri, template) => {
      const isNamed = !isGlob(ruleFor(template) ?? "*");
      return isNamed || ruleFor({ kind: "resource", key: uri, name: template.name }) !== undefined
        ? undefined
        : refusal;
    },
    warning: (items) => warningOf(list, rules, items()),
  };
}

function named({ kind, key, name }: ServerItem) {
  return { kind, namespace: own, name, ref: refOf(kind, own, key) };
}

/** The refs that an entry of the list means: of tools and prompts by name, or of resources by URI. */
function ownRefs(text: string): readonly string[] {
  if (isEverything(text)) return [text === "*" ? "***" : text];
  if (!text.includes(":")) return [`${own}.${text}`];
  // The server chooses the names of its tools too: none is to be taken for a URI.
  return isGlob(text) ? [`${text}#${own}`] : [`${own}.${text}`, `${text}#${own}`];
}

function isEverything(text: string): boolean {
  return /^\*+$/.test(text);
}

/** The entries of a list that allow none of the items. */
function unusedOf(list: readonly string[], rules: ChoosingRules, items: readonly ServerItem[]): readonly string[] {
  const all = items.map(named);
  const unusedRefs = new Set(rules.unused(all, emptyScope));
  const isUnused = (text: string) => {
    if (isEverything(text)) return false;
    if (!isGlob(text)) return ownRefs(text).every((ref) => unusedRefs.has(ref));
    const globs = new ChoosingRules(ownRefs(text));
    return !all.some((item) => globs.ruleFor(item, emptyScope) !== undefined);
  };
  return [...new Set(list)].filter(isUnused);
}

function warningOf(list: readonly string[], rules: ChoosingRules, items: readonly ServerItem[]): string | undefined {
  const unused = unusedOf(list, rules, items);
  if (unused.length === 0) return undefined;
  const keys = [...new Set(items.map(({ key }) => key))];
  const named = unused.slice(0, maxNamed);
  const meant = new Set(named.flatMap((text) => (isGlob(text) ? [] : nearest(text, keys, 1))));
  const more = unused.length > maxNamed ? ` and ${unused.length - maxNamed} more` : "";
  const names = named.map((text) => JSON.stringify(text)).join(", ") + more;
  return `allow names ${names}, and the server lists no such item: it allows nothing.${orDidYouMean([...meant])}`;
}
