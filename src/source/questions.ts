import type { AskOptions } from "../core/connector.ts";
import type { AskContext } from "../core/delegate.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "../core/interaction.ts";
import type { Asker } from "../execute/asking.ts";
import { CallState } from "../execute/state.ts";
import type { Requests } from "./requests.ts";

/** Whose questions these are. */
export interface QuestionsHost {
  readonly asker: Asker;
  readonly requests: Requests;
  readonly namespace: () => string;
}

/**
 * What a server asks while it works: of a person, or of a model. It is asked on behalf of the call it belongs to. A server does not
 * always say which that is; then it is asked on behalf of the one session that is calling, and of none where there are several.
 */
export class Questions {
  readonly #host: QuestionsHost;

  constructor(host: QuestionsHost) {
    this.#host = host;
  }

  elicit(request: ElicitRequest, options: AskOptions): Promise<ElicitResult> {
    return this.#ask(options, (context) => this.#host.asker.elicit(request, context));
  }

  sample(request: SampleRequest, options: AskOptions): Promise<SampleResult> {
    return this.#ask(options, (context) => this.#host.asker.sample(request, context));
  }

  async #ask<T>({ signal, context }: AskOptions, ask: (context: AskContext) => Promise<T>): Promise<T> {
    const { requests, namespace } = this.#host;
    const call = context instanceof CallState ? context : requests.caller;
    if (call === undefined) return ask({ signal, asker: namespace() });
    // A person takes longer to answer than a server may be silent.
    const release = call.hold();
    try {
      return await ask({ signal: AbortSignal.any([signal, call.signal]), asker: namespace(), session: call.session });
    } finally {
      release();
    }
  }
}
