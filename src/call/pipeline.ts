import { definitionOf } from "../core/entry.ts";
import type { Entry, RenderedPrompt } from "../core/item.ts";
import type { Middleware } from "../core/middleware.ts";
import type { PolicyRules } from "../core/policy.ts";
import type { Content } from "../core/resource.ts";
import type { DeadlineScheduler } from "../lib/deadline-scheduler.ts";
import { applyPolicy } from "./apply-policy.ts";
import type { ApprovalPort } from "./approval-port.ts";
import { approve } from "./approve.ts";
import { type CacheOptions, cache } from "./cache.ts";
import type { SchemaReport } from "./checked-validator.ts";
import { coerce } from "./coerce.ts";
import { limitDepth } from "./limit-depth.ts";
import { normaliseResult } from "./normalise-result.ts";
import { type RateLimitOptions, rateLimit } from "./rate-limit.ts";
import { type RetryOptions, retry } from "./retry.ts";
import { calling, type PromptRunner, rendering, runItem } from "./run-item.ts";
import type { SettingsRules } from "./settings-rules.ts";
import type { Next, Receive, StepOf, StepSettings, Target } from "./step.ts";
import { limitsOf, type TimeoutOptions, timeout } from "./timeout.ts";
import { use } from "./use.ts";
import { validateInput } from "./validate-input.ts";
import { validateOutput } from "./validate-output.ts";

/** What the steps are configured with. */
export interface PipelineOptions extends TimeoutOptions, CacheOptions, RetryOptions, RateLimitOptions {
  readonly maxDepth: number;
  readonly policy: PolicyRules;
  readonly approvals: ApprovalPort;
  readonly settings: SettingsRules;
  readonly use: readonly Middleware[];
  readonly room: DeadlineScheduler;
  readonly runPrompt: PromptRunner;
  readonly onBadSchema: SchemaReport;
}

/** One step of a call, as it is set. */
export interface StepDescription {
  readonly name: string;
  readonly settings: StepSettings;
}

/**
 * Compiles the way of a call for one entry, once:
 *
 * ```
 * depth > policy > coerce > validate input > approve > use > cache > retry > rate limit > timeout > run > normalise > validate output
 * ```
 */
export function compileCall(entry: Entry<"tool" | "prompt">, options: PipelineOptions): Next {
  const target = targetOf(entry, options);
  const innermost = runItem(target, calling(target, options.runPrompt), {
    receive: receiving(target, options),
    wait: timeout(target, options.room, options),
    approvals: options.approvals,
  });
  return compose(target, innermost, Object.values(callSteps(target, options)));
}

/** Compiles the way of a `render`: as a call, without the steps that make no sense for it. */
export function compileRender(entry: Entry<"prompt">, options: PipelineOptions): Next<RenderedPrompt> {
  const target = targetOf(entry, options);
  const innermost = runItem(target, rendering(target), {
    receive: (rendered) => rendered as RenderedPrompt,
    wait: timeout(target, options.room, options),
    approvals: options.approvals,
  });
  const steps = [
    limitDepth(options.maxDepth),
    applyPolicy(options.policy, "render"),
    validateInput(options.onBadSchema),
    retry(options),
  ];
  return compose<RenderedPrompt>(target, innermost, steps);
}

/** Compiles what makes the result of a call of what it came to, wherever that was. */
export function compileReceive(entry: Entry<"tool" | "prompt">, options: PipelineOptions): Receive {
  return receiving(targetOf(entry, options), options);
}

function receiving(target: Target, { onBadSchema }: PipelineOptions): Receive {
  return validateOutput(target, normaliseResult(target), onBadSchema);
}

/** What a call of an entry goes through, the outermost first, each with what it is set to. Nothing is run. */
export function describeCall(entry: Entry<"tool" | "prompt">, options: PipelineOptions): readonly StepDescription[] {
  const target = targetOf(entry, options);
  const end: Next = () => {
    throw new TypeError("Nothing is run.");
  };
  const there = Object.entries(callSteps(target, options)).filter(([, step]) => step(target, end) !== end);
  const { inactivityMs, totalMs } = limitsOf(target, options) ?? {};
  return [
    ...there.map(([name, step]) => ({ name, settings: step.settingsFor?.(target) ?? {} })),
    ...(inactivityMs === undefined ? [] : [{ name: "timeout", settings: { inactivityMs, totalMs } }]),
  ];
}

/** The steps of a call by their names, the first outermost. */
function callSteps({ entry }: Target, options: PipelineOptions): Readonly<Record<string, StepOf<Content>>> {
  const validate = validateInput(options.onBadSchema);
  const steps = {
    depth: limitDepth(options.maxDepth),
    policy: applyPolicy(options.policy, "call"),
    coerce: coerce(options.onBadSchema),
    validateInput: validate,
    approve: approve(options.approvals, validate),
    use: use(options.use, validate),
  };
  // Of a prompt that is called a delegate decides what to repeat: it may have done much already. What it calls has limits of its own.
  if (entry.kind === "prompt") return steps;
  return { ...steps, cache: cache(options), retry: retry(options), rateLimit: rateLimit(options) };
}

function targetOf(entry: Entry<"tool" | "prompt">, { settings }: PipelineOptions): Target {
  const definition = definitionOf(entry);
  return { entry, definition, settings: settings.of(entry, definition) };
}

/** Puts the steps around the innermost, the first outermost. */
function compose<R>(target: Target, innermost: Next<R>, steps: readonly StepOf<R>[]): Next<R> {
  return steps.reduceRight((next, step) => step(target, next), innermost);
}
