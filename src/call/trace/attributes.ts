import type { Attributes } from "@opentelemetry/api";
import { definitionOf } from "../../core/entry.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { type ErrorCode, errorCatalog } from "../../core/error-catalog.ts";
import { inlineNamespace } from "../../core/identifier.ts";
import type { Entry } from "../../core/item.ts";

/** What a toolbox is asked to do with an item. */
export type Verb = "call" | "read" | "render";

/** What is done: the first word of a span's name. */
export type Operation = "execute_tool" | "invoke_agent" | "read_resource" | "render_prompt";

/** How it ended: well, aborted by whoever called, or with the code of an error. */
export type Outcome = "ok" | "aborted" | "_OTHER" | ErrorCode;

/** So much is kept of what a caller wrote and nothing has for a name. */
const maxKeyLength = 256;

/** What a verb means for an item. What was not found was most likely a tool. */
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
 * What a span says from its beginning, where a sampler sees it.
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
  };
}

/** What every measurement of an operation says of it. Only what a catalogue has counts: its number is bounded. */
export function metricAttributes(operation: Operation, entry: Entry | undefined): Attributes {
  if (entry === undefined) return { "toolweave.operation": operation };
  const namespace = { "toolweave.operation": operation, "toolweave.namespace": entry.namespace };
  // A template has any number of resources, and tools that are in no catalogue may be made at will.
  const bounded = entry.kind !== "resource" && entry.namespace !== inlineNamespace;
  return bounded ? { ...namespace, "toolweave.ref": entry.ref } : namespace;
}

/** What the conventions call the item. */
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

/** Who may read which page is no news for those who read spans; a password in a URI is. */
export function withoutUserInfo(text: string): string {
  return text.replace(/(:\/\/)[^/?#@\s]*@/, "$1");
}

/** Codes whose messages are ours alone. Others may quote what was passed to a tool, or what it said. */
const plain: ReadonlySet<ErrorCode> = new Set([
  "NOT_FOUND",
  "AMBIGUOUS_NAME",
  "DENIED",
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

/** What a span says of an error. What quotes content is said only where content is recorded. */
export function errorText(error: unknown, recordContent: boolean): string {
  if (!ToolkitError.is(error)) return recordContent ? messageOf(error) : "It failed.";
  const { code, message } = error;
  return recordContent || plain.has(code) ? withoutUserInfo(message) : errorCatalog[code].summary;
}
