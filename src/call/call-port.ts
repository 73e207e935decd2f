import type { CallOptions, Session } from "../core/session.ts";
import type { Trace } from "./trace/trace.ts";

/**
 * The state of a call as connections, MCP and agents use it: cancellation without the cost of a signal, and what a context does not show.
 */
export interface CallPort {
  /** Runs the call: one for each toolkit. */
  readonly host: object;
  /** The call itself, where this is the state of one of its attempts, or of a part of it. */
  readonly call: object;
  readonly options: Pick<CallOptions, "forced" | "conversation" | "model">;
  readonly session: Session;
  /** The caller's session, where one was given. */
  readonly givenSession: Session | undefined;
  /** The caller's session, where it listens to logs. */
  readonly loggingSession: Session | undefined;
  /** The approval by which it was let through; undefined where it needed none, or was approved at once. */
  readonly grant: { readonly id: string } | undefined;
  /** The trace of the call, if it is traced. */
  readonly trace: Trace | undefined;
  /** It was made through a view: calls, approvals and runs that go on from it must not see more. */
  readonly isConfined: boolean;
  /** Where it waits for something else, such as a connection: makes the error to give when the wait is too long. */
  waitingFor: (() => Error | undefined) | undefined;
  /** Calls back with the reason when the call is ended early, or at once where it was. */
  onAbort(listener: (reason: unknown) => void): void;
  offAbort(listener: (reason: unknown) => void): void;
  /** Suspends the inactivity limit, of the calls around it too, until the returned function is called. */
  pauseTimeout(): () => void;
}

/** The owner of a turn in a fair queue: a principal, else a session, else all calls together that come without one. */
export function turnOwner({ givenSession }: Pick<CallPort, "givenSession">): string {
  if (givenSession === undefined) return "";
  return givenSession.principal === undefined ? `session ${givenSession.id}` : `principal ${givenSession.principal}`;
}

/** The member by which a context reaches the state of its call. It is the context's own, so that a spread keeps it. */
export const callLink: unique symbol = Symbol("toolweave.call");

/** The state of the call that a context belongs to, however the context is decorated; undefined for one that is of no call. */
export function callStateOf(context: object | undefined): CallPort | undefined {
  return (context as { readonly [callLink]?: CallPort } | undefined)?.[callLink];
}
