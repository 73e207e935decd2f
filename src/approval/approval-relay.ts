import { randomUUID } from "node:crypto";
import type { Completion, Decision } from "../core/approval.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { BusEvent, BusSubscription, MessageBus } from "../core/message-bus.ts";
import type { Logger } from "../core/session.ts";
import { isRecord } from "../lib/value.ts";

/** A decision or completion for a call that runs only where it was made. */
export type RelayedAnswer = { readonly id: string } & (
  | { readonly decision: Decision }
  | { readonly completion: Completion }
);

/** The parts of a relay. */
export interface ApprovalRelayOptions {
  /** Undefined where the store reaches no other process. */
  readonly bus: MessageBus | undefined;
  readonly logger: Logger;
  readonly closing: AbortSignal;
  /** Does with it what is done with one that was made here. It checks both. */
  take(answer: RelayedAnswer): Promise<unknown>;
}

/**
 * Sends answers to the process that made the call, over the bus of the store. A call with attachments, or made within a view, can run in
 * that process alone, and people decide in any.
 */
export class ApprovalRelay {
  readonly #options: ApprovalRelayOptions;
  readonly #id = randomUUID();
  #subscription: BusSubscription | undefined;

  constructor(options: ApprovalRelayOptions) {
    this.#options = options;
  }

  /** The name of this process for others, which reach it from now on; undefined where none can. */
  async address(): Promise<string | undefined> {
    const { bus, closing } = this.#options;
    if (bus === undefined || closing.aborted) return undefined;
    if (this.#subscription === undefined) {
      const subscription = bus.subscribe(channelOf(this.#id), (event) => this.#receive(event));
      this.#subscription = subscription;
      closing.addEventListener("abort", () => subscription.end(), { once: true });
    }
    await this.#subscription.ready.catch(() => undefined);
    return this.#id;
  }

  /** Resolves to whether that process is there. @throws ToolkitError `INVALID_INPUT` for a result that is no JSON; `STORE_FAILED` */
  async send(address: string | undefined, answer: RelayedAnswer): Promise<boolean> {
    const { bus } = this.#options;
    if (bus === undefined || address === undefined || address === this.#id || !idForm.test(address)) return false;
    return bus.publish(channelOf(address), answer);
  }

  #receive(event: BusEvent): void {
    // An answer that is lost with a gap reports itself where it was given: nothing became of it there.
    if (event.type === "gap") return;
    const { message } = event;
    const isAnswer =
      isRecord(message) && typeof message.id === "string" && ("decision" in message || "completion" in message);
    if (!isAnswer) return;
    this.#options.take(message as unknown as RelayedAnswer).catch((error: unknown) => {
      // Another was faster: that is reported where this one was made.
      if (ToolkitError.is(error, "CONFLICT")) return;
      this.#options.logger.warn(`The decision of another process was not followed: ${messageOf(error)}`, { error });
    });
  }
}

const idForm = /^[\da-f-]{36}$/;

function channelOf(id: string): string {
  return `approvals:${id}`;
}
