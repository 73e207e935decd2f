import { callStateOf } from "../../call/call-port.ts";
import type { ReadOptions } from "../../core/resource.ts";

/** What ends a request early. */
export interface Cancellation {
  /** Calls back with the reason when it happens, or at once where it has. The listener throws nothing. */
  onAbort(listener: (reason: unknown) => void): void;
  offAbort(listener: (reason: unknown) => void): void;
}

/** What a request that was ended early rejects with: the reason, told apart from an error. */
export class Cancelled {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/** An AbortSignal as a Cancellation, for one listener, which goes with its request. */
class SignalCancellation implements Cancellation {
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

/** What ends whatever is done for a call, or for a reader. */
export function cancellationOf(context: ReadOptions): Cancellation | undefined {
  // A call of ours tells it without the signal, whose making costs as much as a call in memory.
  const call = callStateOf(context);
  if (call !== undefined) return call;
  return context.signal === undefined ? undefined : new SignalCancellation(context.signal);
}
