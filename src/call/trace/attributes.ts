import type { Attributes } from "@opentelemetry/api";
import { definitionOf } from "../../core/entry.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { type ErrorCode, errorCatalog } from "../../core/error-catalog.ts";
import { inlineNamespace } from "../../core/identifier.ts";
import type { Entry } from "../../core/item.ts";
import type { Verb } from "../../core/middleware.ts";

/** The first word of a span's name. */
export type Operation = "execute_tool" | "invoke_agent" | "read_resource" | "render_prompt";

/** The end of a call: well, aborted by its caller, or with the code of an error. */
export type CallOutcome = "ok" | "aborted" | "_OTHER" | ErrorCode;

/** So much is kept of what a caller wrote and nothing has for a name. */
const maxKeyLength = 256;

/** The operation of a verb on an item. An item that was not found was most likely a tool. */
export function operationOf(verb: Verb, entry: Entry | undefined): Operation {
  if (verb === "read") return "read_resource";
  if (verb === "render") return "render_prompt";
  return entry?.kind === "prompt" ? "invoke_agent" : "execute_tool";
}

/** The name of a span: of low cardinality, so without what nothing has for a name, and without URIs. */
export function spanName(operation: Operation, entry: Entry | undefined): string {
  return entry === undefined || entry.kind === "resource" ? operation : `${operation} ${entry.name}`;
}

/**
 * The attributes of a span from its beginning, where a sampler sees them.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai
 */
export function spanAttributes(operation: Operation, entry: Entry | undefined, key: string): Attributes {
  if (entry === undefined) {
    return { ...operationAttributes(operation), "toolweave.key": withoutUserInfo(key.slice(0, maxKeyLength)) };
  }
  return {
    ...operationAttributes(operation),
    ...itemAttributes(operation, entry),
    "toolweave.ref": withoutUserInfo(entry.ref),
    "toolweave.namespace": entry.namespace,
    ...labelAttributes(entry),
  };
}

/** The attributes of every measurement of an operation. Only items of a catalogue are named: their number is bounded. */
export function metricAttributes(operation: Operation, entry: Entry | undefined): Attributes {
  if (entry === undefined) return { "toolweave.operation": operation };
  const namespace = { "toolweave.operation": operation, "toolweave.namespace": entry.namespace };
  // A template has any number of resources, and tools that are in no catalogue may be made at will.
  const bounded = entry.kind !== "resource" && entry.namespace !== inlineNamespace;
  return bounded ? { ...namespace, "toolweave.ref": entry.ref, ...labelAttributes(entry) } : namespace;
}

/** The labels of a tool, by the name of their attribute. Each is `toolweave.label.<name>`, so that none takes the place of another attribute. */
function labelAttributes(entry: Entry): Attributes {
  const { labels } = definitionOf(entry).options ?? {};
  if (labels === undefined) return none;
  const known = attributesOf.get(labels) ?? namedAttributes(labels);
  attributesOf.set(labels, known);
  return known;
}

const none: Attributes = {};
const attributesOf = new WeakMap<object, Attributes>();

function namedAttributes(labels: Readonly<Record<string, string>>): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`toolweave.label.${name}`, value]));
}

/** The item as the conventions name it. */
export function itemAttributes(operation: Operation, entry: Entry): Attributes {
  if (operation === "execute_tool") return { "gen_ai.tool.name": entry.name, "gen_ai.tool.type": "function" };
  if (operation === "invoke_agent") return { "gen_ai.agent.name": entry.name };
  return operation === "render_prompt" ? { "gen_ai.prompt.name": entry.name } : {};
}

/** True where another process does the work. */
export function isRemote(entry: Entry | undefined): boolean {
  return entry !== undefined && definitionOf(entry).origin === "remote";
}

// The conventions have no operation for reading and rendering.
function operationAttributes(operation: Operation): Attributes {
  const named = operation === "execute_tool" || operation === "invoke_agent";
  return { "toolweave.operation": operation, ...(named ? { "gen_ai.operation.name": operation } : {}) };
}

/** Removes user and password from a URI in a text: readers of spans are not to see them. */
export function withoutUserInfo(text: string): string {
  return text.replace(/(:\/\/)[^/?#@\s]*@/, "$1");
}

/** Codes whose messages are ours alone. Others may quote what was passed to a tool, or what it said. */
const plain: ReadonlySet<ErrorCode> = new Set([
  "NOT_FOUND",
  "AMBIGUOUS_NAME",
  "DENIED",
  "QUARANTINED",
  "RATE_LIMITED",
  "TIMEOUT",
  "UNAVAILABLE",
  "UNAUTHORIZED",
  "OUTCOME_UNKNOWN",
  "LIMIT_EXCEEDED",
  "DEPTH_EXCEEDED",
  "NO_DELEGATE",
  "CLOSED",
]);

/** The text of an error in a span. A message that may quote content is left out unless content is recorded. */
export function errorText(error: unknown, recordContent: boolean): string {
  if (!ToolkitError.is(error)) return recordContent ? messageOf(error) : "It failed.";
  const { code, message } = error;
  return recordContent || plain.has(code) ? withoutUserInfo(message) : errorCatalog[code].summary;
}
