import { ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import { isRecord } from "../lib/value.ts";
import { foundTools, noSuchTool, textIn } from "../toolset/disclosure.ts";
import { describeTool, searchTool } from "../toolset/disclosure-plan.ts";
import type { OfferedTools, ToolDefinitionForModel, ToolEntry } from "../toolset/toolset-types.ts";
import { failedResult } from "./wire/error-form.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The tool that calls another one, which the list does not show. */
export const callToolName = "call_tool";

/** The list of tools where all others are found by search. */
export const discoveryForms: readonly Fields[] = [
  {
    name: callToolName,
    description: `Calls a tool that ${searchTool.name} found. ${describeTool.name} says which arguments it takes.`,
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", description: "The name, as it was found." },
        arguments: { type: "object", description: "The arguments, as the input schema of the tool wants them." },
      },
      required: ["name"],
      additionalProperties: false,
    },
  },
  {
    ...describeTool,
    description: `Gives the full definition of a tool that was found, with the schema of its arguments. Call it with ${callToolName}.`,
    annotations: { readOnlyHint: true },
  },
  { ...searchTool, annotations: { readOnlyHint: true } },
];

/** Tools that are found by search, under the names by which they are served. */
export class ToolDiscovery {
  readonly #forms: ReadonlyMap<string, Fields>;
  readonly #definitions: ReadonlyMap<string, ToolDefinitionForModel>;
  readonly #offered: OfferedTools;

  /** @param forms - of the tools by name, as a list shows them */
  constructor(byName: ReadonlyMap<string, Entry>, forms: ReadonlyMap<string, Fields>) {
    this.#forms = forms;
    this.#definitions = new Map([...forms].map(([name, form]) => [name, { ...form, name } as ToolDefinitionForModel]));
    this.#offered = {
      tools: [...byName].map(([alias, entry]) => ({ alias, entry: entry as ToolEntry })),
      policy: {},
      get: (alias) => byName.get(alias) as ToolEntry | undefined,
      isForced: () => false,
      definitionsOf: () => [],
      toolChoiceOf: () => "auto",
    };
  }

  /**
   * Answers a call of one of the three tools; undefined for any other name. What goes wrong is for the model to read.
   *
   * @param call - calls the tool with a name; `missing` is its result where there is none
   * @throws the reason of an abort; whatever `call` throws
   */
  async answer(
    name: string,
    input: Fields,
    {
      signal,
      call,
    }: {
      readonly signal: AbortSignal;
      call(name: string, input: Fields, missing: () => Fields): Promise<Fields>;
    },
  ): Promise<Fields | undefined> {
    try {
      if (name === searchTool.name)
        return resultOf(await foundTools(this.#offered, input, { hidden: this.#definitions, signal }));
      if (name === describeTool.name) return resultOf(this.#describe(textIn(input, "name")));
      if (name !== callToolName) return undefined;
      const wanted = textIn(input, "name");
      return await call(wanted, argumentsIn(input), () => failedResult(this.#missing(wanted)));
    } catch (error) {
      signal.throwIfAborted();
      if (ToolkitError.is(error)) return failedResult(error);
      throw error;
    }
  }

  #describe(name: string): Fields {
    const form = this.#forms.get(name);
    if (form === undefined) throw this.#missing(name);
    return form;
  }

  #missing(name: string): ToolkitError {
    return noSuchTool(name, this.#forms.keys());
  }
}

/** @throws ToolkitError `INVALID_INPUT` */
function argumentsIn({ arguments: given = {} }: Fields): Fields {
  if (isRecord(given)) return given;
  const message = "must be an object";
  throw new ToolkitError("INVALID_INPUT", `arguments ${message}.`, { issues: [{ pointer: "/arguments", message }] });
}

function resultOf(value: Fields): Fields {
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
}
