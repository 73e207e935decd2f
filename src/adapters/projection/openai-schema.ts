import type { JsonSchema } from "../../core/schema/types.ts";
import { withoutNulls } from "./left-out.ts";
import { objectRoot } from "./object-root.ts";
import { anyName, plainProjection } from "./plain.ts";
import { Losses, type Projection, remembered } from "./projection.ts";
import { StrictWriter } from "./strict.ts";
import { wellFormed } from "./well-formed.ts";

/** A schema as OpenAI takes it. */
export interface OpenAIProjection extends Projection {
  /** Whether it is in the grammar of strict mode. */
  readonly strict: boolean;
}

/**
 * A schema as OpenAI takes it without strict mode: JSON Schema with an object at the top that has `properties` and none of `anyOf`,
 * `oneOf`, `allOf`, `enum` and `not`, and lists with `items`.
 *
 * @see https://platform.openai.com/docs/guides/function-calling
 * @see https://github.com/langchain-ai/langchainjs/issues/9804 the top
 */
export const openAIProjection = remembered(
  (schema): OpenAIProjection => Object.freeze({ ...plainProjection(schema, anyName), strict: false }),
);

/**
 * A schema in the grammar of OpenAI's strict mode: every member is required, and one that was optional may be null; no other members;
 * no `allOf`, `oneOf`, `not` or conditions; only some formats; at most 10 objects within each other and 5,000 members. What a
 * description can say is said there. A schema that cannot be told so, such as one with members whose names are free, is told without
 * strict mode, and `lost` says why.
 *
 * @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export const openAIStrictProjection = remembered((schema): OpenAIProjection => {
  const losses = new Losses();
  const document = objectRoot(wellFormed(schema, losses), losses);
  // What says nothing of its members is held to nothing in either form.
  if (Object.keys(document).every((keyword) => keyword === "type")) return openAIProjection(schema);
  const written = new StrictWriter(document, losses).write();
  if ("obstacle" in written) {
    const { pointer, what } = written.obstacle;
    const plain = openAIProjection(schema);
    const why = Object.freeze({ pointer, what: `keeps the tool out of strict mode: it ${what}` });
    return Object.freeze({ ...plain, lost: Object.freeze([why, ...plain.lost]) });
  }
  return Object.freeze({
    schema: Object.freeze(written.schema),
    strict: true,
    lost: losses.all(),
    restore: lazily(document),
  });
});

/** Most schemas are never called. */
function lazily(document: JsonSchema): (input: unknown) => unknown {
  let restore: ((input: unknown) => unknown) | undefined;
  return (input) => {
    restore ??= withoutNulls(document);
    return restore(input);
  };
}
