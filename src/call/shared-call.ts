import { viaOf } from "../core/outer-call.ts";
import type { Content } from "../core/resource.ts";
import type { Session } from "../core/session.ts";
import { unlimited } from "../lib/deadline.ts";
import type { DeadlineScheduler } from "../lib/deadline-scheduler.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { copyOf } from "./call-error.ts";
import { callUnlimited } from "./call-lifetime.ts";
import { CallState } from "./call-state.ts";

/** One run that equal calls share: it goes on as long as one of them waits for it. */
export class SharedCall {
  readonly state: SharedCallState;
  readonly #deadlines: DeadlineScheduler;
  readonly #ended: () => void;
  readonly #answer = Promise.withResolvers<Content>();
  #hasEnded = false;

  /** @param ended - called when it ends, or no call waits for it any more */
  constructor(leader: CallState, deadlines: DeadlineScheduler, ended: () => void) {
    this.state = new SharedCallState(leader);
    this.#deadlines = deadlines;
    this.#ended = ended;
    // Its error is that of the calls that wait for it; there may be none.
    this.#answer.promise.catch(() => undefined);
  }

  /** Runs it, for the call that came first. */
  run(start: () => MaybePromise<Content>, leader: CallState): MaybePromise<Content> {
    let result: MaybePromise<Content>;
    try {
      result = start();
    } catch (error) {
      this.#fail(error);
      throw error;
    }
    if (result instanceof Promise) {
      result.then(this.#succeed, this.#fail);
      return this.#share(leader, asItIs);
    }
    this.#succeed(result);
    return result;
  }

  /** Waits for it too. */
  join(caller: CallState): Promise<Content> {
    caller.cached = true;
    caller.attempts = 0;
    return this.#share(caller, copyOf);
  }

  readonly #succeed = (content: Content): void => {
    this.#end();
    this.#answer.resolve(content);
  };

  readonly #fail = (error: unknown): void => {
    this.#end();
    this.#answer.reject(error);
  };

  #end(): void {
    this.#hasEnded = true;
    this.#ended();
  }

  async #share(caller: CallState, errorFor: (error: unknown) => unknown): Promise<Content> {
    const { sharers } = this.state;
    sharers.add(caller);
    caller.inner = this.state;
    const fail = (error: unknown): never => {
      throw errorFor(error);
    };
    try {
      return await this.#deadlines.wait(this.#answer.promise, caller, unlimited, { receive: asItIs, fail });
    } catch (error) {
      if (!this.#hasEnded && sharers.size === 1) {
        this.#end();
        this.state.abort(error, callUnlimited);
      }
      throw error;
    } finally {
      sharers.delete(caller);
      if (!caller.cached) caller.attempts = this.state.attempts;
    }
  }
}

const asItIs = <T>(value: T): T => value;

/** The state of a run that several calls share: none of them ends it alone, and each gets its progress. */
export class SharedCallState extends CallState {
  /** The calls that wait for it. */
  readonly sharers = new Set<CallState>();
  readonly #leader: CallState;

  constructor(leader: CallState) {
    const { session, meta } = leader.options;
    super(leader.host, leader.subject, { session, meta, ...viaOf(leader.options) }, leader.origin);
    this.trace = leader.trace;
    this.#leader = leader;
  }

  override get call(): object {
    return this.#leader.call;
  }

  override get isShared(): boolean {
    return true;
  }

  override get session(): Session {
    return this.#leader.session;
  }

  override get outerSignals(): undefined {
    return undefined;
  }

  override async progress(progress: number, total?: number, message?: string): Promise<boolean> {
    super.keepAlive();
    const delivered = await Promise.all([...this.sharers].map((each) => each.progress(progress, total, message)));
    return delivered.includes(true);
  }

  override emitPart(part: Content): void {
    super.keepAlive();
    for (const each of this.sharers) each.emitPart(part);
  }

  override keepAlive(): void {
    super.keepAlive();
    for (const each of this.sharers) each.keepAlive();
  }

  override pauseTimeout(): () => void {
    const releases = [super.pauseTimeout(), ...[...this.sharers].map((each) => each.pauseTimeout())];
    return () => {
      for (const release of releases) release();
    };
  }
}
