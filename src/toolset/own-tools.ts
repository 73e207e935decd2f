import { readDefinition } from "../core/definition.ts";
import { definitionOf, makeEntry } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { Tool } from "../core/item.ts";
import { isOutputTool } from "../core/output-tool.ts";
import type { Content } from "../core/resource.ts";
import { coerceValue } from "../core/schema/coerce-value.ts";
import { validatorOf } from "../core/schema/validator.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import type { CallOptions } from "../core/session.ts";
import { jsonContent } from "../resource/content.ts";
import { toContent } from "../resource/normalise.ts";
import { definitionFor } from "./model-definition.ts";
import type { Caller, OfferedTools, ToolDefinitionForModel, ToolEntry } from "./toolset-types.ts";

/** A tool that a run has by itself, such as that for its answer. It needs no context. */
export interface OwnTool extends Tool {
  run(input: unknown): unknown;
}

/**
 * Adds to what a run may use the tools that belong to the run itself. They touch nothing outside: no policy is asked, nothing counts, and no
 * call of the toolkit is made.
 */
export class OwnTools implements OfferedTools, Caller {
  readonly tools: OfferedTools["tools"];
  readonly #offer: OfferedTools;
  readonly #caller: Caller;
  readonly #own: ReadonlyMap<string, { readonly entry: ToolEntry; readonly tool: OwnTool }>;
  readonly #definitions: readonly ToolDefinitionForModel[];

  constructor(offer: OfferedTools, caller: Caller, tools: readonly OwnTool[]) {
    this.#offer = offer;
    this.#caller = caller;
    this.#own = new Map(tools.map((tool) => [tool.name, { entry: entryOf(tool), tool }]));
    const own = [...this.#own].map(([alias, { entry }]) => ({ alias, entry }));
    this.tools = [...offer.tools, ...own];
    this.#definitions = own.map(({ alias, entry }) => definitionFor(alias, entry));
  }

  get policy() {
    return this.#offer.policy;
  }

  get(alias: string): ToolEntry | undefined {
    return this.#own.get(alias)?.entry ?? this.#offer.get(alias);
  }

  isForced(alias: string): boolean {
    return this.#offer.isForced(alias);
  }

  takesControl(calls: readonly { readonly name: string }[]): boolean {
    const isTaking = ({ name }: { readonly name: string }) =>
      this.#own.get(name)?.tool.options?.takesControl === true || this.#offer.takesControl([{ name }]);
    return calls.some(isTaking);
  }

  toolChoiceOf(turn: number) {
    return this.#offer.toolChoiceOf(turn);
  }

  tells(entry: ToolEntry): boolean {
    return this.#offer.tells?.(entry) === true;
  }

  isOwn(entry: ToolEntry): boolean {
    return this.#find(entry) !== undefined;
  }

  definitionsOf(turn: number): readonly ToolDefinitionForModel[] {
    return [...this.#offer.definitionsOf(turn), ...this.#definitions];
  }

  async call(entry: ToolEntry, input: unknown, options: CallOptions): Promise<Content> {
    const tool = this.#find(entry);
    if (tool === undefined) return this.#caller.call(entry, input, options);
    const { name } = tool;
    // A structured answer is JSON, where it is a text too.
    if (isOutputTool(tool)) return jsonContent(await answerOf(tool, entry, input), { name });
    return toContent(await tool.run(await fitting(entry, input)), { name });
  }

  #find(entry: ToolEntry): OwnTool | undefined {
    const own = this.#own.get(entry.name);
    return own?.entry === entry ? own.tool : undefined;
  }
}

/** What the model submits, its slips mended. The tool validates: it may take more than the model was told of. */
async function answerOf(tool: OwnTool, entry: ToolEntry, input: unknown): Promise<unknown> {
  try {
    return await tool.run(input);
  } catch (error) {
    const mended = await coerceValue(definitionOf(entry).input ?? {}, input);
    if (mended === undefined) throw error;
    return tool.run(mended.value);
  }
}

/** The input as the tool wants it, its slips mended. */
async function fitting(entry: ToolEntry, input: unknown): Promise<unknown> {
  const schema = definitionOf(entry).input;
  if (schema === undefined) return input;
  const valid = await validatorOf(schema)(input);
  if (!(valid instanceof Violation)) return valid;
  const mended = await coerceValue(schema, input);
  if (mended !== undefined) return mended.value;
  const message = `The input of ${entry.name} does not fit: ${describeIssues(valid.issues)}.`;
  throw new ToolkitError("INVALID_INPUT", message, { issues: valid.issues });
}

function entryOf(tool: OwnTool): ToolEntry {
  return makeEntry<"tool">(readDefinition(tool, "local"), tool, inlineNamespace, false);
}
