import { firstSentence } from "./shorten.ts";
import type { ToolDefinitionForModel } from "./toolset-types.ts";

/** A tool that was found. */
export interface FoundTool {
  readonly name: string;
  readonly description: string;
}

const maxCharacters = 120;

/** What a word of a query is worth where it is found. */
const worth = { inName: 8, partOfName: 4, inDescription: 2, partOfDescription: 1 };

/**
 * Finds tools by the words of a query in their names and descriptions: best first, of equals in the order of the toolset. A word that
 * is found whole counts twice what one does that is only a part, and a name four times what a description does.
 */
export function searchTools(
  definitions: readonly ToolDefinitionForModel[],
  query: string,
  limit: number,
): { readonly tools: readonly FoundTool[]; readonly more: number } {
  const wanted = [...new Set(wordsOf(query))];
  const scored = definitions
    .map((definition) => ({ definition, score: scoreOf(definition, wanted) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const tools = scored.slice(0, limit).map(({ definition: { name, description = "" } }) => ({
    name,
    description: firstSentence(description, maxCharacters),
  }));
  return { tools, more: scored.length - tools.length };
}

function scoreOf({ name, description = "" }: ToolDefinitionForModel, wanted: readonly string[]): number {
  const nameWords = new Set(wordsOf(name));
  const words = new Set(wordsOf(description));
  const plainName = name.toLowerCase();
  const plain = description.toLowerCase();
  return wanted.reduce((sum, word) => {
    const byName = nameWords.has(word) ? worth.inName : plainName.includes(word) ? worth.partOfName : 0;
    const byText = words.has(word) ? worth.inDescription : plain.includes(word) ? worth.partOfDescription : 0;
    return sum + byName + byText;
  }, 0);
}

/** Words in lower case: `getUserName` is three. */
function wordsOf(text: string): readonly string[] {
  const split = text.replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2").toLowerCase();
  return split.match(/[\p{L}\p{N}]+/gu) ?? [];
}
