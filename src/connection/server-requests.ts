import { type CallPort, callStateOf } from "../call/call-port.ts";
import type { InteractionRouter } from "../call/interaction-router.ts";
import type { InteractionOptions } from "../core/connector.ts";
import type { InteractionContext } from "../core/delegate.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ElicitRequest, ElicitResult, SampleRequest, SampleResult } from "../core/interaction.ts";
import type { Session } from "../core/session.ts";
import type { InFlightRequests } from "./in-flight-requests.ts";

/** Whose questions these are. */
export interface ServerRequestsHost {
  readonly interactions: InteractionRouter;
  readonly requests: InFlightRequests;
  readonly namespace: () => string;
  /** Tells the operator, and nobody else, what is not as it should be. */
  warn(message: string): void;
}

/**
 * What a server asks while it works: of a person, or of a model. It is asked on behalf of the call it belongs to. A server does not
 * always say which that is; then it is asked on behalf of the one session that is calling, and of none where there are several. Any of
 * the calls may be the one that waits for the answer.
 */
export class ServerRequests {
  readonly #host: ServerRequestsHost;

  constructor(host: ServerRequestsHost) {
    this.#host = host;
  }

  elicit(request: ElicitRequest, options: InteractionOptions): Promise<ElicitResult> {
    return this.#ask(options, (context) => this.#host.interactions.elicit(request, context, { trusted: false }));
  }

  sample(request: SampleRequest, options: InteractionOptions): Promise<SampleResult> {
    return this.#ask(options, (context) => this.#host.interactions.sample(request, context));
  }

  async #ask<T>(options: InteractionOptions, ask: (context: InteractionContext) => Promise<T>): Promise<T> {
    try {
      return await this.#askFor(options, ask);
    } catch (error) {
      const expected = options.signal.aborted || ToolkitError.is(error, "NO_DELEGATE");
      if (!expected) this.#host.warn(`What it asks could not be answered: ${messageOf(error)}`);
      throw error;
    }
  }

  async #askFor<T>(
    { signal, context }: InteractionOptions,
    ask: (context: InteractionContext) => Promise<T>,
  ): Promise<T> {
    const { requests, namespace } = this.#host;
    const call = callStateOf(context);
    const calls = call === undefined ? requests.calls : [call];
    const requester = namespace();
    if (calls.length === 0) return ask({ signal, requester });
    // A person takes longer to answer than a server may be silent.
    const releases = calls.map((call) => call.pauseTimeout());
    const waiting = leftAlone(calls, requests);
    try {
      return await ask({ signal: AbortSignal.any([signal, waiting.signal]), requester, session: sessionOf(calls) });
    } finally {
      waiting.end();
      for (const release of releases) release();
    }
  }
}

/** A signal that aborts when none of the calls is left that may wait for an answer, and what ends its listening. */
function leftAlone(
  calls: readonly CallPort[],
  requests: InFlightRequests,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const alone = new AbortController();
  const left = new Set(calls);
  const ends = calls.map((call) => {
    const onCut = (reason: unknown) => {
      left.delete(call);
      // Those that were answered wait no more either.
      if (!requests.calls.some((each) => left.has(each))) alone.abort(reason);
    };
    call.onAbort(onCut);
    return () => call.offAbort(onCut);
  });
  return {
    signal: alone.signal,
    end: () => {
      for (const end of ends) end();
    },
  };
}

/** The session that all the calls belong to, if it is one; or that of the last, where none was given to any. */
function sessionOf(calls: readonly CallPort[]): Session | undefined {
  const given = new Set(calls.map(({ givenSession }) => givenSession));
  return given.size === 1 ? calls.at(-1)?.session : undefined;
}
