import type { CallContext } from "../core/item.ts";
import { CallState } from "./state.ts";

/** True for the context of a call that was made through a view: what goes on from it must not see more. */
export function isConfined(context: CallContext): boolean {
  return context instanceof CallState && context.origin.isConfined;
}
