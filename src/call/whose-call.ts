import type { CallContext } from "../core/item.ts";
import { type CallHost, CallState } from "./call-state.ts";

/** True for the context of a call that was made through a view: what goes on from it must not see more. */
export function isConfined(context: CallContext): boolean {
  return context instanceof CallState && context.origin.isConfined;
}

/** True for the context of a call that this executor runs. */
export function isCallOf(context: CallContext, host: CallHost): boolean {
  return context instanceof CallState && context.host === host;
}
