import { callStateOf } from "../../call/call-port.ts";
import type { CallContext } from "../../core/item.ts";
import type { ReadOptions } from "../../core/resource.ts";

/** A way to end a request early. */
export interface Cancellation {
  /**
   * Calls back with the reason when it happens, or at once where it has. The listener throws nothing.
   *
   * @param isPatient - the end of the turn of the event loop is soon enough: the answer may have come by then
   */
  onAbort(listener: (reason: unknown) => void, isPatient?: boolean): void;
  offAbort(listener: (reason: unknown) => void): void;
}

/** The rejection of a request that was ended early, with the reason, which may be anything. */
export class Cancelled {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/** An AbortSignal as a Cancellation, for one listener, which goes with its request. */
export class SignalCancellation implements Cancellation {
  readonly #signal: AbortSignal;
  #onAbort: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  onAbort(listener: (reason: unknown) => void): void {
    const signal = this.#signal;
    if (signal.aborted) {
      listener(signal.reason);
      return;
    }
    this.#onAbort = () => listener(signal.reason);
    signal.addEventListener("abort", this.#onAbort);
  }

  offAbort(): void {
    if (this.#onAbort !== undefined) this.#signal.removeEventListener("abort", this.#onAbort);
  }
}

/** The cancellation of a call, or of a reader. */
export function cancellationOf(context: CallContext | ReadOptions): Cancellation | undefined {
  // A call of ours has it without the signal, whose making costs as much as a call in memory.
  const call = callStateOf(context);
  if (call !== undefined) return call;
  return context.signal === undefined ? undefined : new SignalCancellation(context.signal);
}
