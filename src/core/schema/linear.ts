import { compile } from "./ajv.ts";
import { toLinearPattern } from "./linear-pattern.ts";
import type { JsonSchema } from "./types.ts";

/** A second of an engine that takes a billion steps in one: linear time is long too, for a large pattern on a large text. */
const maxSteps = 1_000_000_000;

/** In time that grows with the text: the pattern of the usual validator looks at each part of a text again for each other part. */
const isUrl = (text: string) => /^(?:https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text);

/**
 * Compiles the JSON Schema of a stranger: no pattern and no format in it takes longer than the length of a text allows.
 *
 * @throws Error as `compile`, and for a pattern that cannot be matched in linear time; the validator throws where a value would take
 *   too long all the same
 */
export function compileLinear(schema: JsonSchema): (value: unknown) => unknown {
  let steps = 0;
  const regExp = (source: string) => {
    const { size, test } = toLinearPattern(source);
    return {
      test(text: string) {
        steps += size * text.length;
        if (steps > maxSteps) throw new Error("The value is too long for the patterns of the schema");
        return test(text);
      },
      // ajv distinguishes patterns by it.
      toString: () => source,
    };
  };
  const check = compile(schema, { regExp, formats: { url: isUrl } });
  return (value) => {
    steps = 0;
    return check(value);
  };
}
