import { type Glob, glob } from "../lib/glob.ts";
import { isRecord } from "../lib/value.ts";
import { messageOf, ToolkitError } from "./error.ts";
import type { Entry } from "./item.ts";
import type { Session } from "./session.ts";

/** A call somebody wants to make. */
export interface PolicyRequest {
  readonly entry: Entry<"tool" | "prompt">;
  /** As it was given: not validated yet. */
  readonly input: unknown;
  readonly session: Session;
  /** How many calls this one is inside of. */
  readonly depth: number;
}

/** What is decided: whether it may be made, refused with a reason, or asked for first. */
export type Verdict = boolean | { readonly deny: string } | { readonly approve: string };

/** Which calls may be made. What is refused is `DENIED`, naming the rule. */
export interface Policy {
  /** Globs on refs, such as `files.delete*`: what fits may not be called. */
  readonly block?: readonly string[] | undefined;
  /** Globs on refs: what fits none of them may not be called. Default: everything may. */
  readonly allow?: readonly string[] | undefined;
  /** Decides the rest. What it throws refuses the call. */
  decide?(request: PolicyRequest): Verdict | Promise<Verdict>;
}

/** The lists of a policy, compiled. */
export class PolicyLists {
  readonly #block: readonly (readonly [string, Glob])[];
  readonly #allow: readonly Glob[] | undefined;
  readonly #allowed: string;

  /** @throws ToolkitError `INVALID_CONFIG` for what is no policy */
  constructor(policy: Policy) {
    assertPolicy(policy);
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
}

/** The error for a call that a rule refuses. */
export function denied(ref: string, rule: string, why = `the rule "${rule}" refuses it`): ToolkitError<"DENIED"> {
  return new ToolkitError("DENIED", `${ref} may not be called: ${why}.`, { rule }, { ref, phase: "policy" });
}

function assertPolicy(policy: Policy): void {
  if (!isRecord(policy)) throw invalid("policy", "an object", policy);
  for (const list of ["block", "allow"] as const) {
    const globs: unknown = policy[list];
    if (globs === undefined || (Array.isArray(globs) && globs.every((each) => typeof each === "string"))) continue;
    throw invalid(`policy.${list}`, "a list of globs on refs", globs);
  }
  if (policy.decide !== undefined && typeof policy.decide !== "function") {
    throw invalid("policy.decide", "a function", policy.decide);
  }
}

function invalid(path: string, wanted: string, value: unknown): ToolkitError<"INVALID_CONFIG"> {
  const message = `The option ${path} must be ${wanted}, and is ${messageOf(value)}.`;
  return new ToolkitError("INVALID_CONFIG", message, { path });
}
