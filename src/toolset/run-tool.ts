import { ToolkitError } from "../core/error.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { OutputTool } from "../core/output-tool.ts";
import { coerceValue } from "../core/schema/coerce-value.ts";
import { toObjectSchema } from "../core/schema/json-schema.ts";
import { validatorOf } from "../core/schema/validator.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import { jsonContent } from "../resource/content.ts";
import { toContent } from "../resource/normalise.ts";
import type { Callee, ToolDefinitionForModel } from "./toolset-types.ts";

/** A tool that a run executes itself, such as that for its answer: it touches nothing outside the run, and is no call of the toolkit. */
export interface RunTool extends Callee {
  readonly definition: ToolDefinitionForModel;
}

/** A tool of the run itself, whose input is repaired and validated. It is in no count. */
export function runTool<In>(definition: ToolDefinitionForModel, run: (input: In) => unknown): RunTool {
  const { name } = definition;
  const execute = async (input: unknown) => toContent(await run((await validInput(definition, input)) as In), { name });
  return { ...own(name), definition, execute };
}

/** The tool for the answer of a run, whose result is JSON, also where it is a text. */
export function answerTool(tool: OutputTool): RunTool {
  const { name, description, input, options } = tool;
  const inputSchema = toObjectSchema(input ?? {}, { what: "output schema", direction: "input" });
  const definition = Object.freeze({ name, description, inputSchema });
  const execute = async (given: unknown) => jsonContent(await submitted(tool, definition, given), { name });
  return { ...own(name), options, definition, execute };
}

function own(name: string): Omit<Callee, "execute"> {
  const ref = `${inlineNamespace}.${name}`;
  return { ref, namespace: inlineNamespace, options: undefined, entry: undefined, isCounted: false };
}

/** The answer that a model submits, repaired only where it is refused: the tool validates, and may accept more than its schema. */
async function submitted(tool: OutputTool, { inputSchema }: ToolDefinitionForModel, input: unknown): Promise<unknown> {
  try {
    return await tool.run(input);
  } catch (error) {
    const repaired = await coerceValue(inputSchema, input);
    if (repaired === undefined) throw error;
    return tool.run(repaired.value);
  }
}

/** @throws ToolkitError `INVALID_INPUT` */
async function validInput({ name, inputSchema }: ToolDefinitionForModel, input: unknown): Promise<unknown> {
  const valid = await validatorOf(inputSchema)(input);
  if (!(valid instanceof Violation)) return valid;
  const repaired = await coerceValue(inputSchema, input, { issues: valid.issues });
  if (repaired !== undefined) return repaired.value;
  const message = `The input of ${name} does not fit: ${describeIssues(valid.issues)}.`;
  throw new ToolkitError("INVALID_INPUT", message, { issues: valid.issues });
}
