import { randomUUID } from "node:crypto";
import { ToolkitError } from "../core/error.ts";
import type { Session } from "../core/session.ts";

/** The one principal who may use a toolbox. */
export class PrincipalScope {
  readonly principal: string;
  /** Of calls that come without one. */
  readonly #session: Session;

  constructor(principal: string) {
    this.principal = principal;
    this.#session = Object.freeze({ id: randomUUID(), principal });
  }

  /** Its name, for a session that may be its own. @throws ToolkitError `DENIED` for that of another */
  principalOf(given: Session | undefined): string {
    if (given?.principal !== undefined && given.principal !== this.principal) throw this.#denied(given.principal);
    return this.principal;
  }

  /**
   * A session as that of the principal.
   *
   * @throws ToolkitError `DENIED` for that of another
   */
  session(given: Session | undefined): Session {
    if (given === undefined) return this.#session;
    if (given.principal === this.principal) return given;
    if (given.principal === undefined) return signed(given, this.principal);
    throw this.#denied(given.principal);
  }

  #denied(other: string): ToolkitError<"DENIED"> {
    const message = `This view is for the principal ${JSON.stringify(this.principal)}, and the session is of ${JSON.stringify(other)}: make a view for that one.`;
    return new ToolkitError("DENIED", message, { rule: "principal" }, { phase: "policy" });
  }
}

/** A session that says nothing of who is calling, where that is known. */
function signed(given: Session, principal: string): Session {
  const { id, clientInfo, capabilities, meta } = given;
  return {
    ...{ id, principal, clientInfo, capabilities, meta },
    ...(given.log === undefined ? {} : { log: given.log.bind(given) }),
    ...(given.elicit === undefined ? {} : { elicit: given.elicit.bind(given) }),
    ...(given.sample === undefined ? {} : { sample: given.sample.bind(given) }),
    ...(given.listRoots === undefined ? {} : { listRoots: given.listRoots.bind(given) }),
    ...(given.onRootsChange === undefined ? {} : { onRootsChange: given.onRootsChange.bind(given) }),
  };
}
