/** The name of a property in Picoschema: `tags?(array, what they are for)`. */
export interface PicoschemaKey {
  readonly name: string;
  readonly isOptional: boolean;
  /** What stands in parentheses before the comma. */
  readonly type: string | undefined;
  readonly description: string | undefined;
}

/** Reads a name; undefined where a parenthesis has no end. */
export function parseKey(key: string): PicoschemaKey | undefined {
  const open = key.indexOf("(");
  const bare = (open === -1 ? key : key.slice(0, open)).trim();
  if (open !== -1 && !key.trimEnd().endsWith(")")) return undefined;
  const inside = open === -1 ? undefined : describedType(key.trimEnd().slice(open + 1, -1));
  const isOptional = bare.endsWith("?");
  return {
    name: isOptional ? bare.slice(0, -1) : bare,
    isOptional,
    type: inside?.type,
    description: inside?.description,
  };
}

/** `string, who is greeted`: a type, and a description after the first comma. */
export function describedType(text: string): { readonly type: string; readonly description: string | undefined } {
  const comma = text.indexOf(",");
  if (comma === -1) return { type: text.trim(), description: undefined };
  const description = text.slice(comma + 1).trim();
  return { type: text.slice(0, comma).trim(), description: description === "" ? undefined : description };
}
