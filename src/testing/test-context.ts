import { PendingCall } from "../call/pending-call.ts";
import type { AgentEvent } from "../core/agent-event.ts";
import type { CallContext, Toolbox } from "../core/item.ts";
import { silentLogger } from "../core/logger.ts";
import type { Resource } from "../core/resource.ts";
import { toObjectSchema } from "../core/schema/json-schema.ts";
import type { Logger, Progress, Session } from "../core/session.ts";
import { DelegatedInteractions } from "../toolkit/delegated-interactions.ts";
import { Delegates } from "../toolkit/delegates.ts";
import { Toolkit } from "../toolkit/toolkit.ts";

/** What a test context has that is not the default. */
export interface TestContextOptions {
  /** Default: a fresh id and nothing else. */
  readonly session?: Session | undefined;
  /** Default: one that never aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Default: one that says nothing. */
  readonly logger?: Logger | undefined;
  readonly attachments?: readonly Resource[] | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** What `context.toolbox` is, such as a Toolkit. Default: an empty one. */
  readonly toolbox?: Toolbox | undefined;
  /** Default 0. */
  readonly depth?: number | undefined;
}

/** A context for the unit test of a tool or prompt. */
export interface TestContext extends CallContext {
  /** Whatever was reported through `progress`. */
  readonly reported: readonly Progress[];
  /** Whatever was told through `tell`. */
  readonly told: readonly AgentEvent[];
}

/**
 * Makes the context a tool's `run` gets, for a unit test without a Toolkit.
 *
 * @example
 * ```ts
 * const context = testContext({ attachments: [resource.text("note", "hi")] });
 * expect(await countWords.run({ language: "en" }, context)).toEqual({ words: 1 });
 * expect(context.reported).toHaveLength(1);
 * ```
 */
export function testContext(options: TestContextOptions = {}): TestContext {
  const { logger = silentLogger, toolbox, attachments = [], depth = 0, meta } = options;
  const session: Session = options.session ?? Object.freeze({ id: crypto.randomUUID() });
  const { signal = new AbortController().signal } = options;
  const reported: Progress[] = [];
  const told: AgentEvent[] = [];
  const asking = { signal, requester: "the tool", session };
  return {
    session,
    signal,
    logger,
    attachments,
    meta: session.meta === undefined ? meta : { ...session.meta, ...meta },
    toolbox: toolbox ?? new Toolkit({ logger, tracer: false, meter: false }),
    depth,
    reported,
    told,
    async progress(progress, total, message) {
      reported.push({
        progress,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      });
      return true;
    },
    async elicit(message, schema) {
      const form = toObjectSchema(schema, { what: "schema of what the tool asks", direction: "input" });
      return nobody.elicit({ message, schema: form }, asking);
    },
    hasListener: true,
    emit(event) {
      told.push(event);
    },
    sample: (request) => nobody.sample(request, asking),
    pending(request) {
      throw new PendingCall("the tool", undefined, request);
    },
  };
}

/** Asks the session, and nobody else. */
const nobody = new DelegatedInteractions(new Delegates(undefined));
