/** So many schemas are remembered; none that is longer, in characters. */
const maxSchemas = 1_000;
const maxLength = 10_000;

const sound = new Set<string>();

/** The content of a schema, by which it is known again; undefined for one that is not worth it, or no JSON. */
export function schemaContent(schema: unknown): string | undefined {
  try {
    const text = JSON.stringify(schema);
    return text.length <= maxLength ? text : undefined;
  } catch {
    return undefined;
  }
}

/** True where a schema of this content was found to be without mistakes: prompts of one folder often have the same. */
export function isKnownSound(content: string): boolean {
  return sound.has(content);
}

/** Remembers that a schema is without mistakes. */
export function rememberSound(content: string): void {
  if (sound.size >= maxSchemas) sound.clear();
  sound.add(content);
}
