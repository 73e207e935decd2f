/** The argument of `context.pending`: why a call ends `PENDING`. */
export interface PendingRequest {
  /** In a word or two, for programs: `payment`, `review`. */
  readonly reason: string;
  /** In a sentence, for people. */
  readonly message: string;
  /** Until when it is waited for, in milliseconds since the epoch. Default: the toolkit's `approvals.ttlMs` from now. */
  readonly expiresAt?: number | undefined;
  /** Where a person or a program goes on with it. */
  readonly callbackUrl?: string | undefined;
  /** Whatever else helps to complete it, such as the id of the work elsewhere: JSON. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}
