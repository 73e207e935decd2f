import { digest } from "../lib/canonical.ts";
import { typeName } from "../lib/value.ts";
import { assertSettings } from "./call-settings.ts";
import type { ServerInfo } from "./connection.ts";
import { ToolkitError } from "./error.ts";
import { assertItemName, assertUri } from "./identifier.ts";
import { type Item, type Kind, kinds, type Prompt, type ResourceTemplate, type Tool } from "./item.ts";
import { isOutputTool } from "./output-tool.ts";
import { isResource, type Resource } from "./resource.ts";
import { toJsonSchema, toObjectSchema } from "./schema/json-schema.ts";
import { isTypedSchema, type JsonSchema, type SchemaLike } from "./schema/types.ts";
import type { ToolAnnotations, ToolOptions } from "./tool-options.ts";

/**
 * The definition fields of an item, read once when it is added: whatever happens to the user's object afterwards, the catalogue stays
 * as it was.
 */
export interface Definition {
  readonly origin: Origin;
  readonly kind: Kind;
  readonly name: string;
  /** The key within its namespace and kind: the URI of a resource or template, else the name. */
  readonly key: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  /** As written on the wire. */
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  /** As given: what validates. Undefined where nothing is to be validated. */
  readonly inputSchema: SchemaLike | undefined;
  readonly outputSchema: SchemaLike | undefined;
  readonly annotations: ToolAnnotations | undefined;
  readonly options: ToolOptions | undefined;
  readonly version: string | undefined;
  readonly mediaType: string | undefined;
  readonly size: number | undefined;
  /** The description that its server gives of itself now; undefined for an item of no server. */
  readonly server: (() => ServerInfo | undefined) | undefined;
  /** Undefined where its connector does not refuse it. */
  readonly refusal: ConnectorRefusal | undefined;
  /** Two items with the same fingerprint are the same: a hash of kind, name, description, schemas and version. */
  readonly fingerprint: string;
}

/** The reason why a connector refuses an item that it lists. */
export interface ConnectorRefusal {
  /** The option of the connector. */
  readonly at: "allow" | "pins";
  /** As people write it. */
  readonly rule: string;
  /** The error of a call, read or render. */
  error(ref: string): ToolkitError;
}

/**
 * The origin of an item.
 *
 * `local` items were written by the user and are held to every rule; `remote` ones are taken as they are, for one odd schema must
 * not hide a tool.
 */
export type Origin = "local" | "remote";

/** The fields of every kind. */
type CommonFields = Pick<Definition, "origin" | "name" | "title" | "description" | "meta" | "server" | "refusal">;

/** The fields that depend on the kind. */
type OwnFields = { readonly kind: Kind } & Partial<Omit<Definition, "fingerprint" | keyof CommonFields>>;

/** The connector of an item, as far as its definition says of it. */
type ConnectorItem = Partial<Pick<Definition, "refusal" | "server">>;

/** A definition as it is read. Each has every field, in one order: code that reads definitions is compiled for one form of object. */
class ItemDefinition implements Definition {
  readonly origin: Origin;
  readonly kind: Kind;
  readonly name: string;
  readonly key: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly meta: Definition["meta"];
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  readonly inputSchema: SchemaLike | undefined;
  readonly outputSchema: SchemaLike | undefined;
  readonly annotations: ToolAnnotations | undefined;
  readonly options: ToolOptions | undefined;
  readonly version: string | undefined;
  readonly mediaType: string | undefined;
  readonly size: number | undefined;
  readonly server: Definition["server"];
  readonly refusal: ConnectorRefusal | undefined;
  #fingerprint: string | undefined;

  constructor(common: CommonFields, fields: OwnFields) {
    this.origin = common.origin;
    this.kind = fields.kind;
    this.name = common.name;
    this.key = fields.key ?? common.name;
    this.title = common.title;
    this.description = common.description;
    this.meta = common.meta;
    this.input = fields.input;
    this.output = fields.output;
    this.inputSchema = fields.inputSchema;
    this.outputSchema = fields.outputSchema;
    this.annotations = fields.annotations;
    this.options = fields.options;
    this.version = fields.version;
    this.mediaType = fields.mediaType;
    this.size = fields.size;
    this.server = common.server;
    this.refusal = common.refusal;
  }

  get fingerprint(): string {
    const { kind, name, key, title, description, input, output, annotations, version, mediaType, size } = this;
    // Without meta: servers put there what differs at each list.
    this.#fingerprint ??= digest([
      [kind, name, key, title, description, version, mediaType, size],
      [input, output, annotations],
    ]);
    return this.#fingerprint;
  }
}

/**
 * Reads what an item says of itself.
 *
 * @param from - of an item of a connector: why that refuses it, if it does, and its server
 * @throws ToolkitError `INVALID_NAME`, `RESERVED_NAME`, `INVALID_SCHEMA`, or `INVALID_INPUT` for what is no item
 */
export function readDefinition(item: Item, origin: Origin, { refusal, server }: ConnectorItem = {}): Definition {
  assertItem(item);
  const { name, title, description, meta } = item;
  if (origin === "local") assertName(item);
  const common = { origin, name, title, description, meta, refusal, server };
  return new ItemDefinition(common, readers[item.kind](item as never, origin));
}

type Reader<T> = (item: T, origin: Origin) => OwnFields;

const readers: {
  readonly tool: Reader<Tool>;
  readonly prompt: Reader<Prompt>;
  readonly resource: Reader<Resource>;
  readonly template: Reader<ResourceTemplate>;
} = {
  tool(tool, origin) {
    const { input = { type: "object" }, output, annotations, options } = tool;
    if (origin === "local") assertSettings(options, `of the tool "${tool.name}"`, "options");
    const wire =
      origin === "remote"
        ? (input as JsonSchema)
        : toObjectSchema(input, { what: `input schema of the tool "${tool.name}"`, direction: "input" });
    return {
      kind: "tool",
      input: wire,
      output: onWire(tool, "output", origin),
      // As it is written: what says no type describes an object all the same.
      inputSchema: isTypedSchema(input) ? input : wire,
      outputSchema: output,
      annotations,
      options,
      version: options?.version,
    };
  },
  prompt(prompt, origin) {
    const { input, output, version } = prompt;
    return {
      kind: "prompt",
      input: onWire(prompt, "input", origin),
      output: onWire(prompt, "output", origin),
      inputSchema: input,
      outputSchema: output,
      version,
    };
  },
  resource: ({ uri, mediaType, size }) => ({ kind: "resource", key: uri, mediaType, size }),
  template: ({ uriTemplate, mediaType }) => ({ kind: "template", key: uriTemplate, mediaType }),
};

/** A schema of an item as it is written on the wire. */
function onWire(item: Tool | Prompt, direction: "input" | "output", origin: Origin): JsonSchema | undefined {
  const schema = item[direction];
  if (schema === undefined || origin === "remote") return schema as JsonSchema | undefined;
  return toJsonSchema(schema, { what: `${direction} schema of the ${item.kind} "${item.name}"`, direction });
}

function assertName(item: Item): void {
  if (item.kind === "resource") assertUri(item.uri);
  else if (item.kind === "template") assertUri(item.uriTemplate);
  else if (!isOutputTool(item)) assertItemName(item.name, item.kind);
}

function assertItem(item: unknown): asserts item is Item {
  const kind = (item as { kind?: unknown } | null | undefined)?.kind;
  const method = kind === "tool" ? "run" : kind === "prompt" ? "render" : kind === "template" ? "resource" : undefined;
  const complete =
    kind === "resource"
      ? isResource(item)
      : method !== undefined && typeof (item as Record<string, unknown>)[method] === "function";
  if (complete && kinds.includes(kind as Kind)) return;
  const message =
    kind === "resource"
      ? "a resource must be made with resource.* or defineResource"
      : method !== undefined
        ? `a ${kind} needs the function ${method}`
        : `it must be a tool, a prompt, a resource or a template, and is ${typeName(item)}`;
  throw new ToolkitError("INVALID_INPUT", `This is no item: ${message}.`, { issues: [{ pointer: "", message }] });
}
