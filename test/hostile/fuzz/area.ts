import type { Random } from "../../support/random.ts";

/** One hostile input. Its run may reject with a ToolkitError, and must do nothing else. */
export interface HostileCase {
  readonly describe: string;
  run(): unknown;
}

/** Hostile inputs of one area, without end. */
export interface HostileArea {
  readonly name: string;
  cases(random: Random): Iterable<HostileCase>;
}
