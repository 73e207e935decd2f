import { definitionOf } from "../core/entry.ts";
import type { Entry, RenderedPrompt } from "../core/item.ts";
import type { Middleware } from "../core/middleware.ts";
import type { WaitingRoom } from "../lib/waiting-room.ts";
import type { SchemaReport } from "./checked.ts";
import { depth } from "./depth.ts";
import { normalise } from "./normalise.ts";
import { type PromptRunner, render, run } from "./run.ts";
import type { Next, Step, Target } from "./step.ts";
import { type TimeoutOptions, timeout } from "./timeout.ts";
import { use } from "./use.ts";
import { validateInput } from "./validate-input.ts";
import { validateOutput } from "./validate-output.ts";

/** What the steps are configured with. */
export interface PipelineOptions extends TimeoutOptions {
  readonly maxDepth: number;
  readonly use: readonly Middleware[];
  readonly room: WaitingRoom;
  readonly runPrompt: PromptRunner;
  readonly onBadSchema: SchemaReport;
}

/**
 * Compiles the way of a call for one entry, once:
 *
 * ```
 * depth > validate input > use > timeout > run > normalise > validate output
 * ```
 */
export function compileCall(entry: Entry<"tool" | "prompt">, options: PipelineOptions): Next {
  const target = targetOf(entry);
  const validate = validateInput(options.onBadSchema);
  const receive = validateOutput(target, normalise(target), options.onBadSchema);
  return compose(target, run(target, options.runPrompt, receive), [
    depth(options.maxDepth),
    validate,
    use(options.use, validate),
    timeout(options.room, options),
  ]);
}

/** Compiles the way of a `render`: as a call, without the steps that make no sense for it. */
export function compileRender(entry: Entry<"prompt">, options: PipelineOptions): Next<RenderedPrompt> {
  const target = targetOf(entry);
  return compose(target, render(target) as Next<RenderedPrompt>, [
    depth(options.maxDepth),
    validateInput(options.onBadSchema),
    timeout(options.room, options),
  ]);
}

function targetOf(entry: Entry<"tool" | "prompt">): Target {
  return { entry, definition: definitionOf(entry) };
}

/** Puts the steps around the innermost, the first outermost. */
function compose<R>(target: Target, innermost: Next<R>, steps: readonly Step[]): Next<R> {
  return steps.reduceRight((next, step) => step(target, next), innermost);
}
