import { canonicalJson } from "../lib/canonical.ts";
import { isRecord, present } from "../lib/value.ts";
import { ToolkitError } from "./error.ts";
import type { Tool } from "./item.ts";
import { toJsonSchema } from "./schema/json-schema.ts";
import { isTypedSchema, type JsonSchema, type SchemaLike } from "./schema/types.ts";
import { validatorOf } from "./schema/validator.ts";
import { describeIssues, Violation } from "./schema/violation.ts";

/** The name of the tool through which a model gives a structured answer. */
export const outputToolName = "submit_output";

/** Where an answer stands that is no object: the input of a tool is one. */
const wholeAnswer = "answer";

const made = new WeakSet<object>();

/** A tool for answers. It needs no context. */
export interface OutputTool extends Tool {
  /** @throws ToolkitError `INVALID_INPUT` for what the schema does not take */
  run(input: unknown): Promise<unknown>;
}

/** True for what `outputTool` made. */
export function isOutputTool(tool: object): boolean {
  return made.has(tool);
}

/** An answer in the form of an object, and the way back. */
export interface AnswerForm {
  /** Describes an object. */
  readonly schema: JsonSchema;
  /** The answer out of the object. */
  unwrap(value: unknown): unknown;
}

/**
 * The form in which a model is asked for an answer: an answer that is no object stands in one, under `answer`, because neither tools nor the
 * JSON modes of providers take anything else.
 *
 * @throws ToolkitError `INVALID_SCHEMA`
 */
export function answerForm(output: SchemaLike): AnswerForm {
  const schema = writtenSchema(output);
  if (schema.type === "object") return { schema, unwrap: (value) => value };
  const { $schema, $defs, definitions, ...answer } = moved(schema);
  const properties = { [wholeAnswer]: answer };
  return {
    schema: {
      ...present({ $schema, $defs, definitions }),
      type: "object",
      properties,
      required: [wholeAnswer],
      additionalProperties: false,
    },
    unwrap: (value) => (isRecord(value) ? value[wholeAnswer] : undefined),
  };
}

/**
 * The schema of the input that a model has to write. As a rule that is the output form of the schema, which is stricter; not where it
 * makes something else of what it takes.
 */
function writtenSchema(output: SchemaLike): JsonSchema {
  const given = toJsonSchema(output, { what: "output schema", direction: "output" });
  if (!isTypedSchema(output)) return given;
  const taken = toJsonSchema(output, { what: "output schema", direction: "input" });
  return typesIn(given) === typesIn(taken) ? given : taken;
}

/** A schema without what differs only in how strict it is. */
function typesIn(schema: JsonSchema): string {
  return canonicalJson(
    JSON.parse(JSON.stringify(schema), (key, value) =>
      key === "additionalProperties" || (key === "required" && Array.isArray(value)) ? undefined : value,
    ),
  );
}

/** The schema with its references as they are written one level further down; what is defined for all stays at the top. */
function moved(schema: JsonSchema): JsonSchema {
  const isShared = (ref: string) => /^#\/(?:\$defs|definitions)\//.test(ref);
  return JSON.parse(JSON.stringify(schema), (key, value) =>
    key === "$ref" && typeof value === "string" && value.startsWith("#") && !isShared(value)
      ? `#/properties/${wholeAnswer}${value.slice(1)}`
      : value,
  );
}

/**
 * The tool through which a model gives a structured answer: `submit_output`. It takes control, so it is called alone, and what it is given
 * is the answer of the run: as it was written, before the schema's defaults and transforms.
 *
 * @throws ToolkitError `INVALID_SCHEMA`
 */
export function outputTool(output: SchemaLike): OutputTool {
  const { schema, unwrap } = answerForm(output);
  const validate = validatorOf(output);
  const tool: OutputTool = {
    kind: "tool",
    name: outputToolName,
    description: "Gives the final answer. Call it once, alone, when everything else is done.",
    input: schema,
    options: { takesControl: true, capability: true },
    run: async (input: unknown) => {
      const answer = unwrap(input);
      const valid = await validate(answer);
      if (!(valid instanceof Violation)) return answer;
      const message = `The answer does not fit: ${describeIssues(valid.issues)}.`;
      throw new ToolkitError("INVALID_INPUT", message, { issues: valid.issues });
    },
  };
  made.add(tool);
  return tool;
}

/** The instruction to a model to answer through the tool. */
export const outputInstruction = `When you have what you need, give the answer by calling the tool ${outputToolName}, alone and once. Do not write the answer as text.`;
