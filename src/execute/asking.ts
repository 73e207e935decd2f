import type { AskContext } from "../core/delegate.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "../core/interaction.ts";

/** Hands what is asked during a call to whoever can answer. */
export interface Asker {
  elicit(request: ElicitRequest, context: AskContext): Promise<ElicitResult>;
  sample(request: SampleRequest, context: AskContext): Promise<SampleResult>;
}
