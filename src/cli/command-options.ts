import { InvalidArgumentError } from "commander";
import { commandLine } from "../config/command-line.ts";
import { type Kind, kinds } from "../core/item.ts";
import type { StdioTarget } from "../core/target.ts";
import type { ChildParameters } from "../lib/child/spawn-child.ts";
import { nearest, orDidYouMean } from "../lib/similar.ts";
import { childOf } from "../mcp/target/child-of.ts";
import { parseTarget } from "../mcp/target/parse-target.ts";
import { UsageMistake } from "./exit-code.ts";

/** The options of a command line that name servers. */
export interface ServerOptions {
  /** URLs and command lines of servers to look at without a configuration. */
  readonly server?: readonly string[] | undefined;
  /** `NAME=VALUE` for those that are started. */
  readonly env?: readonly string[] | undefined;
  /** `Name: value` for those over HTTP. */
  readonly header?: readonly string[] | undefined;
}

/**
 * The targets of the servers that a command line names.
 *
 * @throws UsageMistake, and ToolkitError `INVALID_TARGET` as `commandLine` does
 */
export function targetsOf(
  { server = [], env = [] }: ServerOptions,
  cwd: string,
): readonly ({ readonly url: string } | StdioTarget)[] {
  const variables = Object.fromEntries(env.map((pair) => pairOf(pair, "=", "--env NAME=VALUE")));
  return server.map((text) => {
    const target = commandLine(text);
    return "url" in target ? target : { ...target, env: variables, cwd };
  });
}

/**
 * Starts the child processes that a command line names, so that they load while the command loads its own code, which takes as long as a
 * third of it. The connectors of the same targets take them over; what none of them took is ended when this is disposed of.
 *
 * Where the command line is wrong nothing is started: the command says what is wrong.
 */
export async function startAhead(options: ServerOptions, cwd: string): Promise<AsyncDisposable> {
  const children = childrenOf(options, cwd);
  const { spawnAhead } = children.length === 0 ? {} : await import("../lib/child/spawn-child.ts");
  const ends = children.map((child) => spawnAhead?.(child));
  return {
    [Symbol.asyncDispose]: async () => {
      await Promise.all(ends.map((end) => end?.()));
    },
  };
}

function childrenOf(options: ServerOptions, cwd: string): readonly ChildParameters[] {
  try {
    for (const pair of options.header ?? []) pairOf(pair, ":", "");
    return targetsOf(options, cwd).flatMap((target) => {
      const checked = parseTarget(target);
      return checked.kind === "stdio" ? [childOf(checked).parameters] : [];
    });
  } catch {
    return [];
  }
}

/** @throws UsageMistake */
export function pairOf(pair: string, separator: string, form: string): readonly [name: string, value: string] {
  const at = pair.indexOf(separator);
  if (at < 1) throw new UsageMistake(`Write ${form}; this is ${JSON.stringify(pair)}.`);
  return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}

/** @throws UsageMistake for what is no kind of item */
export function kindOf(given: string): Kind {
  const kind = kinds.find((each) => each === given || `${each}s` === given);
  if (kind !== undefined) return kind;
  throw new UsageMistake(`--kind is ${kinds.join(", ")}, and not ${given}.${orDidYouMean(nearest(given, kinds))}`);
}

export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** @throws InvalidArgumentError */
export function milliseconds(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError("It must be a number of milliseconds above 0.");
  return value;
}
