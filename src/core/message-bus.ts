/**
 * A message of a channel, or that some may have been lost.
 *
 * - `message`: what was published, after a round trip through JSON. It is read again at the border: any process that may write to the store may send
 * - `gap`: the way to other processes was interrupted, and messages may be missing
 */
export type BusEvent = { readonly type: "message"; readonly message: unknown } | { readonly type: "gap" };

/** A subscription to a channel. */
export interface BusSubscription {
  /**
   * Resolves when messages are received. Rejects where that fails at first, as where the store is away: it goes on trying, and a `gap` is
   * received once it succeeds.
   */
  readonly ready: Promise<void>;
  /** Ends it. Idempotent. */
  end(): void;
}

/**
 * Messages between the processes that share a store. Nothing of them is kept: a process that subscribes later gets none of before.
 *
 * A channel is named by the program, never by a caller: 1 to 120 letters, digits and `_ - . : /`.
 */
export interface MessageBus {
  /**
   * Sends a message to every subscriber of a channel, the sender's own process included. Messages of one sender to one channel arrive in
   * their order, each at most once.
   *
   * @param message - JSON of at most 32 MiB
   * @returns false where no process is subscribed: nothing was sent then. True says that one was, not that it has received it
   * @throws ToolkitError `INVALID_INPUT` for a channel or message that is none; `LIMIT_EXCEEDED` for one that is too large; `STORE_FAILED`,
   *   after which it may have been sent; `CLOSED`
   */
  publish(channel: string, message: unknown): Promise<boolean>;
  /**
   * Listens to a channel until the subscription is ended. What a listener throws is lost.
   *
   * @throws ToolkitError `INVALID_INPUT` for a channel that is none; `CLOSED`
   */
  subscribe(channel: string, listener: (event: BusEvent) => void): BusSubscription;
}
