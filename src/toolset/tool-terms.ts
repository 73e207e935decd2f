import type { Definition } from "../core/definition.ts";
import { definitionOf } from "../core/entry.ts";
import { isRecord } from "../lib/value.ts";
import { wordsOf } from "../lib/words.ts";
import type { ToolEntry } from "./toolset-types.ts";

/** The terms of one tool, each with its weight: the more, the more the tool is about it. */
export type ToolTerms = ReadonlyMap<string, number>;

/** A part of a tool that is searched. */
interface Field {
  readonly weight: number;
  /** The number of words that is usual: in a longer text each counts less. Undefined where the length says nothing. */
  readonly usualWords: number | undefined;
}

const fields = {
  name: { weight: 4, usualWords: undefined },
  description: { weight: 1, usualWords: 25 },
  parameters: { weight: 0.5, usualWords: 5 },
  parameterTexts: { weight: 0.2, usualWords: 15 },
} satisfies Readonly<Record<string, Field>>;

/** The part of a word's weight that follows from the length of its text. */
const lengthPart = 0.5;

// Texts of strangers are read so far, in characters, and a schema for so many of its parts.
const maxNameCharacters = 400;
const maxTextCharacters = 4_000;
const maxSchemas = 300;

const known = new WeakMap<Definition, { readonly alias: string; readonly terms: ToolTerms }>();

/** The terms of a tool under its alias. The same object for the same tool, from toolset to toolset. */
export function toolTerms(alias: string, entry: ToolEntry): ToolTerms {
  const definition = definitionOf(entry);
  const before = known.get(definition);
  if (before?.alias === alias) return before.terms;
  const terms = termsOf(alias, definition);
  known.set(definition, { alias, terms });
  return terms;
}

/** The words by which a server describes itself, each once. */
export function serverTerms(texts: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(texts.flatMap((text = "") => wordsOf(text, maxTextCharacters / 4)));
}

function termsOf(alias: string, { name, title = "", description = "", input }: Definition): ToolTerms {
  const terms = new Map<string, number>();
  const add = (words: readonly string[], { weight, usualWords }: Field) => {
    // By powers of two: one word more or less decides nothing.
    const rounded = 2 ** Math.round(Math.log2(Math.max(1, words.length)));
    const length = usualWords === undefined ? 1 : 1 - lengthPart + (lengthPart * rounded) / usualWords;
    for (const word of words) terms.set(word, (terms.get(word) ?? 0) + weight / length);
  };
  const { names, texts } = parametersOf(input);
  // The alias has the namespace, and may have lost the end of the name.
  const named = [alias, name, title].flatMap((text) => wordsOf(text, maxNameCharacters));
  add([...new Set(named)], fields.name);
  add(wordsOf(description, maxTextCharacters), fields.description);
  add([...new Set(wordsOf(names.join(" "), maxTextCharacters))], fields.parameters);
  add(wordsOf(texts.join(" "), maxTextCharacters), fields.parameterTexts);
  return terms;
}

/** The keywords whose schemas describe the same parameters, or members of theirs. */
const branches = ["items", "anyOf", "oneOf", "allOf"];

/** The names and choices of the parameters of a schema, and their descriptions; those inside each other too. */
function parametersOf(input: unknown): { readonly names: readonly string[]; readonly texts: readonly string[] } {
  const names: string[] = [];
  const texts: string[] = [];
  const queue: unknown[] = [input];
  for (const schema of queue) {
    if (names.length > maxSchemas || queue.length > maxSchemas) break;
    if (!isRecord(schema)) continue;
    const { description, properties } = schema;
    if (schema !== input && typeof description === "string") texts.push(description);
    names.push(...firstOf(schema.enum).filter((choice) => typeof choice === "string"));
    for (const [name, each] of isRecord(properties) ? Object.entries(properties).slice(0, maxSchemas) : []) {
      names.push(name);
      queue.push(each);
    }
    for (const keyword of branches) queue.push(...firstOf(schema[keyword]));
  }
  return { names, texts };
}

function firstOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, maxSchemas) : [value];
}
