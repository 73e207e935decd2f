import { ToolkitError } from "../../core/error.ts";
import { errorFromJson } from "../../core/error-json.ts";
import type { CallContext } from "../../core/item.ts";
import type { Content } from "../../core/resource.ts";
import type { SuspendedPrompt } from "../../core/served-toolkit.ts";
import { contentFromJson } from "../../resource/from-json.ts";
import { referencesOf, statusOf } from "../../toolset/tool-answer.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import { forgottenCall, pendingRun, type StoredWait, type SuspendedRun } from "./suspended-run.ts";
import type { FoundRun, Suspensions } from "./suspensions.ts";

/** Goes on with the run of a sub-agent, in the context of the call that waits for it. */
type ResumeChild = (id: string, context: CallContext) => Promise<Content>;

const debug = { forced: false, exclusive: false, cached: false, attempts: 1 };

/**
 * The outcome of a call that a run waits for.
 *
 * @throws the reason of an abort, and failures that are none of the call, such as `STORE_FAILED`
 */
export async function outcomeOf(
  wait: StoredWait,
  found: FoundRun,
  context: CallContext,
  resume: ResumeChild,
): Promise<ToolAnswer> {
  const { callId: id, name, ref } = wait;
  const about = { id, name, ref, durationMs: 0, debug };
  try {
    const content = await contentOf(wait, found, context, resume);
    return { ...about, status: "ok", content, references: referencesOf(content) };
  } catch (error) {
    context.signal.throwIfAborted();
    if (!ToolkitError.is(error) || error.code === "STORE_FAILED" || error.code === "CLOSED") throw error;
    return { ...about, status: statusOf(error), error, references: [] };
  }
}

async function contentOf(
  { id, ref }: StoredWait,
  { jobs, toolkit: { approvals } }: FoundRun,
  context: CallContext,
  resume: ResumeChild,
): Promise<Content> {
  const child = await jobs.get(id);
  if (child !== undefined) {
    return resume(id, context).catch((error) => {
      // Another goes on with it: it is waited for still.
      throw ToolkitError.is(error, "CONFLICT") && error.details.key === id ? pendingRun(child) : error;
    });
  }
  const approval = await approvals.get(id).catch((error) => {
    throw ToolkitError.is(error, "NOT_FOUND") ? forgottenCall(ref, id, error) : error;
  });
  if (approval.status !== "pending") return approvals.wait(id, context);
  const { reason, message, tool, expiresAt } = approval;
  throw new ToolkitError("PENDING", message, { id, reason, message, tool, arguments: approval.arguments, expiresAt });
}

/** The outcome of a run that another one waits for. It is kept until that one has it. */
export function finishedContent({ outcome }: SuspendedRun): Content {
  if (outcome !== undefined && "content" in outcome) return contentFromJson(outcome.content);
  throw errorFromJson(outcome?.error);
}

/** Refuses a run of whose calls none is settled. @throws ToolkitError `PENDING`: it need not be taken up */
export async function assertSettled(found: FoundRun): Promise<void> {
  const awaited = await awaitedBy(found);
  if (awaited.every(({ approval }) => approval?.status === "pending")) throw pendingRun(found.run);
}

/** Waits until all that a run waits for is settled, that of its sub-agents included. The run has no holder meanwhile. */
export async function untilSettled(found: FoundRun, signal: AbortSignal | undefined): Promise<void> {
  const awaited = await awaitedBy(found);
  await Promise.all(
    awaited.map(async ({ id, child, approval }) => {
      if (child?.status === "suspended") return untilSettled({ ...found, run: child }, signal);
      // Its outcome is read later.
      return (
        approval &&
        found.toolkit.approvals.wait(id, { signal }).catch((error) => {
          signal?.throwIfAborted();
          if (ToolkitError.is(error, "CLOSED") || ToolkitError.is(error, "STORE_FAILED")) throw error;
        })
      );
    }),
  );
}

/** The calls that a run waits for, as they are now: the run of a sub-agent, an approval, or neither where that was forgotten. */
function awaitedBy({ run, jobs, toolkit: { approvals } }: FoundRun) {
  return Promise.all(
    run.turn.waiting.map(async ({ id }) => {
      const child = await jobs.get(id);
      return { id, child, approval: child === undefined ? await approvals.get(id).catch(unlessGone) : undefined };
    }),
  );
}

/** Undefined for what is not kept any more. @throws every other error */
export function unlessGone(error: unknown): undefined {
  if (!ToolkitError.is(error, "NOT_FOUND")) throw error;
}

/** Goes on with a run, through the toolbox of what waits for it. */
type Resume = (id: string, options: Parameters<SuspendedPrompt["resume"]>[0]) => Promise<Content>;

/** A run for one of another kind that waits for it, as a run of an agent waits for that of a sub-agent. */
export async function awaitedPrompt(
  found: FoundRun,
  suspensions: Suspensions,
  resume: Resume,
): Promise<SuspendedPrompt> {
  const { run, jobs } = found;
  const { id, status } = run;
  const awaited = status === "suspended" ? await approvalsOf(found) : [];
  const open = awaited.filter(({ isSettled }) => !isSettled);
  const isReady = status !== "suspended" || open.length < awaited.length;
  return {
    status: status === "running" ? "running" : isReady ? "ready" : "waiting",
    waitsFor: open.map(({ id: approval, expiresAt }) => ({ id: approval, expiresAt })),
    keep: async () => {
      if (!run.isAwaited) await jobs.update(run, { isAwaited: true });
    },
    resume: (options) => resume(id, options),
    forget: async (reason) => {
      const latest = await jobs.get(id);
      if (latest !== undefined) await suspensions.drop({ ...found, run: latest }, { reason });
    },
  };
}

interface AwaitedApproval {
  readonly id: string;
  readonly expiresAt: number;
  readonly isSettled: boolean;
}

/** The approvals that a run waits for, by way of the runs of its sub-agents too. One of those that has ended, or is forgotten, is settled itself. */
async function approvalsOf(found: FoundRun): Promise<readonly AwaitedApproval[]> {
  const { run, jobs, toolkit } = found;
  const lists = run.turn.waiting.map(async ({ id, expiresAt }): Promise<readonly AwaitedApproval[]> => {
    const child = await jobs.get(id);
    if (child?.status === "suspended") return approvalsOf({ ...found, run: child });
    if (child !== undefined) return [{ id, expiresAt, isSettled: child.status !== "running" }];
    const status = (await toolkit.approvals.get(id).catch(unlessGone))?.status;
    return [{ id, expiresAt, isSettled: status !== "pending" && status !== "running" }];
  });
  return (await Promise.all(lists)).flat();
}
