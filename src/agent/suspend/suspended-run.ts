import type { LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import { errorToJson } from "../../core/error-json.ts";
import { denied } from "../../core/policy.ts";
import { toJsonSchema } from "../../core/schema/json-schema.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import type { CallOptions, Session } from "../../core/session.ts";
import type { Lease } from "../../jobs/lease.ts";
import { present } from "../../lib/value.ts";
import type { ForgetOptions, WaitingRun } from "../agent.ts";
import type { KnownLimits, RunLimits } from "../agent-options.ts";
import type { Results } from "../run/run-results.ts";
import type { RunState } from "../run/run-state.ts";
import type { Task } from "../run/task.ts";
import type { WaitingCall, WaitingTurn } from "../run/tool-turn.ts";

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

/** What a run came to: a Content, or an error, as JSON. */
export type RunOutcome = { readonly content: unknown } | { readonly error: unknown };

/** A run that waits, as it is kept: all of it is JSON. */
export interface SuspendedRun {
  readonly id: string;
  /** `running` while somebody goes on with it; `finished` where another run, of which it is a part, has still to hear what it came to; `lost` where whoever went on with it is gone. */
  readonly status: "suspended" | "running" | "finished" | "lost";
  /** Who goes on with it. */
  readonly lease?: Lease | undefined;
  /** Another run waits for it. */
  readonly isAwaited?: true | undefined;
  /** What it came to. */
  readonly outcome?: RunOutcome | undefined;
  readonly task: Omit<Task, "messages" | "ownTools" | "output"> & { readonly output?: JsonSchema | undefined };
  readonly state: RunState;
  readonly results: ReturnType<Results["toJSON"]>;
  /** Those that are finite. */
  readonly limits: RunLimits;
  readonly turn: {
    readonly parts: readonly (LanguageModelV4ToolResultPart | null)[];
    readonly waiting: readonly StoredWait[];
  };
  readonly session: Omit<Session, "log" | "elicit" | "sample">;
  readonly meta?: CallOptions["meta"];
  /** Only where it began can it go on: it has tools that were handed over, or is confined to a view. */
  readonly isLocal?: true | undefined;
  /** In milliseconds since the epoch. */
  readonly suspendedAt: number;
}

/** The error of a run that waits, by whose id it is resumed. */
export function pendingRun({ id, task, turn }: SuspendedRun): ToolkitError<"PENDING"> {
  const waitsFor = turn.waiting.map(({ id: waitsForId, ref, reason, message }) => ({
    id: waitsForId,
    tool: ref,
    reason,
    message,
  }));
  const [first] = turn.waiting;
  const what = waitsFor.map(({ tool, id: waitsForId }) => `${tool} (${waitsForId})`).join(", ");
  const message = `${task.ref} waits for ${what}. Once that is settled, agent.resume("${id}") goes on.`;
  return new ToolkitError("PENDING", message, {
    id,
    reason: first?.reason ?? "pending",
    message,
    tool: task.ref,
    arguments: undefined,
    expiresAt: Math.min(...turn.waiting.map(({ expiresAt }) => expiresAt)),
    metadata: { run: id, waitsFor },
  });
}

/** What of a run is for those who look after the ones that wait. */
export function waitingRun(run: SuspendedRun, now: number): WaitingRun {
  const { id, task, status, suspendedAt, turn, session, isLocal, lease } = run;
  const isGone = status === "running" && (lease?.until ?? 0) <= now;
  return Object.freeze({
    id,
    ref: task.ref,
    status: isGone || status === "finished" ? "lost" : status,
    since: suspendedAt,
    expiresAt: Math.min(...turn.waiting.map(({ expiresAt }) => expiresAt)),
    waitsFor: Object.freeze(
      turn.waiting.map(({ id: waitsForId, ref: tool, reason, message, expiresAt }) =>
        Object.freeze({ id: waitsForId, tool, reason, message, expiresAt }),
      ),
    ),
    isLocal: isLocal === true,
    ...present({ principal: session.principal }),
  });
}

/** Until when a run is kept that nobody comes for: so long after all that it waits for is over. */
export function keptUntil({ suspendedAt, turn }: SuspendedRun, keepMs: number): number {
  return Math.max(suspendedAt, ...turn.waiting.map(({ expiresAt }) => expiresAt)) + keepMs;
}

/** A run that was given up, for another that waits for it. */
export function givenUp(run: SuspendedRun, { by, reason }: Pick<ForgetOptions, "by" | "reason">): SuspendedRun {
  const why = [by === undefined ? "it was given up" : `${by} gave it up`, reason].filter((text) => text !== undefined);
  const error = errorToJson(denied(run.task.ref, "approval", { why: why.join(": "), by, reason }));
  return { ...run, status: "finished", outcome: { error } };
}

/** What a run that waits is made of. */
export interface Suspension {
  readonly task: Task;
  readonly state: RunState;
  readonly results: Results;
  readonly turn: WaitingTurn;
  readonly limits: KnownLimits;
  readonly isLocal: boolean | undefined;
  readonly now: number;
  /** Whose run it is. */
  readonly caller: { readonly session: Session; readonly meta?: CallOptions["meta"] };
}

/** A run as it is kept. */
export function suspendedRun({ task, state, results, turn, limits, isLocal, now, caller }: Suspension): SuspendedRun {
  const { messages: _messages, ownTools: _ownTools, output, ...rest } = task;
  const schema =
    output === undefined ? undefined : toJsonSchema(output, { what: "output schema", direction: "output" });
  const { id, principal, clientInfo, capabilities, meta } = caller.session;
  return {
    id: state.id,
    status: "suspended",
    task: { ...rest, ...present({ output: schema }) },
    state,
    results: results.toJSON(),
    limits: Object.fromEntries(Object.entries(limits).filter(([, limit]) => Number.isFinite(limit))),
    turn: { parts: turn.parts, waiting: turn.waiting.flatMap(storedWait) },
    session: { id, ...present({ principal, clientInfo, capabilities, meta }) },
    suspendedAt: now,
    ...(caller.meta === undefined ? {} : { meta: caller.meta }),
    ...(isLocal ? { isLocal: true as const } : {}),
  };
}

function storedWait({ index, takesControl, answer }: WaitingCall): StoredWait[] {
  const { id: callId, name, ref = name, error } = answer;
  if (!ToolkitError.is(error, "PENDING")) return [];
  const { id, reason, message, expiresAt } = error.details;
  return [{ index, takesControl, callId, name, ref, id, reason, message, expiresAt }];
}
