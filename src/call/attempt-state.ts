import type { Content } from "../core/resource.ts";
import type { Session } from "../core/session.ts";
import type { Deadline } from "../lib/deadline.ts";
import { CallState } from "./call-state.ts";

/**
 * The state of one attempt of a call, where there may be another: its signal aborts when the attempt takes too long, and what the tool
 * still does then is no part of the next.
 */
export class AttemptState extends CallState {
  readonly #call: CallState;

  constructor(call: CallState) {
    super(call.host, call.subject, call.options, call.origin);
    this.#call = call;
    this.trace = call.trace;
    call.inner = this;
  }

  override get call(): object {
    return this.#call.call;
  }

  override get session(): Session {
    return this.#call.session;
  }

  override get isShared(): boolean {
    return this.#call.isShared;
  }

  override async progress(progress: number, total?: number, message?: string): Promise<boolean> {
    super.keepAlive();
    return this.isAborted ? false : this.#call.progress(progress, total, message);
  }

  override emitPart(part: Content): void {
    super.keepAlive();
    if (!this.isAborted) this.#call.emitPart(part);
  }

  override keepAlive(): void {
    super.keepAlive();
    this.#call.keepAlive();
  }

  override pauseTimeout(): () => void {
    const releases = [super.pauseTimeout(), this.#call.pauseTimeout()];
    return () => {
      for (const release of releases) release();
    };
  }

  override onDeadline(deadline: Deadline): void {
    super.onDeadline(deadline);
    this.#call.onDeadline(deadline);
  }

  /** Nothing begins in a call that is over. */
  override throwIfAborted(): void {
    this.#call.throwIfAborted();
    super.throwIfAborted();
  }
}
