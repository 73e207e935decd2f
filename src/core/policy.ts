import { type Glob, glob } from "../lib/glob.ts";
import { genuine, isPromiseLike, type MaybePromise } from "../lib/promise.ts";
import { isRecord, present } from "../lib/value.ts";
import { messageOf, ToolkitError } from "./error.ts";
import type { Entry } from "./item.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "./options.ts";
import type { Session } from "./session.ts";

/** What somebody wants to do. */
export interface PolicyRequest {
  /** To subscribe to a resource is to read it. */
  readonly action: "call" | "render" | "read";
  readonly entry: Entry<"tool" | "prompt" | "resource">;
  /** As it was given: not validated yet. Undefined for a read. */
  readonly input: unknown;
  readonly session: Session;
  /** How many calls this one is inside of. */
  readonly depth: number;
}

/**
 * What is decided: whether it may be done, refused with a reason, or approved by somebody first, for a reason. Only calls can be
 * approved: to read or to render what needs it is refused.
 */
export type Verdict = boolean | { readonly deny: string } | { readonly approve: string };

/**
 * What may be called, rendered and read. What is refused is `DENIED`, naming the rule, before anything is said of its schema. The lists
 * are read once.
 */
export interface Policy {
  /** Globs on refs, such as `files.delete*`: what fits may not be called. */
  readonly block?: readonly string[] | undefined;
  /** Globs on refs: what fits none of them may not be called. Default: everything may. */
  readonly allow?: readonly string[] | undefined;
  /** Decides the rest. What it throws, or gives in place of a verdict, refuses the call. */
  decide?(request: PolicyRequest): Verdict | Promise<Verdict>;
}

/** What a policy comes to: nothing against it, the approval it needs, or the error that refuses it. */
export type Ruling = undefined | { readonly approve: string } | ToolkitError<"DENIED">;

/** A policy, its lists compiled. */
export class PolicyRules {
  readonly #policy: Policy;
  readonly #block: readonly (readonly [string, Glob])[];
  readonly #allow: readonly Glob[] | undefined;
  readonly #allowed: string;

  /**
   * @param names - of what the policy may say. Default: that of a toolkit
   * @throws ToolkitError `INVALID_CONFIG` for what is no policy
   */
  constructor(policy: Policy, names: OptionNames<Policy> = policyNames) {
    assertPolicy(policy, names);
    this.#policy = policy;
    const { block = [], allow } = policy;
    this.#block = block.map((pattern) => [pattern, glob(pattern)]);
    this.#allow = allow?.map(glob);
    this.#allowed = allow?.join(", ") ?? "";
  }

  /** The rule that refuses a ref; undefined where none does. */
  refusal(ref: string): string | undefined {
    const blocked = this.#block.find(([, fits]) => fits(ref));
    if (blocked !== undefined) return `block ${blocked[0]}`;
    if (this.#allow === undefined || this.#allow.some((fits) => fits(ref))) return undefined;
    return `allow ${this.#allowed}`;
  }

  /** True where the lists do not say all. */
  get decides(): boolean {
    return this.#policy.decide !== undefined;
  }

  /** What `decide` makes of what the lists let through. At once where it decides at once; it never throws. */
  decide(request: PolicyRequest): MaybePromise<Ruling> {
    const { ref } = request.entry;
    const failed = (cause: unknown) =>
      denied(ref, "decide", { why: `whoever decides failed: ${messageOf(cause)}`, cause });
    try {
      const verdict: unknown = this.#policy.decide === undefined ? true : this.#policy.decide(request);
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
  // Who forgets to decide does not allow.
  return denied(ref, "decide", { why: `whoever decides gave ${messageOf(verdict)}, which is no verdict` });
}

/** Why it is refused. */
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

/** What a policy may say. */
export const policyNames: OptionNames<Policy> = { block: true, allow: true, decide: true };

function assertPolicy(policy: Policy, names: OptionNames<Policy>): void {
  if (!isRecord(policy)) throw invalidOption("policy", "an object", policy);
  assertOptionNames(policy, names, "of a policy", "policy");
  for (const list of ["block", "allow"] as const) {
    const globs: unknown = policy[list];
    if (globs === undefined || (Array.isArray(globs) && globs.every((each) => typeof each === "string"))) continue;
    throw invalidOption(`policy.${list}`, "a list of globs on refs", globs);
  }
  if (policy.decide !== undefined && typeof policy.decide !== "function") {
    throw invalidOption("policy.decide", "a function", policy.decide);
  }
}
