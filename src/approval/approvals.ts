import { ApprovalGrant, callDigest } from "../call/approval-grant.ts";
import { undecided } from "../call/approval-port.ts";
import { toCallError } from "../call/call-error.ts";
import type { CallOrigin } from "../call/call-state.ts";
import type { Approval, ApprovalQuery, Approvals, Completion, Decision } from "../core/approval.ts";
import { definitionOf } from "../core/entry.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { inlineNamespace } from "../core/identifier.ts";
import type { Entry, Kind } from "../core/item.ts";
import type { Content } from "../core/resource.ts";
import type { CallOptions, Logger } from "../core/session.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { isRecord, present } from "../lib/value.ts";
import { deniedBy, misused, outcomeUnknown, tooLate } from "./approval-errors.ts";
import { isDecision } from "./approval-gate.ts";
import type { ApprovalLedger, WaitingCall } from "./approval-ledger.ts";
import { ApprovedRun, type Outcome } from "./approved-run.ts";
import { type StoredApproval, toApproval } from "./stored-approval.ts";

type Callable = Entry<"tool" | "prompt">;

/** What runs and completes calls. */
export interface ApprovalsHost {
  readonly logger: Logger;
  /** Where a call was made whose own toolbox is not known any more. */
  readonly origin: CallOrigin;
  /** Has the store stay open until this has ended. */
  hold(work: Promise<unknown>): void;
  isClosing(): boolean;
  assertOpen(): void;
  find<K extends Kind>(key: string, kinds: readonly K[], owner: string): MaybePromise<Entry<K>>;
  /** Makes the result of a call of what it came to. */
  receive(entry: Callable, value: unknown, options: CallOptions, origin: CallOrigin): MaybePromise<Content>;
}

/** Settles the calls that wait. */
export class ToolkitApprovals implements Approvals {
  readonly #ledger: ApprovalLedger;
  readonly #host: ApprovalsHost;

  constructor(ledger: ApprovalLedger, host: ApprovalsHost) {
    this.#ledger = ledger;
    this.#host = host;
    ledger.repeatWith((stored) => this.#repeat(stored));
  }

  async list({ status, tool, principal }: ApprovalQuery = {}): Promise<readonly Approval[]> {
    this.#host.assertOpen();
    const statuses = status === undefined ? undefined : [status].flat();
    const all = await this.#ledger.list();
    const fitting = all.filter(
      (each) =>
        (statuses?.includes(each.status) ?? true) &&
        (tool === undefined || each.tool === tool) &&
        (principal === undefined || each.session.principal === principal),
    );
    return Object.freeze(fitting.map(toApproval));
  }

  async get(id: string): Promise<Approval> {
    this.#host.assertOpen();
    return toApproval(await this.#ledger.read(id));
  }

  async resolve(
    id: string,
    decision: Decision,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Approval> {
    this.#host.assertOpen();
    if (!isDecision(decision))
      throw misused("", `${messageOf(decision)} is no decision: it needs approved, true or false`);
    const { approved, by, reason } = decision;
    const decided = Object.freeze({ approved, ...present({ by, reason }) });
    while (!(await this.#decide(id, decided)));
    return toApproval(await this.#ledger.until(id, ({ status }) => status !== "running", signal));
  }

  async complete(id: string, completion: Completion): Promise<Approval> {
    this.#host.assertOpen();
    if (!isRecord(completion) || "result" in completion === "error" in completion)
      throw misused("", "a completion is either { result } or { error }");
    const stored = await this.#ledger.read(id);
    if (stored.kind !== "completion") throw misused("", `${id} waits for approval: resolve it instead`);
    if (stored.status !== "pending") throw tooLate(stored, "completed");
    const outcome =
      "error" in completion
        ? failed(stored, completion.error)
        : succeeded(await this.#received(stored, completion.result));
    const settled = await this.#ledger.settle(stored, outcome);
    if (settled === undefined) throw tooLate(await this.#ledger.read(id), "completed");
    return toApproval(settled);
  }

  async wait(id: string, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<Content> {
    this.#host.assertOpen();
    const { content, error } = await this.#ledger.until(id, ({ settledAt }) => settledAt !== undefined, signal);
    if (content === undefined) throw error;
    return content;
  }

  /** True once it is decided so; false where somebody was faster. */
  async #decide(id: string, decision: Decision): Promise<boolean> {
    const { approved } = decision;
    const stored = await this.#ledger.read(id);
    if (stored.decision?.approved === approved) return true;
    if (stored.status !== "pending") throw tooLate(stored, approved ? "approved" : "denied");
    if (!approved) {
      const error = deniedBy(stored.tool, decision);
      return (await this.#ledger.settle(stored, { decision, status: "denied", error })) !== undefined;
    }
    if (stored.kind === "approval") return this.#approve(stored, decision);
    throw misused("/approved", `${id} waits for work elsewhere: complete it, or deny it to give it up`);
  }

  /** Takes the one leave to run it, and begins; false where somebody was faster. */
  async #approve(stored: StoredApproval, decision: Decision): Promise<boolean> {
    const call = this.#ledger.callOf(stored.id);
    const entry = await this.#entry(stored, call);
    if (entry === undefined || !isBound(stored, entry, call)) return this.#void(stored, "approved");
    return this.#take(stored, decision, entry, call);
  }

  /** Takes over one that may run twice, after whoever ran it is gone. False where it cannot be run here. */
  async #repeat(stored: StoredApproval): Promise<boolean> {
    const call = this.#ledger.callOf(stored.id);
    const entry = await this.#entry(stored, call);
    if (entry === undefined || !isBound(stored, entry, call)) return false;
    await this.#take(stored, stored.decision, entry, call);
    return true;
  }

  async #take(
    stored: StoredApproval,
    decision: Decision | undefined,
    entry: Callable,
    call: WaitingCall | undefined,
  ): Promise<boolean> {
    const lease = this.#ledger.newLease();
    const running = await this.#ledger.change(stored, { decision, status: "running", lease });
    if (running === undefined) return false;
    const run = new ApprovedRun(running, lease, this.#ledger);
    const ending = run
      .end((signal) => this.#call(running, entry, call, signal))
      .catch((error) => {
        const message = `What became of the approved call of ${stored.tool} was not kept: ${messageOf(error)}`;
        this.#host.logger.error(message, { error });
      });
    this.#host.hold(ending);
    return true;
  }

  async #call(
    stored: StoredApproval,
    entry: Callable,
    call: WaitingCall | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { origin } = call ?? this.#host;
    const toolbox = origin.granted(new ApprovalGrant(stored.id, stored.digest));
    const input = call === undefined ? stored.arguments : call.input;
    try {
      return succeeded(await toolbox.call(entry, input, { ...optionsOf(stored, call), signal }));
    } catch (error) {
      return this.#host.isClosing() ? interrupted(stored, error) : failed(stored, error);
    }
  }

  async #received(stored: StoredApproval, result: unknown): Promise<Content> {
    const call = this.#ledger.callOf(stored.id);
    const entry = call?.entry ?? (await this.#entry(stored, call));
    if (entry === undefined) return this.#void(stored, "completed");
    const { origin } = call ?? this.#host;
    return this.#host.receive(entry, result, optionsOf(stored, call), origin);
  }

  /** It is not what it was any more. */
  async #void(stored: StoredApproval, what: string): Promise<never> {
    const error = undecided(stored.tool, "it is not what it was when it was called; call it again");
    throw tooLate((await this.#ledger.settle(stored, { status: "void", error })) ?? stored, what);
  }

  /** What is called now by the name it was called by then; undefined where nothing is. */
  async #entry(
    { tool, itemKind, isLocal, session }: StoredApproval,
    call: WaitingCall | undefined,
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

function succeeded(content: Content) {
  return { status: "succeeded", content } as const;
}

function failed({ tool }: StoredApproval, thrown: unknown) {
  return { status: "failed", error: toCallError(tool, "execute")(thrown) } as const;
}

/** What became of one whose process ended it midway: one that may run twice is let go of, so that another runs it. */
function interrupted(stored: StoredApproval, error: unknown): Outcome {
  if (stored.isRepeatable && stored.lease !== undefined)
    return { status: "running", lease: { ...stored.lease, until: 0 } };
  return { status: "failed", error: outcomeUnknown(stored, error) };
}

/** What a call is made with that was made before. */
function optionsOf({ session, meta }: StoredApproval, call: WaitingCall | undefined): CallOptions {
  return call?.options ?? { session, meta };
}

/** True where the call is that which was asked about. */
function isBound(stored: StoredApproval, entry: Callable, call: WaitingCall | undefined): boolean {
  const { ref } = entry;
  const { session = stored.session } = optionsOf(stored, call);
  const definition = definitionOf(entry as Entry);
  return ref === stored.tool && callDigest({ ref, definition, session, input: stored.arguments }) === stored.digest;
}
