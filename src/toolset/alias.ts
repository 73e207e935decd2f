import { builtinNamespace, inlineNamespace } from "../core/identifier.ts";
import type { Entry } from "../core/item.ts";
import { digest } from "../lib/canonical.ts";

/** OpenAI and Bedrock accept 64 characters; Gemini wants a letter or `_` first. */
const maxLength = 63;
const startHash = 8;

/**
 * Gives each entry a distinct name that models accept: `^[A-Za-z_][A-Za-z0-9_-]{0,62}$`. A builtin or inline tool keeps its name, another
 * becomes `namespace__name`. A name that is too long or taken is cut and gets a hash of its kind and ref. The aliases depend on the set of
 * entries, not on their order.
 *
 * @param reserved - names that no entry gets
 */
export function aliasesOf<E extends Entry>(
  entries: readonly E[],
  reserved: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, E> {
  const wanted = entries.map((entry) => [entry, plainAlias(entry)] as const);
  const seen = new Set<string>();
  const clashing = new Set(wanted.map(([, alias]) => alias).filter((alias) => seen.size === seen.add(alias).size));
  const aliases = new Map<string, E>();
  const hashed: E[] = [];
  for (const [entry, alias] of wanted) {
    if (isShort(alias) && !reserved.has(alias) && (!clashing.has(alias) || keepsName(entry, alias)))
      aliases.set(alias, entry);
    else hashed.push(entry);
  }
  for (const entry of hashed.sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1)))
    aliases.set(hashedAlias(entry, aliases), entry);
  return aliases;
}

function plainAlias({ namespace, name }: Entry): string {
  const isBare = namespace === builtinNamespace || namespace === inlineNamespace;
  const text = isBare ? name : `${namespace}__${name}`;
  const safe = text.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return /^[A-Za-z_]/.test(safe) ? safe : `_${safe}`;
}

function isShort(alias: string): boolean {
  return alias.length <= maxLength;
}

/** A namespace may have a tool and a prompt of one name: of the builtins the tool keeps it. */
function keepsName({ namespace, kind, name }: Entry, alias: string): boolean {
  return namespace === builtinNamespace && kind === "tool" && alias === name;
}

function hashedAlias(entry: Entry, taken: ReadonlyMap<string, unknown>): string {
  const plain = plainAlias(entry);
  const hash = digest(idOf(entry)).replaceAll(/[^A-Za-z0-9]/g, "0");
  for (let length = startHash; ; length += 4) {
    const alias = `${plain.slice(0, maxLength - 1 - length)}_${hash.slice(0, length)}`;
    if (!taken.has(alias)) return alias;
  }
}

function idOf({ kind, ref }: Entry): string {
  return `${kind} ${ref}`;
}
