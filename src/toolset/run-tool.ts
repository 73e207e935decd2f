import { readDefinition } from "../core/definition.ts";
import { definitionOf, makeEntry } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { Tool } from "../core/item.ts";
import type { OutputTool } from "../core/output-tool.ts";
import type { Content } from "../core/resource.ts";
import { coerceValue } from "../core/schema/coerce-value.ts";
import { validatorOf } from "../core/schema/validator.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import { jsonContent } from "../resource/content.ts";
import { toContent } from "../resource/normalise.ts";
import type { ToolEntry } from "./toolset-types.ts";

/** A tool that a run executes itself, such as that for its answer: it touches nothing outside the run, and is no call of the toolkit. */
export interface RunTool {
  readonly entry: ToolEntry;
  /** Whether the limits of the run's policy count its calls. Its lists and its function are never asked. */
  readonly isCounted: boolean;
  execute(input: unknown): Promise<Content>;
}

const entries = new WeakMap<Tool, ToolEntry>();

/** A tool of the run itself, whose input is repaired and validated. It is in no count. */
export function runTool<In>(tool: Tool, run: (input: In) => unknown): RunTool {
  const entry = entryOf(tool);
  const { name } = tool;
  return {
    entry,
    isCounted: false,
    execute: async (input) => toContent(await run((await validInput(entry, input)) as In), { name }),
  };
}

/** The tool for the answer of a run, whose result is JSON, also where it is a text. */
export function answerTool(tool: OutputTool): RunTool {
  const entry = entryOf(tool);
  const { name } = tool;
  return {
    entry,
    isCounted: false,
    execute: async (input) => jsonContent(await submitted(tool, entry, input), { name }),
  };
}

/** The entry of a tool, made once. */
export function entryOf(tool: Tool): ToolEntry {
  let entry = entries.get(tool);
  if (entry === undefined) {
    entry = makeEntry<"tool">(readDefinition(tool, "local"), tool, inlineNamespace, false);
    entries.set(tool, entry);
  }
  return entry;
}

/** The answer that a model submits, repaired only where it is refused: the tool validates, and may accept more than its schema says. */
async function submitted(tool: OutputTool, entry: ToolEntry, input: unknown): Promise<unknown> {
  try {
    return await tool.run(input);
  } catch (error) {
    const repaired = await coerceValue(definitionOf(entry).input ?? {}, input);
    if (repaired === undefined) throw error;
    return tool.run(repaired.value);
  }
}

/** @throws ToolkitError `INVALID_INPUT` */
async function validInput(entry: ToolEntry, input: unknown): Promise<unknown> {
  const schema = definitionOf(entry).input;
  if (schema === undefined) return input;
  const valid = await validatorOf(schema)(input);
  if (!(valid instanceof Violation)) return valid;
  const repaired = await coerceValue(schema, input);
  if (repaired !== undefined) return repaired.value;
  const message = `The input of ${entry.name} does not fit: ${describeIssues(valid.issues)}.`;
  throw new ToolkitError("INVALID_INPUT", message, { issues: valid.issues });
}
