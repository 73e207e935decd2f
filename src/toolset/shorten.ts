import { mapChildren } from "../core/schema/children.ts";
import { isRecord } from "../lib/value.ts";
import type { ToolDefinitionForModel } from "./toolset-types.ts";

/** What is left of a description at most, in characters. */
const maxToolCharacters = 200;
const maxMemberCharacters = 100;

const known = new WeakMap<ToolDefinitionForModel, ToolDefinitionForModel>();

/**
 * A definition with less text: of each description the first sentence, of a tool's 200 characters at most and of a member's 100; no
 * titles, examples and comments in its schema. What the schema asks for stays.
 */
export function shortened(definition: ToolDefinitionForModel): ToolDefinitionForModel {
  let short = known.get(definition);
  if (short === undefined) {
    const { name, description, inputSchema } = definition;
    const said = description === undefined ? undefined : firstSentence(description, maxToolCharacters);
    const { description: _, ...schema } = bare(inputSchema) as Readonly<Record<string, unknown>>;
    short = Object.freeze({ name, description: said, inputSchema: Object.freeze(schema) });
    known.set(definition, short);
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

function bare(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const entries = Object.entries(mapChildren(schema, "", bare)).flatMap(([keyword, value]) => {
    if (dispensable.has(keyword)) return [];
    const isText = keyword === "description" && typeof value === "string";
    return [[keyword, isText ? firstSentence(value, maxMemberCharacters) : value]];
  });
  return Object.fromEntries(entries);
}
