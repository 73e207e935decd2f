import type { Content } from "../core/resource.ts";
import type { Session } from "../core/session.ts";
import type { Wait, WaitLimits } from "../lib/waiting-room.ts";
import { CallState } from "./state.ts";
import { isCallLimit } from "./timeout-error.ts";

/**
 * The context of one attempt of a call, where there may be another: its signal aborts when the attempt takes too long, and what the tool
 * still does then is no part of the next.
 */
export class AttemptState extends CallState {
  readonly #call: CallState;
  #limitReached: unknown;

  constructor(call: CallState) {
    super(call.host, call.ref, call.options, call.origin);
    this.#call = call;
    this.trace = call.trace;
    call.inner = this;
  }

  override get session(): Session {
    return this.#call.session;
  }

  override get isShared(): boolean {
    return this.#call.isShared;
  }

  override async progress(progress: number, total?: number, message?: string): Promise<boolean> {
    super.touch();
    return this.isCut ? false : this.#call.progress(progress, total, message);
  }

  override tellPart(part: Content): void {
    super.touch();
    if (!this.isCut) this.#call.tellPart(part);
  }

  override touch(): void {
    super.touch();
    this.#call.touch();
  }

  override hold(): () => void {
    const releases = [super.hold(), this.#call.hold()];
    return () => {
      for (const release of releases) release();
    };
  }

  override waits(wait: Wait): void {
    super.waits(wait);
    this.#call.waits(wait);
  }

  override limitError(limits: WaitLimits, limit: "inactivity" | "total", elapsedMs: number): unknown {
    const error = super.limitError(limits, limit, elapsedMs);
    if (!isCallLimit(limits)) this.#limitReached = error;
    return error;
  }

  /** Whatever ends it but its own limit ends the call. */
  override cut(reason: unknown, limits?: WaitLimits): void {
    super.cut(reason, limits);
    if (reason !== this.#limitReached) this.#call.cut(reason, limits);
  }

  override throwIfCut(): void {
    this.#call.throwIfCut();
    super.throwIfCut();
  }
}
