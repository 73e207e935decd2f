import type { ApprovalStatus, Completion } from "../core/approval.ts";
import { ToolkitError } from "../core/error.ts";
import type { ServedToolkit } from "../core/served-toolkit.ts";
import { pause } from "../lib/backoff.ts";
import type { Clock } from "../lib/clock.ts";
import { contentOf } from "./step-result.ts";
import { awaitedPrompts, type RunEnd, runCancelled, type StoredRun, waitsOf } from "./stored-run.ts";

/** So often, and so far apart, an answer is delivered to a caller that has only begun to wait. */
const deliveries = 10;
const deliveryMs = 300;

/** The approvals of runs: those that their steps wait for, and those by which their callers wait for them. */
export class RunApprovals {
  readonly #toolkit: ServedToolkit;
  readonly #clock: Clock;
  /** The runs that wait for an approval, by its id, as far as this process has seen them wait. */
  readonly #awaited = new Map<string, string>();

  /** @param look - called with a run when something that it waits for has changed. It resolves to whether it waits still */
  constructor(toolkit: ServedToolkit, clock: Clock, look: (run: string) => Promise<boolean>) {
    this.#toolkit = toolkit;
    this.#clock = clock;
    const { store, closing } = toolkit;
    const unwatch = store.watch((event) => {
      if (event.type !== "changed" || event.collection !== "approval") return;
      const { key } = event;
      const run = this.#awaited.get(key);
      if (run === undefined) return;
      void look(run).then((isWaiting) => {
        if (!isWaiting) this.#awaited.delete(key);
      });
    });
    closing.addEventListener("abort", unwatch, { once: true });
  }

  /** From now on it is noticed here when something changes that the run waits for. */
  follow(run: Pick<StoredRun, "id" | "steps" | "caller">): void {
    for (const { id } of waitsOf(run)) this.#awaited.set(id, run.id);
    if (run.caller !== undefined) this.#awaited.set(run.caller, run.id);
  }

  unfollow(run: Pick<StoredRun, "steps" | "caller">): void {
    for (const { id } of waitsOf(run)) this.#awaited.delete(id);
    if (run.caller !== undefined) this.#awaited.delete(run.caller);
  }

  /** Whether something that a run waits for is settled, or its caller has given it up. */
  async hasNews(run: StoredRun): Promise<boolean> {
    const { suspendedPrompt } = this.#toolkit;
    const prompts = await Promise.all(awaitedPrompts(run).map(async (id) => (await suspendedPrompt(id))?.status));
    // One that is forgotten waits for nothing.
    if (prompts.some((status = "ready") => status === "ready")) return true;
    const approvals = Object.values(run.steps).flatMap(({ state, approval = [] }) =>
      state === "waiting" ? approval : [],
    );
    const statuses = await Promise.all(approvals.map((id) => this.#statusOf(id)));
    if (statuses.some((status) => status !== "pending" && status !== "running")) return true;
    return this.isGivenUp(run);
  }

  /** Whether the approval was denied by which the caller of a run waits for it. */
  async isGivenUp({ caller }: Pick<StoredRun, "caller">): Promise<boolean> {
    return caller !== undefined && (await this.#statusOf(caller)) === "denied";
  }

  /** Answers the caller of a run that waits for it, and denies what the run itself waits for still. */
  async end({ id: run, ref, caller }: StoredRun, end: RunEnd, error: unknown): Promise<void> {
    this.unfollow({ steps: end.steps, caller });
    const { approvals } = this.#toolkit;
    const reason = `the run "${run}" of ${ref}, which asked for it, has ended`;
    for (const id of awaitedPrompts(end)) await (await this.#toolkit.suspendedPrompt(id))?.forget(reason);
    for (const { id } of waitsOf(end)) {
      await approvals.resolve(id, { approved: false, reason }).catch((failure) => {
        if (!ToolkitError.is(failure, "CONFLICT") && !ToolkitError.is(failure, "NOT_FOUND")) throw failure;
      });
    }
    if (caller === undefined) return;
    const isDone = end.status === "succeeded";
    const failure = () => error ?? runCancelled({ id: run, ref });
    await this.#deliver(caller, isDone ? { result: contentOf("result", end.result) } : { error: failure() });
  }

  async #deliver(id: string, completion: Completion): Promise<void> {
    const { approvals, closing: signal } = this.#toolkit;
    for (let attempt = 1; ; attempt++) {
      try {
        await approvals.complete(id, completion);
        return;
      } catch (error) {
        if (ToolkitError.is(error, "CONFLICT")) return;
        // A result that does not fit the output schema is an error for its caller, as that of a call that did not wait.
        if (ToolkitError.is(error, "INVALID_OUTPUT") && "result" in completion) return this.#deliver(id, { error });
        if (!ToolkitError.is(error, "NOT_FOUND")) throw error;
        // It is kept only after the run that its caller waits for.
        if (attempt === deliveries) return;
        await pause(deliveryMs, { clock: this.#clock, signal });
      }
    }
  }

  async #statusOf(id: string): Promise<ApprovalStatus | undefined> {
    return this.#toolkit.approvals.get(id).then(
      ({ status }) => status,
      (error) => {
        if (ToolkitError.is(error, "NOT_FOUND")) return undefined;
        throw error;
      },
    );
  }
}
