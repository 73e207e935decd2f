import { serialize } from "node:v8";
import { ToolkitError } from "../core/error.ts";
import { errorToJson } from "../core/error-json.ts";
import type { Toolbox } from "../core/item.ts";
import { isVia, type OuterCall } from "../core/outer-call.ts";
import type { Session } from "../core/session.ts";
import type { Job, JobType } from "../jobs/job.ts";
import type { Jobs } from "../jobs/jobs.ts";
import { all, having, isNumber, isText, isTrue, oneOf, optional } from "../lib/field-checks.ts";
import { isRecord, present } from "../lib/value.ts";
import { visible } from "../lib/visible-text.ts";
import type { StepRecord } from "./step-record.ts";
import type { Workflow } from "./workflow-definition.ts";

/** The states of the steps of a run, by the id of the step, with `[n]` for each element it was done for. */
export type StepRecords = Readonly<Record<string, StepRecord>>;

/** The states of a run. */
export const workflowRunStatuses = ["running", "waiting", "succeeded", "failed", "cancelled"] as const;

/** The state of a run. `waiting`: one of its steps waits for an approval, or for work elsewhere. */
export type WorkflowRunStatus = (typeof workflowRunStatuses)[number];

/** A run of a workflow, as it is now. All of it is JSON. */
export interface WorkflowRun {
  readonly id: string;
  /** The ref of the workflow. */
  readonly ref: string;
  readonly status: WorkflowRunStatus;
  /** The workflow as it was when the run began: it goes on by this. */
  readonly workflow: Workflow;
  readonly input: unknown;
  readonly steps: StepRecords;
  /** The calls that it waits for: `id` is for `approvals`. */
  readonly waitsFor: readonly { readonly step: string; readonly id: string; readonly expiresAt: number | undefined }[];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly result?: unknown;
  /** As JSON: its code, message and details. */
  readonly error?: unknown;
  /** The principal of its session, if any. */
  readonly principal?: string | undefined;
  /** It can go on only in the process where it began: it is confined to a view. */
  readonly isLocal: boolean;
}

/** A run as it is kept. */
export interface StoredRun extends Job {
  readonly status: WorkflowRunStatus;
  readonly ref: string;
  readonly workflow: Workflow;
  readonly input: unknown;
  readonly steps: StepRecords;
  readonly startedAt: number;
  /** Until when it may go on. */
  readonly expiresAt: number;
  /** For how long it was at work, without the time in which it waited, in milliseconds. */
  readonly spentMs: number;
  /** The approval by which its caller waits for it, once it has. */
  readonly caller?: string | undefined;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** The calls around it, and its own last. */
  readonly via?: readonly OuterCall[] | undefined;
  readonly isLocal?: true | undefined;
  /** It was called without a session: that of its record is made up. */
  readonly isAnonymous?: true | undefined;
  /** Set once a part of it was moved out of its record. Until its end the record has neither its start nor the states of steps in pieces. */
  readonly pieces?: PiecesOfRun | undefined;
}

/** The pieces of a run: so many that one holder wrote. */
export interface PiecesOfRun {
  readonly id: string;
  readonly count: number;
}

/** The end of a run. */
export type RunEnd = Pick<StoredRun, "status" | "steps" | "spentMs" | "result" | "error">;

/** The part of a run that only the process knows in which it began. */
export interface LocalWorkflowRun {
  /** Of the call that it was: what goes on through it sees as much. */
  readonly toolbox: Toolbox;
}

export type WorkflowJobs = Jobs<StoredRun, RunEnd, LocalWorkflowRun>;

/** @param keepMs - the time for which a run is kept after its end */
export function workflowRunType(keepMs: number): JobType<StoredRun, RunEnd> {
  const lost = (run: StoredRun) => ({ status: "failed", error: errorToJson(lostRun(run)) }) as const;
  return {
    collection: "workflow",
    one: "a workflow run",
    many: "workflow runs",
    full: (limit) =>
      `${limit} runs of workflows have not ended, and no more are kept. Wait until some end, or cancel some.`,
    remedy: () => "Delete it.",
    bytesOf: ({ input, meta }) => serialize([input, meta]).byteLength,
    fields,
    toJson: ({ pieces, settledAt }) =>
      pieces === undefined || settledAt !== undefined ? {} : { workflow: undefined, input: undefined, meta: undefined },
    fromJson: (run) => {
      // Of a process that knows pieces; `join` adds it.
      if (run.pieces !== undefined && run.settledAt === undefined) return run;
      if (isRecord(run.workflow)) return run;
      throw new TypeError("its workflow is not valid");
    },
    expiresAt: ({ expiresAt }) => expiresAt,
    keptUntil: ({ settledAt = 0 }) => settledAt + keepMs,
    isSpare: () => true,
    // Its steps are not: each is repeated only where that is safe.
    isRepeatable: ({ isLocal }) => isLocal !== true,
    completed: (_run, end) => end,
    failed: (_run, error) => ({ status: "failed", error }),
    lost,
    expired: lost,
  };
}

/** True for states of steps. */
export const isSteps = (value: unknown) =>
  isRecord(value) && Object.values(value).every(having<StepRecord>({ state: isText, startedAt: isNumber }));

const fields: JobType<StoredRun, RunEnd>["fields"] = {
  ...all(isNumber, "startedAt", "expiresAt", "spentMs"),
  ...all(optional(isTrue), "isLocal", "isAnonymous"),
  status: oneOf(...workflowRunStatuses),
  ref: isText,
  workflow: optional(having<Workflow>({ name: isText, steps: Array.isArray })),
  input: () => true,
  steps: isSteps,
  caller: optional(isText),
  result: () => true,
  error: optional(isRecord),
  meta: optional(isRecord),
  via: optional(isVia),
  pieces: optional(having<PiecesOfRun>({ id: isText, count: isNumber })),
};

/** The approvals that its steps wait for. */
export function waitsOf({ steps }: Pick<StoredRun, "steps">): WorkflowRun["waitsFor"] {
  return waitingSteps(steps).flatMap(([step, { approval: id, waitsFor = [], expiresAt }]) =>
    id === undefined ? waitsFor.map((wait) => ({ step, ...wait })) : [{ step, id, expiresAt }],
  );
}

/** The runs of prompts that it waits for. */
export function awaitedPrompts({ steps }: Pick<StoredRun, "steps">): readonly string[] {
  return waitingSteps(steps).flatMap(([, { prompt = [] }]) => prompt);
}

function waitingSteps(steps: StepRecords) {
  return Object.entries(steps).filter(([, { state }]) => state === "waiting");
}

/** A run for its reader. */
export function toWorkflowRun(run: StoredRun): WorkflowRun {
  const { id, ref, status, workflow, input, steps, startedAt, settledAt: endedAt, result, error, session } = run;
  // A run that was cancelled while it waited has steps that say so, and waits no more.
  const waitsFor = endedAt === undefined ? waitsOf(run) : [];
  return Object.freeze({
    ...{ id, ref, status, workflow, input, steps, waitsFor, startedAt, isLocal: run.isLocal === true },
    ...present({ endedAt, result, error, principal: session.principal }),
  });
}

/** One principal never learns of the runs of another. Without a session it is the service itself that asks. */
export function isRunOf({ session: { principal } }: StoredRun, session: Session | undefined): boolean {
  return session === undefined || session.principal === principal;
}

/** The error for an id that no run has; said of the run of another principal in the same words. */
export function noRun(id: string): ToolkitError<"NOT_FOUND"> {
  const message = `There is no run "${visible(id)}" of a workflow. It may have ended a while ago, or it is in another store.`;
  return new ToolkitError("NOT_FOUND", message, { key: id, suggestions: [] });
}

/** The error for a run that cannot be cancelled. */
export function runConflict({ id, ref }: StoredRun, why: string): ToolkitError<"CONFLICT"> {
  return new ToolkitError("CONFLICT", `The run "${id}" of ${ref} was not cancelled: ${why}.`, { key: id, owners: [] });
}

/** The error of a run that was cancelled: each caller gets one of its own. */
export function runCancelled({ id, ref }: Pick<StoredRun, "id" | "ref">): ToolkitError<"CLOSED"> {
  return new ToolkitError("CLOSED", `The run "${id}" of ${ref} was cancelled.`, { what: "run" }, { ref });
}

function lostRun({ id, ref }: StoredRun): ToolkitError<"OUTCOME_UNKNOWN"> {
  const message = `It is not known how far the run "${id}" of ${ref} came: its process is gone, and no other could go on with it in time. See its steps.`;
  return new ToolkitError("OUTCOME_UNKNOWN", message, { namespace: ref.slice(0, ref.indexOf(".")) }, { ref });
}
