import type { AgentEvent } from "../core/agent-event.ts";
import type { CallContext, Tool, Toolbox } from "../core/item.ts";
import type { Resource } from "../core/resource.ts";
import type { CallOptions, Logger, Progress, Session } from "../core/session.ts";
import { defineTool } from "../core/tool.ts";
import { present } from "../lib/value.ts";
import { Toolkit } from "../toolkit/toolkit.ts";

/** The parts of a test context that differ from the default. */
export interface TestContextOptions {
  /** Default: a fresh id and nothing else. */
  readonly session?: Session | undefined;
  /** Default: one that never aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Default: a silent one. */
  readonly logger?: Logger | undefined;
  readonly attachments?: readonly Resource[] | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** Is given as `context.toolbox`, such as a Toolkit. Default: an empty one. */
  readonly toolbox?: Toolbox | undefined;
  /** The number of calls around it. Default 0. */
  readonly depth?: number | undefined;
}

/** A context for the unit test of a tool or prompt. */
export interface TestContext extends CallContext {
  /** Everything that was reported through `progress`. */
  readonly reported: readonly Progress[];
  /** Everything that was emitted through `emit`. */
  readonly emitted: readonly AgentEvent[];
}

/**
 * Makes the context a tool's `run` gets, for a unit test without a Toolkit of yours: that of a call in progress of a Toolkit that has
 * nothing else, so that it behaves as in a service. The call holds nothing open.
 *
 * @example
 * ```ts
 * const context = testContext({ attachments: [resource.text("note", "hi")] });
 * expect(await countWords.run({ language: "en" }, context)).toEqual({ words: 1 });
 * expect(context.reported).toHaveLength(1);
 * ```
 */
export function testContext(options: TestContextOptions = {}): TestContext {
  const { session, signal, logger, attachments, meta, toolbox, depth = 0 } = options;
  const reported: Progress[] = [];
  const emitted: AgentEvent[] = [];
  const call: CallOptions = {
    ...present({ session, attachments, meta }),
    onProgress: (progress) => void reported.push(progress),
    onEvent: (event) => void emitted.push(event),
  };
  // Derived, not called with: a call whose signal has aborted would not run.
  const context = contextOfCall(depth, call, logger).derive(present({ signal, toolbox }));
  return Object.create(context, { reported: { value: reported }, emitted: { value: emitted } }) as TestContext;
}

/** The context of a call in progress that is so many calls deep inside others. */
function contextOfCall(depth: number, options: CallOptions, logger: Logger | undefined): CallContext {
  // Without a limit of time no timer runs that would keep the process alive.
  const timeoutMs = Number.POSITIVE_INFINITY;
  const limits = { timeoutMs, maxTimeoutMs: timeoutMs, maxDepth: Math.max(8, depth) };
  const toolkit = new Toolkit({ logger, ...limits, tracer: false, meter: false });
  const reached: CallContext[] = [];
  const tool: Tool = defineTool({
    name: "the_tool",
    run: (_input, context) => {
      if (context.depth < depth) return context.toolbox.call(tool, {}, options);
      reached.push(context);
      return new Promise<never>(() => {});
    },
  });
  // It runs at once, and never ends.
  void toolkit.call(tool, {}, options);
  return reached[0] as CallContext;
}
