import type { Content } from "../core/resource.ts";
import type { Session } from "../core/session.ts";
import type { Wait } from "../lib/waiting-room.ts";
import { CallState } from "./state.ts";

/**
 * The context of one attempt of a call, where there may be another: its signal aborts when the attempt takes too long, and what the tool
 * still does then is no part of the next.
 */
export class AttemptState extends CallState {
  readonly #call: CallState;

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

  /** Nothing begins in a call that is over. */
  override throwIfCut(): void {
    this.#call.throwIfCut();
    super.throwIfCut();
  }
}
