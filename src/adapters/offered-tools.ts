import { isRecord } from "../lib/value.ts";
import type { ToolChoice, ToolDefinitionForModel } from "../toolset/toolset-types.ts";
import { parsed } from "./answer-content.ts";
import type { Projection, SchemaLoss } from "./projection/projection.ts";

/** What is offered at a time: a toolset offers what its first turn does, a run what its turn does. */
export interface AdaptedTools {
  definitions(): readonly ToolDefinitionForModel[];
  readonly toolChoice: ToolChoice;
}

/** How an adapter is made. */
export interface AdapterOptions {
  /** The run whose turns it follows: which tools are there, and which must be called. Default: always the first turn. */
  readonly run?: AdaptedTools | undefined;
}

/** What a provider is not told of the schema of a tool. */
export interface ToolLoss extends SchemaLoss {
  /** The alias. */
  readonly tool: string;
}

/** A tool in the form of a provider. */
export interface Written<T> {
  readonly tool: T;
  readonly projection: Projection;
}

/** Remembers how a definition is written: the same objects from turn to turn, and from toolset to toolset. */
export function writtenOnce<T>(
  write: (definition: ToolDefinitionForModel) => Written<T>,
): (definition: ToolDefinitionForModel) => Written<T> {
  const known = new WeakMap<ToolDefinitionForModel, Written<T>>();
  return (definition) => {
    let written = known.get(definition);
    if (written === undefined) {
      written = write(definition);
      known.set(definition, written);
    }
    return written;
  };
}

/** What every adapter does: writes what is offered now, and leads the inputs of calls back. */
export class Writing<T> {
  readonly #offered: AdaptedTools;
  readonly #write: (definition: ToolDefinitionForModel) => Written<T>;
  /** Of every tool that was ever told: a model may call what was there a turn ago. */
  readonly #told = new Map<string, Written<T>>();

  constructor(offered: AdaptedTools, write: (definition: ToolDefinitionForModel) => Written<T>) {
    this.#offered = offered;
    this.#write = write;
  }

  /** The tools of now. Undefined for none: providers refuse an empty list. */
  tools(): T[] | undefined {
    const tools = this.#now().map(({ written }) => written.tool);
    return tools.length === 0 ? undefined : tools;
  }

  /** What a model must do now. Undefined where there are no tools: providers refuse a choice of nothing. */
  choice(): ToolChoice | undefined {
    return this.#offered.definitions().length === 0 ? undefined : this.#offered.toolChoice;
  }

  lost(): readonly ToolLoss[] {
    return this.#now().flatMap(({ name, written }) => written.projection.lost.map((loss) => ({ tool: name, ...loss })));
  }

  /** The input for a tool, from what a model gave. */
  input(name: string, given: unknown): unknown {
    if (!this.#told.has(name)) this.#now();
    return this.#told.get(name)?.projection.restore(given) ?? given;
  }

  #now(): readonly { readonly name: string; readonly written: Written<T> }[] {
    return this.#offered.definitions().map((definition) => {
      const written = this.#write(definition);
      this.#told.set(definition.name, written);
      return { name: definition.name, written };
    });
  }
}

/** The arguments of a call, which some providers give as text. What is no JSON stays a text, and is refused or mended as one. */
export function argumentsOf(given: unknown): unknown {
  const value = typeof given === "string" && given !== "" ? parsed(given) : given;
  if (value === undefined && typeof given === "string" && given !== "") return given;
  return value === undefined || value === null || value === "" ? {} : value;
}

/** What should be a list of objects, as one. */
export function recordsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
