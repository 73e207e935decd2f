import { type InheritedEnvironment, inheritedEnvironment } from "../../lib/child/child-command.ts";
import type { ChildParameters } from "../../lib/child/spawn-child.ts";
import type { CheckedStdioTarget } from "./parse-target.ts";

/** The child process of a target, and what it does not inherit. */
export interface TargetChild extends Pick<InheritedEnvironment, "secrets"> {
  readonly parameters: ChildParameters;
  /** The names of variables it would inherit if their values did not seem to hold a credential, and is not given. */
  readonly missing: readonly string[];
}

/** The child process that a target is started as, in the environment as it is now. */
export function childOf(target: CheckedStdioTarget, trust?: "standard" | "untrusted"): TargetChild {
  const { command: given, args: own, env, cwd, wrap, inheritEnv } = target;
  const [command = given, ...args] = [...wrap, given, ...own];
  const { variables, withheld, secrets } = inheritedEnvironment(process.env, { inheritEnv, trust });
  const missing = withheld.filter((name) => env[name] === undefined);
  return { parameters: { command, args, env: { ...variables, ...env }, cwd }, missing, secrets };
}
