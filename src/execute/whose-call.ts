import type { CallContext } from "../core/item.ts";
import { CallState, type StateHost } from "./state.ts";

/** True for the context of a call that was made through a view: what goes on from it must not see more. */
export function isConfined(context: CallContext): boolean {
  return context instanceof CallState && context.origin.isConfined;
}

/** True for the context of a call that this executor runs. */
export function isCallOf(context: CallContext, host: StateHost): boolean {
  return context instanceof CallState && context.host === host;
}
