import type { LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import { errorToJson } from "../../core/error-json.ts";
import { userNamespace } from "../../core/identifier.ts";
import { type OuterCall, unknownCall } from "../../core/outer-call.ts";
import { denied } from "../../core/policy.ts";
import { toJsonSchema } from "../../core/schema/json-schema.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import type { CallOptions, Session } from "../../core/session.ts";
import { type Job, type JobChange, type JobFields, storedSession } from "../../jobs/job.ts";
import { present } from "../../lib/value.ts";
import { visible } from "../../lib/visible-text.ts";
import type { ForgetOptions, WaitingRun } from "../agent.ts";
import type { KnownLimits, RunLimits } from "../agent-options.ts";
import type { OwnedResults, RunResults } from "../run/run-results.ts";
import type { RunState } from "../run/run-state.ts";
import type { Task } from "../run/task.ts";
import type { WaitingTurn } from "../run/tool-turn.ts";

/** A call that a suspended run waits for. */
export interface StoredWait {
  readonly index: number;
  readonly takesControl: boolean;
  /** Of the model. */
  readonly callId: string;
  readonly name: string;
  /** The ref of what was called. */
  readonly ref: string;
  /** Of the approval, or of a sub-agent's run. */
  readonly id: string;
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** A run that waits, as it is kept: all of it is JSON. */
export interface SuspendedRun extends Job {
  /**
   * `running` while it is claimed; `finished` where another run, of which it is a part, has still to read its outcome; `lost` where its
   * holder is gone.
   */
  readonly status: "suspended" | "running" | "finished" | "lost";
  /** Another run waits for it. */
  readonly isAwaited?: true | undefined;
  /** Its outcome: a Content, or an error, as JSON. */
  readonly outcome?: { readonly content: unknown } | { readonly error: unknown } | undefined;
  readonly task: Omit<Task, "messages" | "ownTools" | "output"> & { readonly output?: JsonSchema | undefined };
  readonly state: RunState;
  readonly results: OwnedResults;
  /** Those that are finite. */
  readonly limits: RunLimits;
  readonly turn: {
    readonly parts: readonly (LanguageModelV4ToolResultPart | null)[];
    readonly waiting: readonly StoredWait[];
  };
  readonly meta?: CallOptions["meta"];
  /** The calls around it, the outermost first, and its own last. Missing in a record of an early version. */
  readonly via?: readonly OuterCall[] | undefined;
  /** It can go on only where it began: it has tools that were handed over, or is confined to a view. */
  readonly isLocal?: true | undefined;
  /** In milliseconds since the epoch. */
  readonly suspendedAt: number;
}

/** The parts of a run that begins to wait. */
export interface Suspension {
  readonly task: Task;
  readonly state: RunState;
  readonly results: RunResults;
  readonly turn: WaitingTurn;
  readonly limits: KnownLimits;
  readonly isLocal: boolean | undefined;
  readonly now: number;
  readonly caller: { readonly session: Session; readonly meta?: CallOptions["meta"] };
  readonly via: readonly OuterCall[] | undefined;
}

/** A run as it is kept. */
export function suspendedRun(suspension: Suspension): SuspendedRun {
  const { state, caller } = suspension;
  return { id: state.id, version: 0, session: storedSession(caller.session), ...suspendedFields(suspension) };
}

/** The fields that are kept of a run whenever it begins to wait. */
export function suspendedFields(suspension: Suspension): JobFields<SuspendedRun> {
  const { task, state, results, turn, limits, isLocal, now, caller, via } = suspension;
  const { messages: _messages, ownTools: _ownTools, output, ...rest } = task;
  const schema = output && toJsonSchema(output, { what: "output schema", direction: "output" });
  return {
    status: "suspended",
    task: { ...rest, ...present({ output: schema }) },
    state,
    results: results.toJSON(),
    limits: Object.fromEntries(Object.entries(limits).filter(([, limit]) => Number.isFinite(limit))),
    turn: { parts: turn.parts, waiting: turn.waiting.flatMap(storedWait) },
    suspendedAt: now,
    ...present({ meta: caller.meta, via, isLocal: isLocal === true || undefined }),
  };
}

function storedWait({ index, takesControl, answer }: WaitingTurn["waiting"][number]): StoredWait[] {
  const { id: callId, name, ref = name, error } = answer;
  if (!ToolkitError.is(error, "PENDING")) return [];
  const { id, reason, message, expiresAt } = error.details;
  return [{ index, takesControl, callId, name, ref, id, reason, message, expiresAt }];
}

/** The calls around a run, and its own last. Of a record without them its own is known, and no more. */
export function wayOfRun({ via, task: { ref }, session }: SuspendedRun): readonly OuterCall[] {
  if (via !== undefined) return via;
  const unknown = unknownCall(session);
  const owner = ref.startsWith(`${userNamespace}.`) ? unknown.owner : undefined;
  return [unknown, { kind: "prompt", ref, ...present({ owner }) }];
}

/** The error of a run that waits, by whose id it is resumed. */
export function pendingRun({ id, task, turn }: Pick<SuspendedRun, "id" | "task" | "turn">): ToolkitError<"PENDING"> {
  const waitsFor = turn.waiting.map(({ id: waitsForId, ref: tool, reason, message }) => {
    return { id: waitsForId, tool, reason, message };
  });
  const what = waitsFor.map(({ tool, id: waitsForId }) => `${tool} (${waitsForId})`).join(", ");
  const message = `${task.ref} waits for ${what}. Once that is settled, agent.resume("${id}") goes on.`;
  const reason = waitsFor[0]?.reason ?? "pending";
  const details = { id, reason, message, tool: task.ref, arguments: undefined, expiresAt: expiryOf(turn) };
  return new ToolkitError("PENDING", message, { ...details, metadata: { run: id, waitsFor } });
}

/** A run for those who look after the ones that wait. */
export function waitingRun({ id, task, status, suspendedAt, turn, session, isLocal }: SuspendedRun): WaitingRun {
  return Object.freeze({
    id,
    ref: task.ref,
    status: status === "finished" ? "lost" : status,
    since: suspendedAt,
    expiresAt: expiryOf(turn),
    waitsFor: Object.freeze(
      turn.waiting.map(({ id: waitsForId, ref: tool, reason, message, expiresAt }) =>
        Object.freeze({ id: waitsForId, tool, reason, message, expiresAt }),
      ),
    ),
    isLocal: isLocal === true,
    ...present({ principal: session.principal }),
  });
}

/** The outcome of a run that was given up. */
export function givenUp(
  { task }: SuspendedRun,
  { by, reason }: Pick<ForgetOptions, "by" | "reason">,
): JobChange<SuspendedRun> {
  const why = [by === undefined ? "it was given up" : `${by} gave it up`, reason].filter((text) => text !== undefined);
  const error = errorToJson(denied(task.ref, "approval", { why: why.join(": "), by, reason }));
  return { status: "finished", outcome: { error } };
}

function expiryOf({ waiting }: SuspendedRun["turn"]): number {
  return Math.min(...waiting.map(({ expiresAt }) => expiresAt));
}

type Named = Pick<SuspendedRun, "id" | "task">;

/** The error for an id that no run has; said of the run of another principal in the same words. */
export function noRun(id: string): ToolkitError<"NOT_FOUND"> {
  const message = `There is no suspended run "${visible(id)}". It may have ended or been forgotten, or it is in another store.`;
  return new ToolkitError("NOT_FOUND", message, { key: id, suggestions: [] });
}

/** The error for a run that cannot go on here, or not now. */
export function runConflict({ id, task }: Named, why: string): ToolkitError<"CONFLICT"> {
  const message = `The run "${id}" of ${task.ref} cannot be resumed here: ${why}.`;
  return new ToolkitError("CONFLICT", message, { key: id, owners: [] });
}

/** The error for a run whose holder is gone: it is not known how far it went. */
export function lostRun({ id, task: { ref } }: Named): ToolkitError<"OUTCOME_UNKNOWN"> {
  const message = `The process that resumed the run "${id}" of ${ref} is gone. Its last calls may have run, so they are not repeated: check that, then start a new run. agent.forget("${id}") removes this one.`;
  return outcomeUnknown(ref, message);
}

/** The error for a call whose approval, or whose run, is not kept any more. */
export function forgottenCall(ref: string, id: string, cause: unknown): ToolkitError<"OUTCOME_UNKNOWN"> {
  const message = `The outcome of ${ref} is not known any more: the record "${id}" that the run waited for is gone. It may have run: check that before you call it again.`;
  return outcomeUnknown(ref, message, cause);
}

function outcomeUnknown(ref: string, message: string, cause?: unknown): ToolkitError<"OUTCOME_UNKNOWN"> {
  const namespace = ref.slice(0, Math.max(0, ref.indexOf(".")));
  return new ToolkitError("OUTCOME_UNKNOWN", message, { namespace }, { ref, cause });
}
