import { ToolkitError } from "../../core/error.ts";
import { errorFromJson } from "../../core/error-json.ts";
import type { CallContext } from "../../core/item.ts";
import type { Content } from "../../core/resource.ts";
import type { ServedToolkit } from "../../core/served-toolkit.ts";
import { contentFromJson } from "../../resource/from-json.ts";
import { referencesOf } from "../../toolset/tool-answer.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import { forgottenCall } from "./run-errors.ts";
import { getRun } from "./stored-run.ts";
import { pendingRun, type StoredWait, type SuspendedRun } from "./suspended-run.ts";

/** A run that waits, and where it is kept. */
interface Waiting {
  readonly run: SuspendedRun;
  readonly toolkit: ServedToolkit;
}

/** Goes on with the run of a sub-agent, in the context of the call that waits for it. */
type ResumeChild = (id: string, context: CallContext) => Promise<Content>;

const debug = { forced: false, exclusive: false, cached: false, attempts: 1 };

/**
 * What a call that a run waits for came to.
 *
 * @throws the reason of an abort, and what no model can be told, such as `STORE_FAILED`
 */
export async function outcomeOf(
  wait: StoredWait,
  toolkit: ServedToolkit,
  context: CallContext,
  resume: ResumeChild,
): Promise<ToolAnswer> {
  const { callId: id, name, ref } = wait;
  const about = { id, name, ref, durationMs: 0, debug };
  try {
    const content = await contentOf(wait, toolkit, context, resume);
    return { ...about, status: "ok", content, references: referencesOf(content) };
  } catch (error) {
    context.signal.throwIfAborted();
    if (!ToolkitError.is(error) || error.code === "STORE_FAILED" || error.code === "CLOSED") throw error;
    const status = error.code === "DENIED" ? "denied" : error.code === "PENDING" ? "pending" : "failed";
    return { ...about, status, error, references: [] };
  }
}

async function contentOf(
  { id, ref }: StoredWait,
  toolkit: ServedToolkit,
  context: CallContext,
  resume: ResumeChild,
): Promise<Content> {
  const child = await getRun(toolkit.store, id);
  if (child !== undefined) {
    return resume(id, context).catch((error) => {
      // Somebody else goes on with it: it is waited for still.
      throw ToolkitError.is(error, "CONFLICT") && error.details.key === id ? pendingRun(child.run) : error;
    });
  }
  const { approvals } = toolkit;
  const approval = await approvals.get(id).catch((error) => {
    throw ToolkitError.is(error, "NOT_FOUND") ? forgottenCall(ref, id, error) : error;
  });
  if (approval.status !== "pending") return approvals.wait(id, context);
  const { reason, message, tool, expiresAt } = approval;
  throw new ToolkitError("PENDING", message, { id, reason, message, tool, arguments: approval.arguments, expiresAt });
}

/** What a run came to that another one waits for. It stays, until that one has told its model. */
export function finishedContent({ outcome }: SuspendedRun): Content {
  if (outcome !== undefined && "content" in outcome) return contentFromJson(outcome.content);
  throw errorFromJson(outcome?.error);
}

/** Refuses a run of whose calls none is settled. @throws ToolkitError `PENDING`: it need not be taken up */
export async function assertSettled({ run, toolkit }: Waiting): Promise<void> {
  const waits = await Promise.all(
    run.turn.waiting.map(async ({ id }) => {
      if ((await getRun(toolkit.store, id)) !== undefined) return false;
      const approval = await toolkit.approvals.get(id).catch(unlessGone);
      return approval?.status === "pending";
    }),
  );
  if (waits.every((stillWaits) => stillWaits)) throw pendingRun(run);
}

/** Waits until all that a run waits for is settled, that of its sub-agents included. Nobody has the run meanwhile. */
export async function untilSettled({ run, toolkit }: Waiting, signal: AbortSignal | undefined): Promise<void> {
  await Promise.all(
    run.turn.waiting.map(async ({ id }) => {
      const child = await getRun(toolkit.store, id);
      if (child?.run.status === "suspended") return untilSettled({ run: child.run, toolkit }, signal);
      if (child === undefined) await toolkit.approvals.get(id).then(() => settled(id, toolkit, signal), unlessGone);
      return undefined;
    }),
  );
}

/** What it comes to is read later. */
async function settled(id: string, { approvals }: ServedToolkit, signal: AbortSignal | undefined): Promise<void> {
  try {
    await approvals.wait(id, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    if (ToolkitError.is(error, "CLOSED") || ToolkitError.is(error, "STORE_FAILED")) throw error;
  }
}

function unlessGone(error: unknown): undefined {
  if (!ToolkitError.is(error, "NOT_FOUND")) throw error;
  return undefined;
}
