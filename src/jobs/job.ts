import type { Session } from "../core/session.ts";
import type { Collection } from "../core/store.ts";
import { type FieldChecks, having, isNumber, isText, optional } from "../lib/field-checks.ts";
import { present } from "../lib/value.ts";

/** The right of one holder to work on a job. The version of the record is its fencing token: nothing is put with an old one. */
export interface Lease {
  /** Names one claim. */
  readonly holder: string;
  /** By the holder's clock, in milliseconds since the epoch; 0 once the holder has let go. */
  readonly until: number;
  /** For how long it holds without being extended, in milliseconds. */
  readonly lastsMs: number;
}

/** The session of a caller, as far as JSON holds it. */
export type StoredSession = Omit<Session, "log" | "elicit" | "sample">;

/** A record of durable work: it waits, is claimed while it has a lease, and has ended once it has `settledAt`. The rest is its type's. */
export interface Job {
  readonly id: string;
  /** Of its record; 0 for one that is not stored yet. */
  readonly version: number;
  /** Of the caller for whom it is done. */
  readonly session: StoredSession;
  readonly lease?: Lease | undefined;
  /** Since when nothing more can become of it, in milliseconds since the epoch. */
  readonly settledAt?: number | undefined;
}

/** The fields that a type adds to those of any job. */
export type JobFields<T extends Job> = Omit<T, keyof Job>;
/** Other values for some of them. */
export type JobChange<T extends Job> = Partial<JobFields<T>>;

/** A kind of durable work: its form in the store, and how its jobs end. What is completed comes to an `R`. */
export interface JobType<T extends Job, R> {
  readonly collection: Collection;
  /** One of them in messages, such as `an approval`. */
  readonly one: string;
  /** Several of them in messages. */
  readonly many: string;
  /** The bytes of what one was asked for with, where `maxBytes` limits them. They never change. */
  bytesOf?(job: T): number;
  /** The error text for one more than the limit. */
  full(limit: number): string;
  /** Advice for a record that cannot be read. */
  remedy(id: string): string;
  /** A record in the store must pass these. */
  readonly fields: FieldChecks<JobFields<T>>;
  /** The fields whose form in the store is another. */
  toJson?(job: T): object;
  /** The job of what is in the store and has passed the checks. @throws Error saying what is wrong with it */
  fromJson?(stored: T): T;
  /** Until when it may wait to be claimed, in milliseconds since the epoch. */
  expiresAt(job: T): number;
  /** Until when it is kept after its end, in milliseconds since the epoch. Where that is over by then it is deleted as it ends. */
  keptUntil(job: T): number;
  /** Whether one that has ended may be deleted sooner, to make room. */
  isSpare(job: T): boolean;
  /** Whether it may be done again, until it expires, where its holder is gone: it is not known how far that one came. */
  isRepeatable(job: T): boolean;
  /** Its outcome with a result, and with an error. */
  completed(job: T, result: R): JobChange<T>;
  failed(job: T, error: unknown): JobChange<T>;
  /** Its outcome where its holder is gone, and it is not repeated. */
  lost(job: T): JobChange<T>;
  /** Its outcome where it was not claimed in time; undefined deletes it. */
  expired(job: T): JobChange<T> | undefined;
}

/** The checks that any job must pass. */
export const jobFields: FieldChecks<Omit<Job, "id" | "version">> = {
  session: having<StoredSession>({ id: isText, principal: optional(isText) }),
  lease: optional(having<Lease>({ holder: isText, until: isNumber, lastsMs: isNumber })),
  settledAt: optional(isNumber),
};

/** The session, as far as JSON holds it. */
export function storedSession({ id, principal, clientInfo, capabilities, meta }: Session): StoredSession {
  return { id, ...present({ principal, clientInfo, capabilities, meta }) };
}
