import { plainTextOf } from "../../adapters/answer-content.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import type { LinearSearch } from "../../core/schema/linear-pattern.ts";
import { UnsupportedPattern } from "../../core/schema/linear-syntax.ts";
import { findMatches, toTextSearch } from "../../core/schema/text-search.ts";
import { parseSelection, selectJson } from "../../lib/json-select/select-json.ts";
import { InvalidSelection, writeJson } from "../../lib/json-select/select-value.ts";
import { parseJson } from "../../lib/nesting.ts";
import { StepBudget, StepsSpent } from "../../lib/step-budget.ts";
import { type RunTool, runTool } from "../../toolset/run-tool.ts";
import type { ToolDefinitionForModel } from "../../toolset/toolset-types.ts";
import { invalidArgument, type ReaderNames, type ReaderOptions, ResultReader } from "./result-reader.ts";

/** The prefixes of the names of the tools: the first with which no other tool has one of them. */
const prefixes = ["result_", "tool_result_", "run_result_"];
/** A longer JSON text is not parsed for a selection, in characters. */
const maxJsonLength = 16 * 2 ** 20;
/** Steps of one selection: about a quarter of a second. */
const maxSelectSteps = 2_000_000;

/** The reader of the results of a run, and the tools by which its model uses it. */
export interface OpenedResults {
  readonly reader: ResultReader;
  readonly tools: readonly RunTool[];
}

/** @param isTaken - true for the name of another tool of the run */
export function openResults(
  options: ReaderOptions,
  { isTaken, signal }: { readonly isTaken: (name: string) => boolean; readonly signal: AbortSignal },
): OpenedResults {
  const names = prefixes.map(namesWith).find((each) => !Object.values(each).some(isTaken)) ?? namesWith("result_");
  const reader = new ResultReader(options, names);
  const { read, grep, select } = names;
  const tools = [
    runTool<ReadInput>(definition(read, readDefinition), (input) => readRange(reader, input)),
    runTool<GrepInput>(definition(grep, grepDefinition), (input) => grepText(reader, input, signal)),
    runTool<SelectInput>(definition(select, selectDefinition), (input) => selectPart(reader, input)),
  ];
  return { reader, tools };
}

function namesWith(prefix: string): ReaderNames {
  return { read: `${prefix}read`, grep: `${prefix}grep`, select: `${prefix}select` };
}

interface ReadInput {
  readonly uri: string;
  readonly offset?: number;
  readonly length?: number;
}

async function readRange(reader: ResultReader, { uri, offset = 0, length = Number.MAX_SAFE_INTEGER }: ReadInput) {
  const content = await reader.find(uri);
  const whole = await plainTextOf(content);
  if (offset >= whole.length) return `There is nothing from ${offset} on: it has ${whole.length} characters.`;
  const { text, begin, end } = reader.range(whole, offset, length);
  const part = reader.marked(content, text);
  if (end >= whole.length) return part;
  return `${part}\n\n[Characters ${begin} to ${end} of ${whole.length}. Go on with offset ${end}.]`;
}

interface GrepInput {
  readonly uri: string;
  readonly pattern: string;
  readonly ignoreCase?: boolean;
  readonly context?: number;
  readonly limit?: number;
  readonly offset?: number;
}

/** The longest part of a match that is shown, in characters. */
const maxMatch = 200;

async function grepText(reader: ResultReader, input: GrepInput, signal: AbortSignal): Promise<string> {
  const { uri, pattern, ignoreCase = false, context = 60, limit = 10, offset = 0 } = input;
  const search = searchFor(pattern, ignoreCase);
  const content = await reader.find(uri);
  const text = await plainTextOf(content);
  const { matches, next } = await findMatches(text, search, { offset, limit, signal });
  const lines: string[] = [];
  let goOn = next;
  for (const { start, end } of matches) {
    const line = `${start}: ${excerpt(text, start, end, context)}`;
    if (lines.length > 0 && !reader.fits([...lines, line].join("\n"))) {
      goOn = start;
      break;
    }
    lines.push(line);
  }
  const to =
    goOn === undefined ? `to the end of the ${text.length} characters` : `before ${goOn} of ${text.length} characters`;
  const more = goOn === undefined ? "" : ` Go on with offset ${goOn}.`;
  const note = `[${lines.length} matches from ${offset} ${to}.${more}]`;
  return lines.length === 0 ? note : `${reader.marked(content, lines.join("\n"))}\n\n${note}`;
}

function searchFor(pattern: string, ignoreCase: boolean): LinearSearch {
  try {
    return toTextSearch(pattern, ignoreCase);
  } catch (error) {
    if (!(error instanceof UnsupportedPattern)) throw error;
    throw invalidArgument("pattern", `cannot be searched for: ${error.why}`);
  }
}

/** A match with what stands around it in its line. */
function excerpt(text: string, start: number, end: number, context: number): string {
  const line = text.lastIndexOf("\n", Math.max(0, start - 1)) + 1;
  const from = Math.min(Math.max(line, start - context), start);
  const lineEnd = text.indexOf("\n", end);
  const to = Math.min(lineEnd < 0 ? text.length : lineEnd, Math.min(end, start + maxMatch) + context);
  return text.slice(from, to).toWellFormed();
}

interface SelectInput {
  readonly uri: string;
  readonly expression: string;
}

/** A selection that is too long for the conversation is a result itself. */
async function selectPart(reader: ResultReader, { uri, expression }: SelectInput): Promise<string> {
  const content = await reader.find(uri);
  const value = jsonOf(uri, await plainTextOf(content));
  const text = await selectedText(expression, value);
  if (reader.fits(text)) return reader.marked(content, text);
  const selected = reader.derived(content, text);
  return reader.preview(await reader.add(selected), selected);
}

function jsonOf(uri: string, text: string): unknown {
  if (text.length > maxJsonLength) {
    const message = `${uri} has ${text.length} characters, and a selection takes at most ${maxJsonLength}. Search it instead.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, {
      limit: "maxJsonLength",
      max: maxJsonLength,
      actual: text.length,
    });
  }
  try {
    return parseJson(text);
  } catch {
    throw invalidArgument("uri", "names a result that is no JSON: read or search it instead");
  }
}

async function selectedText(expression: string, value: unknown): Promise<string> {
  const steps = new StepBudget(maxSelectSteps);
  try {
    return writeJson(selectJson(await parseSelection(expression), value, steps), steps);
  } catch (error) {
    if (error instanceof StepsSpent) {
      const message = `The expression takes more than ${maxSelectSteps} steps. Select less at once.`;
      throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxSelectSteps", max: maxSelectSteps });
    }
    if (error instanceof InvalidSelection || error instanceof RangeError)
      throw invalidArgument("expression", `is no expression for this result: it ${messageOf(error)}`);
    throw error;
  }
}

const definitions = new Map<string, ToolDefinitionForModel>();

/** One object for each name, so that its projection is made once. */
function definition(name: string, rest: Omit<ToolDefinitionForModel, "name">): ToolDefinitionForModel {
  const known = definitions.get(name) ?? Object.freeze({ name, ...rest });
  definitions.set(name, known);
  return known;
}

const uri = { type: "string", description: "result:..." };
const offset = { type: "integer", minimum: 0, description: "From this character on. Default 0." };

const readDefinition: Omit<ToolDefinitionForModel, "name"> = {
  description: "Reads a part of a truncated tool result.",
  inputSchema: {
    type: "object",
    properties: { uri, offset, length: { type: "integer", minimum: 1, description: "In characters." } },
    required: ["uri"],
    additionalProperties: false,
  },
};

const grepDefinition: Omit<ToolDefinitionForModel, "name"> = {
  description: "Finds a regular expression in a truncated tool result: offsets and excerpts.",
  inputSchema: {
    type: "object",
    properties: {
      uri,
      pattern: { type: "string", description: "As in JavaScript, without lookaround." },
      ignoreCase: { type: "boolean" },
      context: { type: "integer", minimum: 0, maximum: 500, description: "Characters around a match. Default 60." },
      limit: { type: "integer", minimum: 1, maximum: 100, description: "Default 10." },
      offset,
    },
    required: ["uri", "pattern"],
    additionalProperties: false,
  },
};

const selectDefinition: Omit<ToolDefinitionForModel, "name"> = {
  description: "Selects from the JSON of a truncated tool result.",
  inputSchema: {
    type: "object",
    properties: { uri, expression: { type: "string", description: "JMESPath, such as items[?price > `5`].name" } },
    required: ["uri", "expression"],
    additionalProperties: false,
  },
};
