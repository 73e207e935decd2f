import type { Definition } from "../core/definition.ts";
import { noCalls, type OuterCall } from "../core/outer-call.ts";
import type { Session } from "../core/session.ts";
import { digest } from "../lib/canonical.ts";

/** The call that a grant is for. */
export interface DigestedCall {
  readonly ref: string;
  readonly definition: Definition;
  readonly session: Pick<Session, "id" | "principal">;
  readonly input: unknown;
}

/** A digest of the caller, of the tool or prompt as it is now, and of the arguments. A caller without a principal is known by the session. */
export function callDigest({ ref, definition, session, input }: DigestedCall): string {
  const caller = session.principal === undefined ? { session: session.id } : { principal: session.principal };
  return digest([caller, definition.kind, ref, definition.fingerprint, input]);
}

/** Permission to make one call, once. */
export class ApprovalGrant {
  /** The approval it comes from. */
  readonly id: string;
  /** The calls that led to the call when it was asked for. */
  readonly via: readonly OuterCall[];
  readonly #digest: string;
  #isTaken = false;

  constructor(id: string, digest: string, via: readonly OuterCall[] = noCalls) {
    this.id = id;
    this.via = via;
    this.#digest = digest;
  }

  /** Takes it for a call; false where it is for another, or was taken. */
  take(digest: string): boolean {
    if (this.#isTaken || digest !== this.#digest) return false;
    this.#isTaken = true;
    return true;
  }
}
