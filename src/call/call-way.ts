import { continuedBy, noCalls, type OuterCall, outerCall, viaKey, viaOf } from "../core/outer-call.ts";
import type { Named } from "../core/rule-names.ts";
import { shownBy } from "./call-context.ts";
import type { CallState } from "./call-state.ts";

/** The calls that led to a call, the outermost first: of an approved call and of a resumed run those of then. */
export function wayOf(call: CallState): readonly OuterCall[] {
  const continued = continuedBy(call.subject);
  if (continued !== undefined) return continued.slice(0, -1);
  const given = viaOf(call.options)[viaKey];
  if (given !== undefined) return given;
  return call.parent === undefined ? (call.grant?.via ?? noCalls) : wayInside(call.parent);
}

/** The calls that led to those inside a call. */
function wayInside(call: CallState): readonly OuterCall[] {
  return Object.freeze([...wayOf(call), outerCall(call.subject)]);
}

/** The call that made another; undefined for one from outside, and for a run that is resumed: it was let through when it began. */
export function madeBy({ subject, parent, grant, options }: CallState): OuterCall | undefined {
  if (continuedBy(subject) !== undefined) return undefined;
  const given = viaOf(options)[viaKey];
  if (given !== undefined) return given.at(-1);
  return parent === undefined ? grant?.via.at(-1) : outerCall(parent.subject);
}

/** The calls that led to those made with a context; undefined for one that is of no call. */
export function wayWithin(context: object): readonly OuterCall[] | undefined {
  const call = shownBy(context);
  return call && wayInside(call);
}

/** Whether a call made with a context may be of an item: a stored prompt of a principal may not call everything. */
export function mayCall(context: object, item: Named): boolean {
  const call = shownBy(context);
  return call?.host.storedPromptRules?.allowFor(outerCall(call.subject), item) ?? true;
}
