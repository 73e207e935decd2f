import { genuine, isPromiseLike, type MaybePromise } from "../lib/promise.ts";
import { isRecord, present } from "../lib/value.ts";
import { messageOf, ToolkitError } from "./error.ts";
import type { Entry } from "./item.ts";
import { assertRules, ChoosingRules, emptyScope, type NameScope, RefusingRules } from "./name-rules.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "./options.ts";
import type { OuterCall } from "./outer-call.ts";
import type { Named } from "./rule-names.ts";
import type { Session } from "./session.ts";

/** A call, render or read that a policy decides about. */
export interface PolicyRequest {
  /** To subscribe to a resource is to read it. */
  readonly action: "call" | "render" | "read";
  readonly entry: Entry<"tool" | "prompt" | "resource">;
  /** As it was given, or repaired where coercion is on; not validated yet. Undefined for a read. */
  readonly input: unknown;
  readonly session: Session;
  /** The number of calls in progress this one is inside of. */
  readonly depth: number;
  /**
   * The calls that led to this one, the outermost first, those that ended when it began to wait for an approval included. Empty for a call
   * from outside. Of the rules of a policy this alone names callers.
   */
  readonly via: readonly OuterCall[];
}

/**
 * A decision: allowed or not, refused with a reason, or to be approved first, for a reason. Only calls can be approved: to read or to render
 * what needs it is refused.
 */
export type Verdict = boolean | { readonly deny: string } | { readonly approve: string };

/**
 * The rules for calls, renders and reads. What is refused is `DENIED`, naming the rule, before anything is said of its schema.
 * The lists are read once.
 */
export interface Policy {
  /** Names or refs, in every namespace, or globs on these (`files.delete*`): what fits may not be called. */
  readonly block?: readonly string[] | undefined;
  /**
   * Refs, globs on refs, or bare names, each of which means what `lookup` finds: what is none of them may not be called. Default:
   * everything may.
   */
  readonly allow?: readonly string[] | undefined;
  /** Decides the rest. What it throws, or gives in place of a verdict, refuses the call. */
  decide?(request: PolicyRequest): Verdict | Promise<Verdict>;
}

/** The result of a policy: nothing against it, the approval it needs, or the error that refuses it. */
export type Ruling = undefined | { readonly approve: string } | ToolkitError<"DENIED">;

/** A rule of a policy, as it is written: of `allow` that refuses, all of the list. */
export interface PolicyRule {
  readonly list: "block" | "allow";
  readonly text: string;
}

/** A rule that has a say in how an item stands: of a policy, a selection or settings. */
export interface StandingRule {
  /** The option it stands in, such as `policy.block` or `include`; undefined where no option says so. */
  readonly at?: string | undefined;
  /** As it is written; the reason, where nothing is written. */
  readonly rule: string;
  /** Whether it offers the item to models or hides it from them, allows or refuses calls, is asked at each call, or sets how it is called. */
  readonly verdict: "offers" | "hides" | "allows" | "refuses" | "decides" | "sets";
}

/** The rule in one text, for errors. */
export function ruleName({ list, text }: PolicyRule): string {
  return `${list} ${text}`;
}

/** A policy, its lists compiled. */
export class PolicyRules {
  /** Undefined without a list. */
  readonly block: RefusingRules | undefined;
  readonly allow: ChoosingRules | undefined;
  readonly #policy: Policy;
  readonly #names: OptionNames<Policy>;
  readonly #scope: NameScope;

  /**
   * @param names - of what the policy may say. Default: that of a toolkit
   * @param scope - finds what names in `allow` mean. Default: nothing
   * @throws ToolkitError `INVALID_CONFIG` for what is no policy
   */
  constructor(policy: Policy, names: OptionNames<Policy> = policyNames, scope: NameScope = emptyScope) {
    assertPolicy(policy, names);
    this.#policy = policy;
    this.#names = names;
    this.#scope = scope;
    const { block = [], allow } = policy;
    this.block = block.length === 0 ? undefined : new RefusingRules([...block]);
    this.allow = allow === undefined ? undefined : new ChoosingRules([...allow]);
  }

  /** The same rules, whose names mean what they mean there. */
  within(scope: NameScope): PolicyRules {
    return new PolicyRules(this.#policy, this.#names, scope);
  }

  /** The rule that refuses an item; undefined where none does. */
  refusal(item: Named): PolicyRule | undefined {
    const blocking = this.block?.ruleFor(item);
    if (blocking !== undefined) return { list: "block", text: blocking };
    if (this.allow === undefined || this.allow.ruleFor(item, this.#scope) !== undefined) return undefined;
    return { list: "allow", text: this.allow.texts.join(", ") };
  }

  /** The rules that have a say in what may be done with an item: the one that refuses it, or those that let it through. */
  standingRules(item: Named): readonly StandingRule[] {
    const refusal = this.refusal(item);
    if (refusal !== undefined) return [{ at: `policy.${refusal.list}`, rule: refusal.text, verdict: "refuses" }];
    const rule = this.allow?.ruleFor(item, this.#scope);
    const allowing: StandingRule[] = rule === undefined ? [] : [{ at: "policy.allow", rule, verdict: "allows" }];
    return this.decides ? [...allowing, { at: "policy.decide", rule: "a function", verdict: "decides" }] : allowing;
  }

  /** True where it depends on what `lookup` finds at the time whether an item is refused. */
  isOpen(item: Named): boolean {
    return this.allow?.isOpen(item) === true && this.block?.ruleFor(item) === undefined;
  }

  /** Its lists, each with the place it stands in. @param at - of the policy: `policy` */
  lists(at: string): readonly { readonly at: string; readonly rules: RefusingRules | ChoosingRules }[] {
    const block = this.block === undefined ? [] : [{ at: `${at}.block`, rules: this.block }];
    const allow = this.allow === undefined ? [] : [{ at: `${at}.allow`, rules: this.allow }];
    return [...block, ...allow];
  }

  /** True where the lists do not say all. */
  get decides(): boolean {
    return this.#policy.decide !== undefined;
  }

  /** Asks `decide` about a request that the lists let through. At once where it decides at once; it never throws. */
  decide(request: PolicyRequest): MaybePromise<Ruling> {
    if (this.#policy.decide === undefined) return undefined;
    const { ref } = request.entry;
    const failed = (cause: unknown) =>
      denied(ref, "decide", { why: `the function decide failed: ${messageOf(cause)}`, cause });
    try {
      const verdict: unknown = this.#policy.decide(request);
      if (!isPromiseLike(verdict)) return rulingOf(verdict, ref);
      return genuine(verdict).then((decided) => rulingOf(decided, ref), failed);
    } catch (cause) {
      return failed(cause);
    }
  }
}

function rulingOf(verdict: unknown, ref: string): Ruling {
  if (verdict === true) return undefined;
  if (verdict === false) return denied(ref, "decide");
  if (isRecord(verdict) && typeof verdict.deny === "string") return denied(ref, "decide", { why: verdict.deny });
  if (isRecord(verdict) && typeof verdict.approve === "string") return { approve: verdict.approve };
  // A function that forgets to decide does not allow.
  return denied(ref, "decide", { why: `the function decide gave ${messageOf(verdict)}, which is no verdict` });
}

/** Details of a refusal. */
export interface Refusal {
  readonly why?: string | undefined;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly cause?: unknown;
}

/** The error for what a rule refuses. */
export function denied(
  ref: string,
  rule: string,
  { why = `the rule "${rule}" refuses it`, cause, ...who }: Refusal = {},
): ToolkitError<"DENIED"> {
  const message = `${ref} is refused: ${why}.`;
  return new ToolkitError("DENIED", message, { rule, ...present(who) }, { ref, phase: "policy", cause });
}

/** The names of a policy's options. */
export const policyNames: OptionNames<Policy> = { block: true, allow: true, decide: true };

function assertPolicy(policy: Policy, names: OptionNames<Policy>): void {
  if (!isRecord(policy)) throw invalidOption("policy", "an object", policy);
  assertOptionNames(policy, names, "of a policy", "policy");
  for (const list of ["block", "allow"] as const) assertRules(policy[list], `policy.${list}`);
  if (policy.decide !== undefined && typeof policy.decide !== "function") {
    throw invalidOption("policy.decide", "a function", policy.decide);
  }
}
