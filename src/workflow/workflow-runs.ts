import { randomUUID } from "node:crypto";
import { toCallError } from "../call/call-error.ts";
import { callStateOf } from "../call/call-port.ts";
import { wayWithin } from "../call/call-way.ts";
import { observedToolkit } from "../call/observers.ts";
import { secretKeyTest } from "../call/trace/secret-keys.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { errorToJson } from "../core/error-json.ts";
import type { CallContext } from "../core/item.ts";
import { continueCall } from "../core/outer-call.ts";
import { withRunner } from "../core/prompt-runner.ts";
import type { ServedToolkit } from "../core/served-toolkit.ts";
import { madeUpSessions, type Session } from "../core/session.ts";
import type { Claim } from "../jobs/claim.ts";
import { storedSession } from "../jobs/job.ts";
import { Jobs } from "../jobs/jobs.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { isJson, present } from "../lib/value.ts";
import { RunApprovals } from "./run-approvals.ts";
import { ClaimedJournal } from "./run-journal.ts";
import { RunPieces } from "./run-pieces.ts";
import { runWorkflow } from "./run-workflow.ts";
import { RunBroken, RunWaits } from "./step-failure.ts";
import { contentOf } from "./step-result.ts";
import {
  isRunOf,
  noRun,
  type RunEnd,
  runCancelled,
  runConflict,
  type StoredRun,
  type WorkflowJobs,
  waitsOf,
  workflowRunType,
} from "./stored-run.ts";
import type { Workflow } from "./workflow-definition.ts";
import type { KeptRunLimits } from "./workflow-options.ts";

type RunClaim = Claim<StoredRun, RunEnd>;

/** A call of a workflow. */
export interface WorkflowCall {
  readonly workflow: Workflow;
  readonly ref: string;
  readonly input: unknown;
  readonly context: CallContext;
}

/** The runs of workflows of one toolkit, in its store. */
export class WorkflowRuns {
  readonly #toolkit: ServedToolkit;
  readonly #limits: KeptRunLimits;
  readonly #jobs: WorkflowJobs;
  readonly #clock: Clock;
  readonly #isSecret: (key: string) => boolean;
  readonly #knows: (workflow: string) => Promise<boolean>;
  /** Those at work here. */
  readonly #cancels = new Map<string, AbortController>();
  readonly #approvals: RunApprovals;
  readonly #pieces: RunPieces;
  /** Those that can go on only here: they stay claimed while they wait. */
  readonly #parked = new Map<string, RunClaim>();
  readonly #resumed = new Set<string>();
  #takesOver = false;

  /** @param knows - whether a workflow of this name is run here */
  constructor(toolkit: ServedToolkit, limits: KeptRunLimits, knows: (workflow: string) => Promise<boolean>) {
    const { store, logger, closing, started } = toolkit;
    const { clock = systemClock, redact = [] } = observedToolkit(toolkit.toolbox) ?? {};
    this.#toolkit = toolkit;
    this.#limits = limits;
    this.#knows = knows;
    this.#clock = clock;
    this.#isSecret = secretKeyTest(redact);
    const hold = toolkit.hold.bind(toolkit);
    const { keepMs, leaseMs, limit, maxBytes } = limits;
    this.#pieces = new RunPieces(store, maxBytes);
    const shared = { store, logger, closing, clock, hold, limit, leaseMs, maxBytes, pieces: this.#pieces };
    const changed = (run: StoredRun) => hold(this.#pieces.settled(run));
    this.#jobs = new Jobs(workflowRunType(keepMs), { ...shared, repeat: (run) => this.#repeat(run), changed });
    this.#approvals = new RunApprovals(toolkit, clock, (run) => this.#look(run));
    void started.then(() => {
      this.#takesOver = limits.takeOver && !closing.aborted;
      return this.#takesOver ? this.#jobs.expire() : undefined;
    });
  }

  /** Those that are known. What cannot be read is logged. */
  async list(session: Session | undefined): Promise<readonly StoredRun[]> {
    return (await this.#jobs.list()).filter((run) => isRunOf(run, session));
  }

  async find(id: string, session: Session | undefined): Promise<StoredRun | undefined> {
    const run = await this.#jobs.get(id);
    return run !== undefined && isRunOf(run, session) ? run : undefined;
  }

  /** @throws ToolkitError `NOT_FOUND`; `CONFLICT` where it has ended, or another process is at work on it */
  async cancel(id: string, session: Session | undefined): Promise<void> {
    const run = await this.find(id, session);
    if (run === undefined) throw noRun(id);
    const atWork = this.#cancels.get(id);
    if (atWork !== undefined) return atWork.abort(new DOMException(runCancelled(run).message, "AbortError"));
    if (run.settledAt !== undefined)
      throw runConflict(run, `it has ended: it ${run.status === "cancelled" ? "was" : "has"} ${run.status}`);
    const claim = this.#parked.get(id) ?? (await this.#jobs.claim(run, { status: "running" }));
    if (claim === undefined) throw runConflict(run, "another process is at work on it. Cancel it there");
    this.#parked.delete(id);
    const { steps, spentMs } = claim.job;
    const reason = runCancelled(run);
    await this.#end(claim, { status: "cancelled", steps, spentMs, error: errorToJson(reason) }, reason);
  }

  /** Goes on with one here, unless it waits still, until it has ended or waits again. */
  async resume(id: string, signal: AbortSignal | undefined): Promise<StoredRun | undefined> {
    this.#resumed.add(id);
    await this.#look(id);
    const hasPaused = ({ status }: StoredRun) => status !== "running";
    return this.#jobs.until(id, hasPaused, signal).finally(() => this.#resumed.delete(id));
  }

  /** Runs a workflow for its caller. @throws ToolkitError `PENDING` where it waits: its caller is answered when it has ended */
  async start({ workflow, ref, input, context }: WorkflowCall): Promise<unknown> {
    const state = callStateOf(context);
    const isAnonymous = state?.givenSession === undefined;
    if (isAnonymous) madeUpSessions.add(context.session);
    const isWritable = isJson([input ?? null, context.meta ?? null]);
    const now = this.#jobs.now;
    const run: StoredRun = {
      id: randomUUID(),
      version: 0,
      session: storedSession(context.session),
      status: "running",
      ...{ ref, workflow, input: isWritable ? input : JSON.parse(JSON.stringify(input ?? null)), steps: {} },
      ...{ startedAt: now, expiresAt: now + this.#limits.maxAgeMs, spentMs: 0 },
      ...present({
        meta: isWritable ? context.meta : undefined,
        via: wayWithin(context),
        isLocal: state?.isConfined === true ? (true as const) : undefined,
        isAnonymous: isAnonymous ? (true as const) : undefined,
      }),
    };
    const claim = await this.#jobs.begin(run, { toolbox: context.toolbox });
    const work = this.#work(claim, context, true);
    this.#toolkit.hold(work);
    return work;
  }

  /** Runs what is claimed until it ends or waits. */
  async #work(claim: RunClaim, context: CallContext, isCalled: boolean): Promise<unknown> {
    const { closing } = this.#toolkit;
    const { id, ref, workflow, input, spentMs } = claim.job;
    const journal = new ClaimedJournal(claim, closing, this.#pieces);
    const cancel = new AbortController();
    this.#cancels.set(id, cancel);
    const signal = AbortSignal.any([context.signal, claim.lost, cancel.signal]);
    const beganAt = this.#clock.now();
    const sofar = () => ({ steps: journal.records, spentMs: spentMs + Math.ceil(this.#clock.now() - beganAt) });
    const { maxResultBytes, maxRunBytes } = this.#limits;
    const parts = { context, journal, served: this.#toolkit, signal, clock: this.#clock, isSecret: this.#isSecret };
    try {
      const result = await runWorkflow({ ...parts, workflow, ref, input, spentMs, maxResultBytes, maxRunBytes });
      await this.#end(claim, { status: "succeeded", ...sofar(), result }, undefined, isCalled);
      return result;
    } catch (error) {
      if (journal.isOver || error instanceof RunBroken) {
        // The next holder knows which steps have ended.
        await claim.release().catch((failure) => this.#log(claim.job, failure));
        throw error instanceof RunBroken && error.cause !== undefined ? error.cause : error;
      }
      if (error instanceof RunWaits) return await this.#wait(claim, journal, sofar(), isCalled ? context : undefined);
      const status = signal.aborted ? "cancelled" : "failed";
      const cause = cancel.signal.aborted ? runCancelled(claim.job) : error;
      const failure = errorToJson(toCallError(ref, "execute")(cause));
      await this.#end(claim, { status, ...sofar(), error: failure }, cause, isCalled);
      throw cause;
    } finally {
      this.#cancels.delete(id);
    }
  }

  /** Keeps a run that waits. Its caller gets the end of it through `approvals`, as that of any work that completes elsewhere. */
  async #wait(
    claim: RunClaim,
    journal: ClaimedJournal,
    sofar: Pick<StoredRun, "steps" | "spentMs">,
    caller: CallContext | undefined,
  ): Promise<undefined> {
    const { id, ref, expiresAt, isLocal } = claim.job;
    const waitsFor = waitsOf(sofar);
    let pending: unknown;
    try {
      const message = `${ref} waits for ${waitsFor.map((each) => `${each.step} (${each.id})`).join(", ")}.`;
      caller?.pending({ reason: "workflow", message, expiresAt, metadata: { run: id, waitsFor } });
    } catch (error) {
      pending = error;
    }
    const given = ToolkitError.is(pending, "PENDING") ? pending.details.id : undefined;
    const answers = given && (callStateOf(caller)?.grant?.id ?? given);
    const waiting = { status: "waiting", ...sofar, caller: answers ?? claim.job.caller } as const;
    this.#approvals.follow({ id, ...waiting });
    try {
      await journal.gather(waiting);
      if (isLocal !== true) await claim.release();
    } catch (error) {
      // The steps know what they wait for: it is looked at again once the lease is over.
      await claim.release().catch((failure) => this.#log(claim.job, failure));
      throw error;
    }
    if (isLocal === true) {
      this.#parked.set(id, claim);
      void this.#look(id);
    }
    if (pending !== undefined) throw pending;
    return undefined;
  }

  /** Looks whether one that waits can go on. Resolves to whether it waits still. */
  async #look(id: string): Promise<boolean> {
    try {
      const parked = this.#parked.get(id);
      // To read one that has no holder is to go on with it.
      if (parked === undefined) return (await this.#jobs.get(id))?.status === "waiting";
      if (!(await this.#approvals.hasNews(parked.job)) || !this.#parked.delete(id)) return true;
      await this.#proceed(parked);
      return false;
    } catch (error) {
      if (!this.#toolkit.closing.aborted) this.#toolkit.logger.error(messageOf(error), { error });
      return true;
    }
  }

  /** Goes on with one that has no holder. Resolves to whether it did, or another process does. */
  async #repeat(run: StoredRun): Promise<boolean> {
    const isOwn = this.#resumed.has(run.id) || this.#jobs.localOf(run.id) !== undefined;
    if (this.#toolkit.closing.aborted || !(this.#takesOver || isOwn)) return false;
    if (!(await this.#knows(run.workflow.name))) return false;
    if (run.status === "waiting") {
      this.#approvals.follow(run);
      if (!(await this.#approvals.hasNews(run))) return false;
    }
    const claim = await this.#jobs.claim(run, { status: "running" });
    if (claim !== undefined) await this.#proceed(claim);
    return true;
  }

  /** Has what is claimed run, as the call that it was. */
  async #proceed(claim: RunClaim): Promise<void> {
    const { id, ref, workflow, via = [], session, meta, isAnonymous, isLocal, caller } = claim.job;
    const { steps, spentMs } = claim.job;
    this.#approvals.unfollow({ steps, caller: undefined });
    if (await this.#approvals.isGivenUp({ caller }))
      return this.#end(claim, { status: "cancelled", steps, spentMs }, undefined);
    if (isAnonymous === true) madeUpSessions.add(session);
    let hasBegun = false;
    const run = async (_input: unknown, context: CallContext) => {
      hasBegun = true;
      return contentOf("result", (await this.#work(claim, context, false)) ?? null);
    };
    const prompt = withRunner({ kind: "prompt", name: workflow.name, render: async () => ({ messages: [] }) }, run);
    const local = this.#jobs.localOf(id);
    const toolbox = isLocal === true && local !== undefined ? local.toolbox : this.#toolkit.toolbox;
    const options = present({ session: toolbox === this.#toolkit.toolbox ? session : undefined, meta });
    const work = toolbox.call(continueCall(prompt, via), {}, options).catch(async (error) => {
      // A failure of the run itself is in its record by now.
      if (!hasBegun && this.#toolkit.closing.aborted) await claim.release();
      else if (!hasBegun) {
        const failed = {
          status: "failed",
          steps,
          spentMs,
          error: errorToJson(toCallError(ref, "execute")(error)),
        } as const;
        await this.#end(claim, failed, error);
      }
      this.#toolkit.logger.debug(`The run "${id}" of ${ref} ended: ${messageOf(error)}`, { error });
    });
    this.#toolkit.hold(work);
  }

  /** Records the end of a run, after its caller has it: where this process ends in between, another one comes to the same end. */
  async #end(claim: RunClaim, end: RunEnd, error: unknown, isFirst = false): Promise<void> {
    try {
      await this.#approvals.end(claim.job, end, error);
      // While it is held, so that the next holder removes what is left. One that was never held elsewhere has those it names.
      if (!isFirst || claim.job.pieces !== undefined)
        await this.#pieces.gather(claim, end.steps).catch((failure) => this.#log(claim.job, failure));
      await claim.complete(end);
    } catch (failure) {
      this.#log(claim.job, failure);
    }
  }

  #log({ id, ref }: StoredRun, error: unknown): void {
    const message = `The state of the run "${id}" of ${ref} was not stored: ${messageOf(error)}`;
    this.#toolkit.logger.error(message, { error });
  }
}
