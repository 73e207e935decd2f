import { type CallPort, callStateOf } from "../call/call-port.ts";
import type { InteractionRouter } from "../call/interaction-router.ts";
import type { InteractionOptions } from "../core/connector.ts";
import type { InteractionContext } from "../core/delegate.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ElicitRequest, ElicitResult, Root, SampleRequest, SampleResult } from "../core/interaction.ts";
import { type Session, sessionKey } from "../core/session.ts";
import type { Clock } from "../lib/clock.ts";
import { Coalescer } from "../lib/coalesce.ts";
import { withoutInvisible } from "../lib/visible-text.ts";
import type { ConnectionLog } from "./connection-log.ts";
import type { ConnectionRequests } from "./connection-requests.ts";
import {
  type Asked,
  clampedSample,
  InteractionBudget,
  type InteractionLimits,
  withSecrets,
} from "./interaction-limits.ts";

/** The parts of a connection that its server's requests are answered with. */
export interface ServerRequestsHost {
  readonly interactions: InteractionRouter;
  readonly connection: { readonly namespace: string };
  readonly requests: ConnectionRequests;
  readonly log: ConnectionLog;
  readonly limits: InteractionLimits;
  readonly clock: Clock;
  readonly trust: "standard" | "untrusted";
}

/**
 * The requests of a server to a person or a model. Each is made on behalf of the call it belongs to. A server does not always say which
 * that is: then it is on behalf of the one session that is calling, or of none where several are. Any of the calls in flight may be the
 * one that waits for the answer.
 */
export class ServerRequests {
  readonly #host: ServerRequestsHost;
  readonly #budget: InteractionBudget;
  readonly #rootsChanges: Coalescer<"roots">;
  /** One for all sessions that gave roots, each of which keeps it once. */
  readonly #rootsChanged = () => this.#rootsChanges.request("roots");

  constructor(host: ServerRequestsHost) {
    this.#host = host;
    this.#budget = new InteractionBudget(host.limits, host.clock);
    this.#rootsChanges = new Coalescer(async () => host.requests.session?.rootsChanged?.(), {
      delayMs: rootsBurstMs,
      clock: host.clock,
      onError: (error) => host.log.warn(`Its server was not notified of changed roots: ${messageOf(error)}`),
    });
  }

  elicit(request: ElicitRequest, options: InteractionOptions): Promise<ElicitResult> {
    return this.#answer("elicitation", options, async (context) => {
      const { interactions, trust, log } = this.#host;
      const asked = withSecrets(request);
      if (trust === "standard") return interactions.elicit(asked, context, { trusted: false });
      // A page is out of sight: it may ask for anything.
      if (asked.secrets !== undefined || asked.url !== undefined) {
        log.warn("A request of its server to a person was declined: it asks for a secret or for a visit to a page.");
        return { action: "decline" };
      }
      return interactions.elicit(withoutInvisible(asked) as ElicitRequest, context, { trusted: false });
    });
  }

  sample(request: SampleRequest, options: InteractionOptions): Promise<SampleResult> {
    const { limits, interactions } = this.#host;
    return this.#answer("sampling", options, (context) => interactions.sample(clampedSample(request, limits), context));
  }

  /** The roots of the session that it works for; undefined where that is none, or several. */
  async listRoots(options: InteractionOptions): Promise<readonly Root[] | undefined> {
    if (options.context === undefined && this.#host.requests.calls.length === 0) return undefined;
    return this.#answer("callerRoots", options, async ({ session, signal }) => {
      const roots = await session?.listRoots?.({ signal });
      if (roots !== undefined) session?.onRootsChange?.(this.#rootsChanged);
      return roots;
    });
  }

  async #answer<T>(
    what: Asked,
    options: InteractionOptions,
    ask: (context: InteractionContext) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#askFor(what, options, ask);
    } catch (error) {
      const isExpected = options.signal.aborted || ToolkitError.is(error, "NO_DELEGATE");
      if (!isExpected) this.#host.log.warn(`A request of its server could not be answered: ${messageOf(error)}`);
      throw error;
    }
  }

  async #askFor<T>(
    what: Asked,
    { signal, context }: InteractionOptions,
    ask: (context: InteractionContext) => Promise<T>,
  ): Promise<T> {
    const { requests, connection } = this.#host;
    const call = callStateOf(context);
    const calls = call === undefined ? requests.calls : [call];
    const requester = connection.namespace;
    this.#budget.spend(what, calls, requester);
    if (calls.length === 0) return ask({ signal, requester });
    // A person takes longer to answer than a server may be silent.
    const resume = calls.map((call) => call.pauseTimeout());
    const abandoned = whenAbandoned(calls, requests);
    try {
      return await ask({ signal: AbortSignal.any([signal, abandoned.signal]), requester, session: sessionOf(calls) });
    } finally {
      abandoned.end();
      for (const each of resume) each();
    }
  }
}

/** Changes that come within so many milliseconds are one notification: clients may send them without end. */
const rootsBurstMs = 100;

/** A signal that aborts when none of the calls that may wait for an answer is left. `end` removes its listeners. */
function whenAbandoned(
  calls: readonly CallPort[],
  requests: ConnectionRequests,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const abandoned = new AbortController();
  const left = new Set(calls);
  const ends = calls.map((call) => {
    const onAbort = (reason: unknown) => {
      left.delete(call);
      // Calls that were answered meanwhile wait no more either.
      if (!requests.calls.some((each) => left.has(each))) abandoned.abort(reason);
    };
    call.onAbort(onAbort);
    return () => call.offAbort(onAbort);
  });
  return {
    signal: abandoned.signal,
    end: () => {
      for (const end of ends) end();
    },
  };
}

/** The session of all the calls, if it is one; or that of the last, where none was given to any. */
function sessionOf(calls: readonly CallPort[]): Session | undefined {
  const given = new Set(calls.map(({ givenSession }) => givenSession && sessionKey(givenSession)));
  return given.size === 1 ? calls.at(-1)?.session : undefined;
}
