import { madeUpSessions, type Session } from "../../core/session.ts";
import { present } from "../../lib/value.ts";

/** The owner of a result: a principal, else a session, else all runs that come without one. */
export interface ResultOwner {
  readonly principal?: string | undefined;
  /** The id of a session without a principal. */
  readonly session?: string | undefined;
}

/** @param session - that of the caller, where one was given */
export function resultOwner(session: Session | undefined): ResultOwner {
  if (session === undefined || madeUpSessions.has(session)) return {};
  const { principal, id } = session;
  return principal === undefined || principal === "" ? present({ session: id }) : { principal };
}
