import type { CallContext, Tool } from "./item.ts";
import type { Described } from "./resource.ts";
import type { InputOf, JsonSchema, OutputOf, SchemaLike, TypedSchema } from "./schema/types.ts";
import type { ToolAnnotations, ToolOptions } from "./tool-options.ts";

interface ToolBase extends Described {
  readonly annotations?: ToolAnnotations | undefined;
  readonly options?: ToolOptions | undefined;
}

/** A tool whose input is typed by its schema. */
export interface TypedToolDefinition<S extends TypedSchema, Out> extends ToolBase {
  readonly input: S;
  readonly output?: undefined;
  run(input: OutputOf<S>, context: CallContext): Out | PromiseLike<Out>;
}

/** A tool whose input and result are typed by their schemas. */
export interface TypedResultToolDefinition<S extends TypedSchema, O extends TypedSchema> extends ToolBase {
  readonly input: S;
  readonly output: O;
  run(input: OutputOf<S>, context: CallContext): InputOf<O> | PromiseLike<InputOf<O>>;
}

/** A tool whose input is described by JSON Schema, or not at all. */
export interface ToolDefinition<In, Out> extends ToolBase {
  readonly input?: JsonSchema | undefined;
  readonly output?: SchemaLike | undefined;
  run(input: In, context: CallContext): Out | PromiseLike<Out>;
}

/**
 * Defines a tool. The types of `run` follow from the schemas: from zod 4, arktype, or valibot through `toStandardJsonSchema`; with a
 * plain JSON Schema the input is `Record<string, unknown>` unless you name its type.
 *
 * Nothing is checked here: `toolkit.add` does, so that a batch is all or nothing.
 *
 * @example
 * ```ts
 * const greet = defineTool({
 *   name: "greet",
 *   description: "Greets a person by name.",
 *   input: z.object({ name: z.string() }),
 *   run: ({ name }) => `Hello, ${name}!`,
 * });
 * ```
 */
export function defineTool<S extends TypedSchema, O extends TypedSchema>(
  definition: TypedResultToolDefinition<S, O>,
): Tool<InputOf<S>, OutputOf<S>, OutputOf<O>>;
export function defineTool<S extends TypedSchema, Out>(
  definition: TypedToolDefinition<S, Out>,
): Tool<InputOf<S>, OutputOf<S>, Out>;
export function defineTool<In = Record<string, unknown>, Out = unknown>(
  definition: ToolDefinition<In, Out>,
): Tool<In, In, Out>;
export function defineTool(definition: object): Tool {
  return { ...definition, kind: "tool" } as Tool;
}
