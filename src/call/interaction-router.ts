import type { InteractionContext } from "../core/delegate.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "../core/interaction.ts";
import type { Trust } from "../core/schema/validator.ts";

/** Passes requests that are made during a call to the session or delegate that can answer. */
export interface InteractionRouter {
  /** @param options - `trusted`: false for the form of a server; true where left out */
  elicit(request: ElicitRequest, context: InteractionContext, options?: Trust): Promise<ElicitResult>;
  sample(request: SampleRequest, context: InteractionContext): Promise<SampleResult>;
}
