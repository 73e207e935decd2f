import type { Definition } from "../core/definition.ts";
import { definitionOf } from "../core/entry.ts";
import { builtinNamespace, inlineNamespace } from "../core/identifier.ts";
import type { Entry } from "../core/item.ts";
import { mapChildren } from "../core/schema/children.ts";
import { digest } from "../lib/canonical.ts";
import { isRecord } from "../lib/value.ts";
import type { ToolDefinitionForModel, ToolEntry } from "./toolset-types.ts";

const known = new WeakMap<Definition, ToolDefinitionForModel>();

/** The definition of a tool for a model. The same object for the same tool under the same alias, from toolset to toolset. */
export function definitionFor(alias: string, entry: ToolEntry): ToolDefinitionForModel {
  const definition = definitionOf(entry);
  const before = known.get(definition);
  if (before?.name === alias) return before;
  const { description, title, input = { type: "object" } } = definition;
  const inputSchema = input.type === "object" ? input : { ...input, type: "object" };
  const made = Object.freeze({ name: alias, description: description ?? title, inputSchema });
  known.set(definition, made);
  return made;
}

/** Limits of shortened descriptions, in characters. */
const maxToolCharacters = 200;
const maxMemberCharacters = 100;

const knownShort = new WeakMap<ToolDefinitionForModel, ToolDefinitionForModel>();

/**
 * A definition with less text: the first sentence of each description, of 200 characters at most for the tool and 100 for a property; its
 * schema without titles, examples and comments. Constraints stay.
 */
export function shortened(definition: ToolDefinitionForModel): ToolDefinitionForModel {
  let short = knownShort.get(definition);
  if (short === undefined) {
    const { name, description, inputSchema } = definition;
    const sentence = description === undefined ? undefined : firstSentence(description, maxToolCharacters);
    const { description: _, ...schema } = bare(inputSchema) as Readonly<Record<string, unknown>>;
    short = Object.freeze({ name, description: sentence, inputSchema: Object.freeze(schema) });
    knownShort.set(definition, short);
  }
  return short;
}

/** The first sentence of a text, cut at a blank where it is too long. */
export function firstSentence(text: string, maxCharacters: number): string {
  const plain = text.replaceAll(/\s+/g, " ").trim();
  const sentence = /^.*?[.!?。](?= |$)/.exec(plain)?.[0] ?? plain;
  if (sentence.length <= maxCharacters) return sentence;
  const cut = sentence.slice(0, maxCharacters - 1);
  const blank = cut.lastIndexOf(" ");
  return `${blank > maxCharacters / 2 ? cut.slice(0, blank) : cut}…`;
}

const dispensable = new Set(["title", "examples", "$comment"]);
/** Schemas inside more others stay as they are: those of servers may be nested so deep that to go into them all would end the stack. */
const maxDepth = 100;

function bare(schema: unknown, depth = 0): unknown {
  if (!isRecord(schema) || depth > maxDepth) return schema;
  const entries = Object.entries(mapChildren(schema, "", (child) => bare(child, depth + 1))).flatMap(
    ([keyword, value]) => {
      if (dispensable.has(keyword)) return [];
      const isText = keyword === "description" && typeof value === "string";
      return [[keyword, isText ? firstSentence(value, maxMemberCharacters) : value]];
    },
  );
  return Object.fromEntries(entries);
}

/**
 * The guidance of tools as sections of a system prompt: on their use (`guidance`), or on reading their results (`formatGuidance`).
 *
 * @param wanted - aliases. Default: all
 */
export function guidanceOf(
  entries: Iterable<readonly [alias: string, entry: ToolEntry]>,
  option: "guidance" | "formatGuidance",
  wanted?: readonly string[],
): string {
  // Tools with the same text, as those of a pack have, share a section.
  const byText = new Map<string, string[]>();
  for (const [alias, entry] of entries) {
    if (wanted?.includes(alias) === false) continue;
    const text = definitionOf(entry).options?.[option]?.trim();
    if (text === undefined || text === "") continue;
    byText.set(text, [...(byText.get(text) ?? []), alias]);
  }
  return [...byText].map(([text, aliases]) => `## ${aliases.join(", ")}\n\n${text}`).join("\n\n");
}

/** OpenAI and Bedrock accept 64 characters; Gemini wants a letter or `_` first. */
const maxAlias = 63;
const startHash = 8;

/**
 * Gives each entry a distinct name that models accept: `^[A-Za-z_][A-Za-z0-9_-]{0,62}$`. A builtin or inline tool keeps its name, another
 * becomes `namespace__name`. A name that is too long or taken is cut and gets a hash of its kind and ref; of several that want one name, the
 * one that had to be changed least keeps it. The aliases depend on the set of entries, not on their order.
 *
 * @param reserved - names that no entry gets
 */
export function aliasesOf<E extends Entry>(
  entries: readonly E[],
  reserved: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, E> {
  const wanted: (readonly [E, string])[] = [];
  const seen = new Set<string>();
  const clashing = new Set<string>();
  /** Of each name those that have it as it is. */
  const unchanged = new Map<string, E[]>();
  for (const entry of entries) {
    const alias = plainAlias(entry);
    if (seen.has(alias)) clashing.add(alias);
    seen.add(alias);
    wanted.push([entry, alias]);
    if (textOf(entry) === alias) unchanged.set(alias, [...(unchanged.get(alias) ?? []), entry]);
  }
  const aliases = new Map<string, E>();
  const hashed: E[] = [];
  for (const [entry, alias] of wanted) {
    if (
      alias.length <= maxAlias &&
      !reserved.has(alias) &&
      (!clashing.has(alias) || keepsName(entry, unchanged.get(alias)))
    )
      aliases.set(alias, entry);
    else hashed.push(entry);
  }
  for (const entry of hashed.sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1)))
    aliases.set(hashedAlias(entry, aliases), entry);
  return aliases;
}

function textOf({ namespace, name }: Entry): string {
  const isBare = namespace === builtinNamespace || namespace === inlineNamespace;
  return isBare ? name : `${namespace}__${name}`;
}

function plainAlias(entry: Entry): string {
  const safe = textOf(entry).replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return /^[A-Za-z_]/.test(safe) ? safe : `_${safe}`;
}

/**
 * True for the one entry whose name needed no change, though it is that of others too. Of several it is the builtin tool: a namespace may
 * have a tool and a prompt of one name.
 */
function keepsName(entry: Entry, unchanged: readonly Entry[] = []): boolean {
  if (!unchanged.includes(entry)) return false;
  return unchanged.length === 1 || (entry.namespace === builtinNamespace && entry.kind === "tool");
}

function hashedAlias(entry: Entry, taken: ReadonlyMap<string, unknown>): string {
  const plain = plainAlias(entry);
  const hash = digest(idOf(entry)).replaceAll(/[^A-Za-z0-9]/g, "0");
  for (let length = startHash; ; length += 4) {
    const alias = `${plain.slice(0, maxAlias - 1 - length)}_${hash.slice(0, length)}`;
    if (!taken.has(alias)) return alias;
  }
}

function idOf({ kind, ref }: Entry): string {
  return `${kind} ${ref}`;
}
