import { ApprovalGrant, callDigest } from "../call/approval-grant.ts";
import { undecided } from "../call/approval-port.ts";
import type { CallOrigin } from "../call/call-state.ts";
import type { Approval, ApprovalQuery, Approvals, Completion, Decision } from "../core/approval.ts";
import { definitionOf } from "../core/entry.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { Entry, Kind } from "../core/item.ts";
import { assertOptionNames, type OptionNames, signalName } from "../core/options.ts";
import { unknownCall } from "../core/outer-call.ts";
import type { Content } from "../core/resource.ts";
import { type CallOptions, type Logger, madeUpSessions } from "../core/session.ts";
import type { Claim } from "../jobs/claim.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { isRecord, present } from "../lib/value.ts";
import { deniedBy, foundApproval, misused, outcomeUnknown, tooLate } from "./approval-errors.ts";
import { isDecision } from "./approval-gate.ts";
import type { ApprovalRelay, RelayedAnswer } from "./approval-relay.ts";
import { type ApprovalJobs, type LocalCall, type StoredApproval, toApproval } from "./stored-approval.ts";

type Callable = Entry<"tool" | "prompt">;

/** The parts of a toolkit by which calls are run and completed. */
export interface ApprovalsHost {
  readonly logger: Logger;
  /** Where a call was made whose own toolbox is not known any more. */
  readonly origin: CallOrigin;
  /** Has the store stay open until this has ended. */
  hold(work: Promise<unknown>): void;
  isClosing(): boolean;
  assertOpen(): void;
  find<K extends Kind>(key: string, kinds: readonly K[], owner: string): MaybePromise<Entry<K>>;
  /** The way to the processes that made calls. */
  readonly relay: Pick<ApprovalRelay, "send">;
  /** Makes the result of a call of what it came to. */
  receive(entry: Callable, value: unknown, options: CallOptions, origin: CallOrigin): MaybePromise<Content>;
}

/** The time in which the process that made a call is to follow a decision of another, in milliseconds. */
const relayMs = 10_000;

type WaitOptions = { readonly signal?: AbortSignal | undefined };

const queryNames: OptionNames<ApprovalQuery> = { status: true, tool: true, principal: true };
const decisionNames: OptionNames<Decision> = { approved: true, by: true, reason: true };

/** Settles the calls that wait. */
export class ToolkitApprovals implements Approvals {
  readonly #jobs: ApprovalJobs;
  readonly #host: ApprovalsHost;
  /** The decision on each that is being made. */
  readonly #deciding = new Map<string, Promise<void>>();

  constructor(jobs: ApprovalJobs, host: ApprovalsHost) {
    this.#jobs = jobs;
    this.#host = host;
  }

  async list(query: ApprovalQuery = {}): Promise<readonly Approval[]> {
    this.#host.assertOpen();
    assertOptionNames(query, queryNames, "of a list of approvals");
    const { status, tool, principal } = query;
    const statuses = status === undefined ? undefined : [status].flat();
    const fitting = (await this.#jobs.list()).filter(
      (each) =>
        (statuses?.includes(each.status) ?? true) &&
        (tool === undefined || each.tool === tool) &&
        (principal === undefined || each.session.principal === principal),
    );
    fitting.sort((one, other) => one.requestedAt - other.requestedAt || one.sequence - other.sequence);
    return Object.freeze(fitting.map(toApproval));
  }

  async get(id: string): Promise<Approval> {
    this.#host.assertOpen();
    return toApproval(await this.#read(id));
  }

  async resolve(id: string, decision: Decision, options: WaitOptions = {}): Promise<Approval> {
    this.#host.assertOpen();
    assertOptionNames(options, signalName, "of resolve");
    if (!isDecision(decision))
      throw misused("", `${messageOf(decision)} is no decision: it needs approved, true or false`);
    assertOptionNames(decision, decisionNames, "of a decision");
    const { approved, by, reason } = decision;
    await this.#decide(id, Object.freeze({ approved, ...present({ by, reason }) }));
    return toApproval(await this.#until(id, ({ status }) => status !== "running", options.signal));
  }

  async complete(id: string, completion: Completion): Promise<Approval> {
    this.#host.assertOpen();
    if (!isRecord(completion) || "result" in completion === "error" in completion)
      throw misused("", "a completion is either { result } or { error }");
    const stored = await this.#read(id);
    if (stored.kind !== "completion") throw misused("", `${id} waits for approval: resolve it instead`);
    if (stored.status !== "pending") throw tooLate(stored, "completed");
    if ("result" in completion && (await this.#relayed(stored, { id, completion }))) return this.get(id);
    const settled =
      "error" in completion
        ? await this.#jobs.fail(stored, completion.error)
        : await this.#jobs.complete(stored, await this.#received(stored, completion.result));
    if (settled === undefined) throw tooLate(await this.#read(id), "completed");
    return toApproval(settled);
  }

  async wait(id: string, options: WaitOptions = {}): Promise<Content> {
    this.#host.assertOpen();
    assertOptionNames(options, signalName, "of wait");
    const { signal } = options;
    const { content, error } = await this.#until(id, ({ settledAt }) => settledAt !== undefined, signal);
    if (content === undefined) throw error;
    return content;
  }

  /** Runs one that may run twice again, after its holder is gone. Resolves to whether that can be done here. */
  async repeat(stored: StoredApproval): Promise<boolean> {
    const call = this.#jobs.localOf(stored.id);
    const entry = await this.#entry(stored, call);
    if (entry === undefined) return false;
    await this.#begin(stored, stored.decision, entry, call);
    return true;
  }

  async #read(id: string): Promise<StoredApproval> {
    return foundApproval(id, await this.#jobs.get(id));
  }

  async #until(id: string, isSo: (stored: StoredApproval) => boolean, signal: AbortSignal | undefined) {
    return foundApproval(id, await this.#jobs.until(id, isSo, signal));
  }

  /** Of those who decide at the same time the first wins. */
  async #decide(id: string, decision: Decision): Promise<void> {
    const decide = async () => {
      while (!(await this.#isDecided(id, decision)));
    };
    const deciding = Promise.resolve(this.#deciding.get(id)).then(decide, decide);
    this.#deciding.set(id, deciding);
    await deciding.finally(() => {
      if (this.#deciding.get(id) === deciding) this.#deciding.delete(id);
    });
  }

  /** Takes an answer that was given in another process. @throws ToolkitError as `resolve` and `complete` */
  async take(answer: RelayedAnswer): Promise<void> {
    // Only for calls of here: what is sent on from process to process would never end.
    if (this.#jobs.localOf(answer.id) === undefined) return;
    if ("decision" in answer) await this.resolve(answer.id, answer.decision);
    else await this.complete(answer.id, answer.completion);
  }

  /**
   * Has another process follow an answer, where that alone can run the call. Resolves to whether it has; false where it is not needed, or
   * the process is gone.
   *
   * @throws ToolkitError `TIMEOUT` where it does not follow
   */
  async #relayed({ id, tool, version, isLocal, madeBy }: StoredApproval, answer: RelayedAnswer): Promise<boolean> {
    if (isLocal === undefined || this.#jobs.localOf(id) !== undefined) return false;
    if (!(await this.#host.relay.send(madeBy, answer))) return false;
    const late = AbortSignal.timeout(relayMs);
    try {
      // It may wait again by then, for work elsewhere.
      await this.#until(id, (now) => now.version > version, late);
      return true;
    } catch (error) {
      if (!late.aborted) throw error;
      const message = `The process that made the call of ${tool} did not follow within ${relayMs} ms: the approval ${id} is pending still. Try again.`;
      throw new ToolkitError(
        "TIMEOUT",
        message,
        { limit: "total", limitMs: relayMs, elapsedMs: relayMs },
        { ref: tool },
      );
    }
  }

  /** True once it is decided so; false where another process changed it meanwhile. */
  async #isDecided(id: string, decision: Decision): Promise<boolean> {
    const { approved } = decision;
    const stored = await this.#read(id);
    if (stored.decision?.approved === approved) return true;
    if (stored.status !== "pending") throw tooLate(stored, approved ? "approved" : "denied");
    if (!approved) {
      const denied = { decision, status: "denied", error: deniedBy(stored.tool, decision) } as const;
      return (await this.#jobs.cancel(stored, denied)) !== undefined;
    }
    if (stored.kind === "completion")
      throw misused("/approved", `${id} waits for work elsewhere: complete it, or deny it to give it up`);
    if (await this.#relayed(stored, { id, decision })) return true;
    const call = this.#jobs.localOf(id);
    const entry = await this.#entry(stored, call);
    return entry === undefined ? this.#void(stored, "approved") : this.#begin(stored, decision, entry, call);
  }

  /** Claims it and begins to run it; false where another process was faster. */
  async #begin(
    stored: StoredApproval,
    decision: Decision | undefined,
    entry: Callable,
    call: LocalCall | undefined,
  ): Promise<boolean> {
    const claim = await this.#jobs.claim(stored, { decision, status: "running" });
    if (claim === undefined) return false;
    const running = this.#run(claim, entry, call).catch((error) => {
      const message = `The outcome of the approved call of ${stored.tool} was not stored: ${messageOf(error)}`;
      this.#host.logger.error(message, { error });
    });
    this.#host.hold(running);
    return true;
  }

  async #run(claim: Claim<StoredApproval, Content>, entry: Callable, call: LocalCall | undefined): Promise<unknown> {
    const { job, lost: signal } = claim;
    const { origin } = call ?? this.#host;
    const toolbox = origin.granted(new ApprovalGrant(job.id, job.digest, job.via ?? [unknownCall(job.session)]));
    const input = call === undefined ? job.arguments : call.input;
    let content: Content;
    try {
      content = await toolbox.call(entry, input, { ...optionsOf(job, call), signal });
    } catch (error) {
      if (!this.#host.isClosing()) return claim.fail(error);
      return job.isRepeatable ? claim.release() : claim.fail(outcomeUnknown(job, error));
    }
    return claim.complete(content);
  }

  async #received(stored: StoredApproval, result: unknown): Promise<Content> {
    const call = this.#jobs.localOf(stored.id);
    const entry = call?.entry ?? (await this.#registered(stored, call));
    if (entry === undefined) return this.#void(stored, "completed");
    const { origin } = call ?? this.#host;
    return this.#host.receive(entry, result, optionsOf(stored, call), origin);
  }

  /** The called item has changed or is gone. */
  async #void(stored: StoredApproval, what: string): Promise<never> {
    const error = undecided(stored.tool, "it has changed since it was called; call it again");
    throw tooLate((await this.#jobs.cancel(stored, { status: "void", error })) ?? stored, what);
  }

  /** The entry that is to be run; undefined where that is not the one that was asked about. */
  async #entry(stored: StoredApproval, call: LocalCall | undefined): Promise<Callable | undefined> {
    const entry = await this.#registered(stored, call);
    if (entry?.ref !== stored.tool) return undefined;
    const { session = stored.session } = optionsOf(stored, call);
    const definition = definitionOf(entry as Entry);
    const digest = callDigest({ ref: entry.ref, definition, session, input: stored.arguments });
    return digest === stored.digest ? entry : undefined;
  }

  /** The entry that has the name now; undefined where none has. */
  async #registered(
    { tool, itemKind, isLocal, session }: StoredApproval,
    call: LocalCall | undefined,
  ): Promise<Callable | undefined> {
    if (call === undefined && isLocal) return undefined;
    if (call?.entry.namespace === inlineNamespace) return call.entry;
    try {
      return await this.#host.find(tool, [itemKind], session.principal ?? "");
    } catch (error) {
      if (ToolkitError.is(error, "NOT_FOUND")) return undefined;
      throw error;
    }
  }
}

/** The options of a call that was made before. */
function optionsOf(stored: StoredApproval, call: LocalCall | undefined): CallOptions {
  if (call !== undefined) return call.options;
  const { session, meta, runOptions, isAnonymous } = stored;
  if (isAnonymous) madeUpSessions.add(session);
  return { session, meta, ...runOptions };
}
