import { plainProjection } from "./plain.ts";
import { remembered } from "./projection.ts";

/** The names Anthropic takes for members of an input. */
const memberName = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * A schema as Anthropic takes it: JSON Schema of draft 2020-12, with an object at the top without `anyOf`, `oneOf` or `allOf`, and
 * members whose names match `^[a-zA-Z0-9_.-]{1,64}$`. One schema that breaks these rules fails the whole request.
 *
 * @see https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use
 * @see https://github.com/anthropics/claude-code/issues/40075 the top
 * @see https://github.com/anthropics/claude-code/issues/79418 the names
 */
export const anthropicProjection = remembered((schema) => plainProjection(schema, memberName));
