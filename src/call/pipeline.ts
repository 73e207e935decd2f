import { definitionOf } from "../core/entry.ts";
import type { Entry } from "../core/item.ts";
import type { Middleware } from "../core/middleware.ts";
import type { PolicyRules } from "../core/policy.ts";
import type { Content } from "../core/resource.ts";
import type { StoredPromptRules } from "../core/stored-prompt-rules.ts";
import type { DeadlineScheduler } from "../lib/deadline-scheduler.ts";
import { applyRules } from "./apply-rules.ts";
import type { ApprovalPort } from "./approval-port.ts";
import { askPolicy } from "./ask-policy.ts";
import { type CacheOptions, cacheResult } from "./cache-result.ts";
import { capStoredPrompts } from "./cap-stored-prompts.ts";
import { coerceInput } from "./coerce-input.ts";
import { limitDepth } from "./limit-depth.ts";
import { limitRate, type RateLimitOptions } from "./limit-rate.ts";
import { limitsOf, type TimeoutOptions } from "./limit-time.ts";
import { normaliseResult } from "./normalise-result.ts";
import { readInput } from "./read-input.ts";
import { requireApproval } from "./require-approval.ts";
import { type RetryOptions, retryAttempt } from "./retry-attempt.ts";
import { asResult, type Runners, runItem } from "./run-item.ts";
import type { SettingsRules } from "./settings-rules.ts";
import type { Action, Next, Receive, Step, StepCall, StepSettings, Target } from "./step.ts";
import { useMiddleware } from "./use-middleware.ts";
import type { SchemaReport } from "./validate-input.ts";
import { validateInput } from "./validate-input.ts";
import { validateOutput } from "./validate-output.ts";

/** The settings of all steps. */
export interface PipelineOptions extends TimeoutOptions, CacheOptions, RetryOptions, RateLimitOptions, Runners {
  readonly maxDepth: number;
  readonly policy: PolicyRules;
  /** Undefined where no principal has stored prompts. */
  readonly storedPromptRules: StoredPromptRules | undefined;
  readonly approvals: ApprovalPort;
  readonly settings: SettingsRules;
  readonly use: readonly Middleware[];
  readonly deadlines: DeadlineScheduler;
  readonly onBadSchema: SchemaReport;
}

/** One step of a call, as it is set. */
export interface StepDescription {
  readonly name: string;
  readonly settings: StepSettings;
}

/** The ways through the steps: one for each verb, and one more for prompts that are called. */
type Way = Action | "callPrompt";

/** The steps of a way, the outermost first. */
interface WaySteps {
  readonly outer: readonly StepName[];
  /** Steps that may keep something for a target, such as the places of a limit: plain calls share them with all others. */
  readonly inner: readonly StepName[];
}

/**
 * The steps of each way. A called prompt is not repeated: its delegate decides that, for it may have done much
 * already, and what it calls has limits of its own. Before all of them stand the trace and the lookup, after them the time limit and
 * the run.
 */
// biome-ignore format: it is a table
const steps: { readonly [W in Way]: WaySteps } = {
  call:       { outer: ["depth", "rules", "userTools", "readInput", "coerce", "decide", "validateInput", "approve"], inner: ["use", "cache", "retry", "rateLimit"] },
  callPrompt: { outer: ["depth", "rules", "userTools", "readInput", "coerce", "decide", "validateInput", "approve"], inner: ["use"] },
  render:     { outer: ["depth", "rules",              "readInput",           "decide", "validateInput"],            inner: ["use",          "retry"] },
  read:       { outer: [         "rules",                                     "decide"],                             inner: ["use",          "retry"] },
  subscribe:  { outer: [         "rules",                                     "decide"],                             inner: [                "retry"] },
  complete:   { outer: [         "rules",                                     "decide"],                             inner: [                "retry"] },
};

type StepName = keyof ReturnType<typeof stepsWith>;

/** Every step by its name; undefined where no call of the toolkit needs it. */
function stepsWith(options: PipelineOptions) {
  const { maxDepth, policy, storedPromptRules, approvals, onBadSchema, use } = options;
  const validate = validateInput(onBadSchema);
  return {
    depth: limitDepth(maxDepth),
    rules: applyRules(policy),
    userTools: storedPromptRules && capStoredPrompts(storedPromptRules),
    readInput,
    coerce: coerceInput(onBadSchema),
    decide: policy.decides ? askPolicy(policy) : undefined,
    validateInput: validate,
    approve: requireApproval({ approvals, decides: policy.decides, revalidate: validate }),
    use: use.length > 0 ? useMiddleware(use, validate) : undefined,
    cache: cacheResult(options),
    retry: retryAttempt(options),
    rateLimit: limitRate(options),
  } satisfies Readonly<Record<string, Step | undefined>>;
}

/** The chains of one verb for one entry. */
export interface CompiledSteps {
  readonly next: Next;
  /** Without the steps that plain calls do not need, see {@link Target}. The same as the other from `use` on. */
  readonly plain: Next;
}

/** Composes the steps of each entry and verb. */
export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #steps: Readonly<Record<StepName, Step | undefined>>;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#steps = stepsWith(options);
  }

  /** Compiles the steps of an entry for a verb. */
  compile(verb: Action, entry: StepCall["entry"]): CompiledSteps {
    const target = this.#target(verb, entry);
    const { deadlines, approvals, runPrompt, subscribe } = this.#options;
    const receive = verb === "call" ? this.#receiver(target) : asResult;
    const limits = limitsOf(target, this.#options);
    const innermost = runItem(target, { runPrompt, subscribe, receive, deadlines, limits, approvals });
    const way = wayOf(target);
    const inner = this.#around(innermost, way.inner, target);
    return {
      next: this.#around(inner, way.outer, target),
      plain: this.#around(inner, way.outer, { ...target, isPlain: true }),
    };
  }

  #around(innermost: Next, names: readonly StepName[], target: Target): Next {
    let next = innermost;
    for (const name of names.toReversed()) next = this.#steps[name]?.(target, next) ?? next;
    return next;
  }

  /** Compiles what makes the answer of a call from its result, wherever that comes from. */
  receiver(entry: Entry<"tool" | "prompt">): Receive<Content> {
    return this.#receiver(this.#target("call", entry));
  }

  /** The steps of a call of an entry, the outermost first, each with its settings. Nothing is run. */
  describe(entry: Entry<"tool" | "prompt">): readonly StepDescription[] {
    const target = this.#target("call", entry);
    const end: Next = () => {
      throw new TypeError("Nothing is run.");
    };
    const { inactivityMs, totalMs } = limitsOf(target, this.#options) ?? {};
    const { outer, inner } = wayOf(target);
    return [
      ...[...outer, ...inner]
        .filter((name) => name !== "readInput" && (this.#steps[name]?.(target, end) ?? end) !== end)
        .map((name) => ({ name, settings: this.#steps[name]?.settingsFor?.(target) ?? {} })),
      ...(inactivityMs === undefined ? [] : [{ name: "timeout", settings: { inactivityMs, totalMs } }]),
    ];
  }

  #receiver(target: Target): Receive<Content> {
    return validateOutput(target, normaliseResult(target), this.#options.onBadSchema);
  }

  #target(verb: Action, entry: StepCall["entry"]): Target {
    const definition = definitionOf(entry as Entry);
    // Settings are for what is called and rendered.
    const settings = entry.kind === "resource" ? {} : this.#options.settings.of(entry, definition);
    return { verb, entry, definition, settings, isPlain: false };
  }
}

function wayOf({ verb, entry }: Target): WaySteps {
  return steps[verb === "call" && entry.kind === "prompt" ? "callPrompt" : verb];
}
