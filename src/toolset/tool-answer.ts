import { messageOf, ToolkitError } from "../core/error.ts";
import type { Content } from "../core/resource.ts";
import type { CallReport } from "../core/session.ts";
import { systemClock } from "../lib/clock.ts";
import { didYouMean, nearest } from "../lib/similar.ts";
import { isRecord } from "../lib/value.ts";
import { stripInvisible } from "../lib/visible-text.ts";
import type { KnownCall } from "./run-policy.ts";
import type { ToolAnswer, ToolCall } from "./toolset-types.ts";

/** The run of a call, for its answer. */
export interface CallRun {
  readonly isForced: boolean;
  /** Undefined for a call that did not run. */
  readonly startedAt?: number | undefined;
  /** Filled in by the call. */
  readonly report: CallReport;
}

/** The answer of a call that succeeded. */
export function succeeded(known: KnownCall, run: CallRun, content: Content): ToolAnswer {
  return Object.freeze({ ...about(known, run), status: "ok", content, references: referencesOf(content) });
}

/** The answer of a call that ran and failed; an error of another kind is the reason with which something else aborted it. */
export function failed(known: KnownCall, run: CallRun, error: unknown): ToolAnswer {
  if (ToolkitError.is(error)) return Object.freeze({ ...about(known, run), ...failure(error) });
  const { ref } = known.callee;
  const message = `${ref} was ended: ${messageOf(error)}`;
  const ended = new ToolkitError("TOOL_FAILED", message, {}, { cause: error, ref, phase: "execute" });
  return Object.freeze({ ...about(known, run), ...failure(ended) });
}

/** The answer of a call that a rule refuses, and that did not run. */
export function refused(known: KnownCall, isForced: boolean, error: ToolkitError): ToolAnswer {
  const run = { isForced, report: { attempts: 0 } };
  return Object.freeze({ ...about(known, run), ...failure(error) });
}

/** The answer of a call that names no tool. */
export function notFound({ id, name }: ToolCall, aliases: readonly string[]): ToolAnswer {
  const suggestions = nearest(name, aliases);
  const hint = didYouMean(suggestions, `There are ${few(aliases)}.`);
  const message = `There is no tool "${name}". ${aliases.length === 0 ? "There are no tools." : hint}`;
  const error = new ToolkitError("NOT_FOUND", message, { key: name, suggestions }, { phase: "resolve" });
  return notRun({ id, name }, error);
}

/** The answer of a call whose arguments cannot be parsed. */
export function malformed({ id, name, malformed: reason }: ToolCall): ToolAnswer {
  const message = `The arguments of ${name} are no JSON: ${reason}. Nothing ran. Call it again with valid JSON.`;
  const issues = [{ pointer: "", message: "is no JSON" }];
  return notRun({ id, name }, new ToolkitError("INVALID_INPUT", message, { issues }));
}

/** The failed answer of a call that was never made. */
function notRun({ id, name }: Pick<ToolCall, "id" | "name">, error: ToolkitError): ToolAnswer {
  const debug = { forced: false, exclusive: false, cached: false, attempts: 0 };
  return Object.freeze({ id, name, ...failure(error), durationMs: 0, debug });
}

/** The answer for one of identical calls: that of the first, under its own id. */
export function shared(answer: ToolAnswer, { id }: ToolCall, duplicateOf: string): ToolAnswer {
  if (id === answer.id) return answer;
  return Object.freeze({ ...answer, id, debug: { ...answer.debug, duplicateOf } });
}

/** URIs of the resources that a result holds or links to, each once, in order. */
export function referencesOf(content: Content): readonly string[] {
  const mcp = content.meta?.mcp;
  const blocks = isRecord(mcp) && Array.isArray(mcp.content) ? mcp.content.filter(isRecord) : [];
  const linked = blocks.map(({ type, uri, resource }) => {
    if (type === "resource_link") return uri;
    return type === "resource" && isRecord(resource) ? resource.uri : undefined;
  });
  const own = (content.parts ?? []).map(({ uri }) => uri).filter((uri) => !/^(text|json|data):/.test(uri));
  const uris = [...linked, ...own].filter((uri) => typeof uri === "string");
  // The URI of a part is what the server sent.
  return [...new Set(content.meta?.untrusted === undefined ? uris : uris.map(stripInvisible))];
}

function about({ call: { id, name }, callee }: KnownCall, { isForced, startedAt, report }: CallRun) {
  const durationMs = startedAt === undefined ? 0 : systemClock.now() - startedAt;
  const { namespace: origin, ref, options } = callee;
  const exclusive = options?.exclusive === true;
  const { cached = false, attempts = 1 } = report;
  return { id, name, ref, durationMs, debug: { origin, forced: isForced, exclusive, cached, attempts } };
}

function failure(error: ToolkitError): Pick<ToolAnswer, "status" | "error" | "references"> {
  return { status: statusOf(error), error, references: [] };
}

/** The status of a call that failed with an error: one that was refused did not run. */
export function statusOf({ code }: ToolkitError): "pending" | "denied" | "failed" {
  if (code === "PENDING") return "pending";
  return code === "DENIED" || code === "QUARANTINED" ? "denied" : "failed";
}

/** Names for a message that a model reads. */
function few(names: readonly string[]): string {
  const most = 30;
  const rest = names.length - most;
  return rest > 0 ? `${names.slice(0, most).join(", ")} and ${rest} more` : names.join(", ");
}
