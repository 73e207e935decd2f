import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";

/** Limits of the runs of workflows. */
export interface WorkflowOptions {
  /**
   * For how long the process that runs a workflow may give no sign of life, in milliseconds, until another one that shares the store goes on
   * with it. Default 10,000.
   */
  readonly leaseMs?: number | undefined;
  /** The time for which a run is kept after its end, in milliseconds. Default 86,400,000 (a day). */
  readonly keepMs?: number | undefined;
  /** The longest time from the beginning of a run to its end, waiting included, in milliseconds. Default 604,800,000 (a week). */
  readonly maxAgeMs?: number | undefined;
  /** The number of runs that is kept. Beyond it those are forgotten first that have ended. Default 1,000. */
  readonly limit?: number | undefined;
  /** The bytes of the records of all runs when one is added, and of the pieces of each long run. Default 268,435,456 (256 MiB). */
  readonly maxBytes?: number | undefined;
  /** The most bytes of the result of one step, as JSON. Default 1,048,576 (1 MiB). */
  readonly maxResultBytes?: number | undefined;
  /** The most bytes of the results of all steps of a run. Default 8,388,608 (8 MiB). */
  readonly maxRunBytes?: number | undefined;
  /**
   * Go on with runs that began in other processes, once these are gone or what the runs wait for is settled. Default true. For a process that ends
   * soon, false: it would leave a step in the middle.
   */
  readonly takeOver?: boolean | undefined;
}

/** The options of workflows, all of them. */
export type KeptRunLimits = { readonly [Name in keyof WorkflowOptions]-?: NonNullable<WorkflowOptions[Name]> };

const defaults: KeptRunLimits = {
  leaseMs: 10_000,
  keepMs: 86_400_000,
  maxAgeMs: 604_800_000,
  limit: 1_000,
  maxBytes: 2 ** 28,
  maxResultBytes: 2 ** 20,
  maxRunBytes: 2 ** 23,
  takeOver: true,
};
const optionNames: OptionNames<WorkflowOptions> = {
  leaseMs: true,
  keepMs: true,
  maxAgeMs: true,
  limit: true,
  maxBytes: true,
  maxResultBytes: true,
  maxRunBytes: true,
  takeOver: true,
};

/** @throws ToolkitError `INVALID_CONFIG` for an option out of its range, or an unknown one */
export function keptRunLimits(options: WorkflowOptions): KeptRunLimits {
  const owner = "of workflows";
  assertOptionNames(options, optionNames, owner);
  const limits = { ...defaults };
  for (const name of Object.keys(defaults) as (keyof KeptRunLimits)[]) {
    const given: unknown = options[name] ?? defaults[name];
    if (name === "takeOver" && typeof given !== "boolean") throw invalidOption(name, "true or false", given, owner);
    if (name !== "takeOver" && !(typeof given === "number" && given > 0))
      throw invalidOption(name, "a number above 0", given, owner);
    Object.assign(limits, { [name]: given });
  }
  return limits;
}
