import type { Agent, AgentOptions } from "../agent/index.ts";
import type { ToolkitError } from "../core/error.ts";
import type { Item } from "../core/item.ts";
import type { Content } from "../core/resource.ts";
import type { Source } from "../core/source.ts";
import type { ToolkitOptions } from "../core/toolkit-options.ts";
import type { Toolkit } from "../toolkit/toolkit.ts";

/** Options of a replay. */
export interface ReplayOptions {
  /** The prompts and tools under test. Those that are not given are made from the tape; a prompt of the tape is not compared. */
  readonly items?: readonly Item[] | undefined;
  /** Sources under test, such as `promptFolder`, by namespace. */
  readonly sources?: Readonly<Record<string, Source>> | undefined;
  /** Tools that run although the tape has their results: refs and names, or globs on them. Default: none. */
  readonly live?: readonly string[] | undefined;
  /** Options of the toolkit, such as a clock. */
  readonly toolkit?: Omit<ToolkitOptions, "items" | "delegate"> | undefined;
  /** Options of the agent, such as `maxSteps` and `history`, where the service has some. */
  readonly agent?: Omit<AgentOptions, "models" | "defaultModel"> | undefined;
}

/** The outcome of a prompt that was run again. */
export interface ReplayedRun {
  readonly ref: string;
  readonly input: unknown;
  /** The answer, or the error that the tape has too. */
  readonly answer?: Content | undefined;
  readonly error?: unknown;
}

/** A tape that answers in place of tools and models. */
export interface Replay extends AsyncDisposable {
  /** Has the items under test, and a stand-in for everything else that is on the tape. */
  readonly toolkit: Toolkit;
  readonly agent: Agent;
  /** The refs of prompts that were not given: they are made from the tape, and not compared. */
  readonly fromTape: readonly string[];
  /** The first difference so far. */
  readonly difference: ToolkitError<"REPLAY_DIFFERS"> | undefined;
  /**
   * Runs each prompt again that was called from outside, with the input of the tape, one after the other.
   *
   * @throws ToolkitError `REPLAY_DIFFERS` for the first difference; `INVALID_INPUT` where the tape is not whole
   */
  run(options?: { readonly signal?: AbortSignal | undefined }): Promise<readonly ReplayedRun[]>;
  /** @throws ToolkitError `REPLAY_DIFFERS` for the first difference, and for what the tape has and the new run has not done */
  assertSame(): void;
}
