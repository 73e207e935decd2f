import type { AskContext } from "../core/delegate.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "../core/interaction.ts";
import type { Trust } from "../core/schema/validator.ts";

/** Hands what is asked during a call to whoever can answer. */
export interface Asker {
  /** @param options - `trusted`: false for the form of a server; true where left out */
  elicit(request: ElicitRequest, context: AskContext, options?: Trust): Promise<ElicitResult>;
  sample(request: SampleRequest, context: AskContext): Promise<SampleResult>;
}
