import { messageOf } from "../../src/core/error.ts";
import type { Job, JobType } from "../../src/jobs/job.ts";
import { all, isNumber, isText, isTrue, oneOf, optional } from "../../src/lib/field-checks.ts";

/** The plainest job: it comes to a text. */
export interface TaskJob extends Job {
  readonly status: "waiting" | "running" | "done" | "failed" | "cancelled" | "lost" | "expired";
  readonly expiresAt: number;
  readonly isRepeatable?: true | undefined;
  /** Deleted as soon as it ends, and when it expires. */
  readonly isFleeting?: true | undefined;
  readonly result?: string | undefined;
  readonly note?: string | undefined;
}

export const keepMs = 86_400_000;

export const taskType: JobType<TaskJob, string> = {
  collection: "run",
  one: "a task",
  many: "tasks",
  full: (limit) => `${limit} tasks are there already.`,
  remedy: (id) => `Delete ${id}.`,
  fields: {
    ...all(optional(isText), "result", "note"),
    ...all(optional(isTrue), "isRepeatable", "isFleeting"),
    status: oneOf("waiting", "running", "done", "failed", "cancelled", "lost", "expired"),
    expiresAt: isNumber,
  },
  expiresAt: ({ expiresAt }) => expiresAt,
  keptUntil: ({ settledAt = 0, isFleeting }) => (isFleeting ? 0 : settledAt + keepMs),
  isSpare: ({ status }) => status !== "lost",
  isRepeatable: ({ isRepeatable }) => isRepeatable === true,
  completed: (_job, result) => ({ status: "done", result }),
  failed: (_job, error) => ({ status: "failed", result: messageOf(error) }),
  lost: () => ({ status: "lost" }),
  expired: ({ isFleeting }) => (isFleeting ? undefined : { status: "expired" }),
};

export function task(id: string, fields: Partial<TaskJob> = {}): TaskJob {
  return { id, version: 0, session: { id: "s" }, status: "waiting", expiresAt: Number.MAX_SAFE_INTEGER, ...fields };
}
