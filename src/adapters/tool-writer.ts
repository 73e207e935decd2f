import { assertOptionNames } from "../core/options.ts";
import { isRecord, jsonIn } from "../lib/value.ts";
import type { ToolChoice, ToolDefinitionForModel } from "../toolset/toolset-types.ts";
import type { Projection, SchemaLoss } from "./projection/projection.ts";

/** The tools offered at one time: a toolset gives those of a first turn, a run those of its current turn. */
export interface AdaptedTools {
  definitions(): readonly ToolDefinitionForModel[];
  readonly toolChoice: ToolChoice;
}

/** Options of an adapter. */
export interface AdapterOptions {
  /** The run whose turns decide the offered tools and the tool choice. Default: always the first turn. */
  readonly run?: AdaptedTools | undefined;
}

/** @throws ToolkitError `INVALID_CONFIG` for an option there is not */
export function readAdapterOptions(options: AdapterOptions, owner: string): AdapterOptions {
  assertOptionNames(options, { run: true }, owner);
  return options;
}

/** A part of the schema of a tool that a provider does not get. */
export interface ToolLoss extends SchemaLoss {
  /** The alias. */
  readonly tool: string;
}

/** A tool in the form of a provider. */
export interface WrittenTool<T> {
  readonly tool: T;
  readonly projection: Projection;
}

/** Writes each definition once: the same object from turn to turn, and from toolset to toolset. */
export function cachedWriter<T>(
  write: (definition: ToolDefinitionForModel) => WrittenTool<T>,
): (definition: ToolDefinitionForModel) => WrittenTool<T> {
  const known = new WeakMap<ToolDefinitionForModel, WrittenTool<T>>();
  return (definition) => {
    let written = known.get(definition);
    if (written === undefined) {
      written = write(definition);
      known.set(definition, written);
    }
    return written;
  };
}

/** Shared by all adapters: writes the offered tools in the form of a provider, and restores the inputs of its calls. */
export class ToolWriter<T> {
  readonly #offered: AdaptedTools;
  readonly #write: (definition: ToolDefinitionForModel) => WrittenTool<T>;
  /** Also tools of earlier turns: a model may still call them. */
  readonly #written = new Map<string, WrittenTool<T>>();

  constructor(offered: AdaptedTools, write: (definition: ToolDefinitionForModel) => WrittenTool<T>) {
    this.#offered = offered;
    this.#write = write;
  }

  /** The offered tools. Undefined for none: providers refuse an empty list. */
  tools(): T[] | undefined {
    const tools: T[] = [];
    for (const definition of this.#offered.definitions()) tools.push(this.#writtenOf(definition).tool);
    return tools.length === 0 ? undefined : tools;
  }

  /** The tool choice. Undefined without tools: providers refuse a choice of nothing. */
  choice(): ToolChoice | undefined {
    return this.#offered.definitions().length === 0 ? undefined : this.#offered.toolChoice;
  }

  lost(): readonly ToolLoss[] {
    return this.#offered.definitions().flatMap((definition) => {
      const { lost } = this.#writtenOf(definition).projection;
      return lost.map((loss) => ({ tool: definition.name, ...loss }));
    });
  }

  /** The input for a tool, from the arguments of a model. */
  input(name: string, given: unknown): unknown {
    if (!this.#written.has(name)) this.tools();
    return this.#written.get(name)?.projection.restore(given) ?? given;
  }

  #writtenOf(definition: ToolDefinitionForModel): WrittenTool<T> {
    const written = this.#write(definition);
    this.#written.set(definition.name, written);
    return written;
  }
}

/** The arguments of a call, which some providers give as text. Text that is no JSON stays text, and is repaired or refused later. */
export function argumentsOf(given: unknown): unknown {
  const value = typeof given === "string" && given !== "" ? jsonIn(given) : given;
  if (value === undefined && typeof given === "string" && given !== "") return given;
  return value === undefined || value === null || value === "" ? {} : value;
}

/** The objects of what should be a list of objects. */
export function recordsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
