import { callStateOf } from "../../call/call-port.ts";
import type { CallContext } from "../../core/item.ts";
import type { Session } from "../../core/session.ts";
import { present } from "../../lib/value.ts";

/** The owner of a result: a principal, else a session, else all runs that come without one. */
export interface ResultOwner {
  readonly principal?: string | undefined;
  /** The id of a session without a principal. */
  readonly session?: string | undefined;
}

/** The sessions of calls that were given none: sub-agents get them from the run that calls them. */
const madeUp = new WeakSet<Session>();

/** Remembers that a run was given no session. */
export function noteSession(context: CallContext): void {
  if (callStateOf(context)?.givenSession === undefined) madeUp.add(context.session);
}

/** @param session - that of the caller, where one was given */
export function resultOwner(session: Session | undefined): ResultOwner {
  if (session === undefined || madeUp.has(session)) return {};
  const { principal, id } = session;
  return principal === undefined ? present({ session: id }) : { principal };
}
