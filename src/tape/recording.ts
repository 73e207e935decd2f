import { AsyncLocalStorage } from "node:async_hooks";
import { observedToolkit } from "../call/observers.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import { Toolkit } from "../toolkit/toolkit.ts";
import { type TapeTarget, TapeWriter } from "./tape-writer.ts";
import { ToolkitRecording } from "./toolkit-recording.ts";

/** Options of a recording. */
export interface RecordOptions {
  /**
   * The path or `file:` URL of a file, a stream of Node, or a function that gets each line. A file is made for its owner alone; of a tape that is
   * there nothing is left, and any other file is refused. A stream stays open.
   */
  readonly to: TapeTarget;
  /** Globs on keys whose values are masked, beside those of the toolkit's `redact` and those that always are. */
  readonly redact?: readonly string[] | undefined;
  /** The size of a line, in bytes. A longer one loses its largest member, and says so. Default 1 MiB. */
  readonly maxLineBytes?: number | undefined;
  /** The size of the tape, in bytes. Lines beyond it are dropped and counted. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
}

/** A tape that is being written. */
export interface Recording extends AsyncDisposable {
  /** The number of lines so far. */
  readonly lines: number;
  /** The number of lines that were dropped: the tape was full, its stream too slow, or it failed. */
  readonly dropped: number;
  /** The error for which nothing more is written, such as a disk that is full. */
  readonly failure: Error | undefined;
  /** Writes the last line, and closes the file. Closing again does nothing. */
  close(): Promise<void>;
}

const optionNames: OptionNames<RecordOptions> = { to: true, redact: true, maxLineBytes: true, maxBytes: true };

/**
 * Records what happens in a toolkit: calls with their results and errors, turns of models, questions, approvals, changes of lists. Secrets are
 * masked by key, as with `recordContent`, and wherever they come again in a text; other content is on the tape as it is.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an option out of its range, for what is no Toolkit, and for a file that cannot be written
 *
 * @example
 * ```ts
 * await using recording = record(toolkit, { to: "run.tape" });
 * await toolkit.call("summarize", { text });
 * ```
 */
export function record(toolkit: Toolkit, options: RecordOptions): Recording {
  return recordingOf(toolkit, options, undefined);
}

/**
 * Records one run: the calls that `run` makes, and what happens in them.
 *
 * @returns the result of `run`, once the tape is closed
 * @throws as `record`, and whatever `run` throws
 *
 * @example
 * ```ts
 * const answer = await recordRun(toolkit, { to: "run.tape" }, () => toolkit.call("summarize", { text }));
 * ```
 */
export async function recordRun<T>(
  toolkit: Toolkit,
  options: RecordOptions,
  run: () => T | PromiseLike<T>,
): Promise<T> {
  const scope = new AsyncLocalStorage<true>();
  await using _ = recordingOf(toolkit, options, scope);
  return await scope.run(true, run);
}

function recordingOf(toolkit: Toolkit, options: RecordOptions, scope: AsyncLocalStorage<true> | undefined): Recording {
  assertOptionNames(options, optionNames, "of a recording");
  const observed = toolkit instanceof Toolkit ? observedToolkit(toolkit) : undefined;
  if (observed === undefined) throw invalidOption("toolkit", "a Toolkit", toolkit, "of a recording");
  const { redact = [], maxLineBytes = 2 ** 20, maxBytes = 64 * 2 ** 20 } = options;
  if (!(Array.isArray(redact) && redact.every((glob) => typeof glob === "string" && glob !== "")))
    throw invalidOption("redact", "a list of globs on keys", redact, "of a recording");
  for (const [name, value] of Object.entries({ maxLineBytes, maxBytes })) {
    if (!(Number.isInteger(value) && value >= 1_024))
      throw invalidOption(name, "a whole number from 1,024", value, "of a recording");
  }
  const writer = new TapeWriter(options.to, { maxLineBytes, maxBytes });
  const globs = [...observed.redact, ...redact];
  const listen = toolkit.on.bind(toolkit, "*") as (listener: (event: ToolkitEvent) => void) => () => void;
  const { connections } = toolkit;
  const recording = new ToolkitRecording({ toolkit: observed, connections, writer, redact: globs, scope, listen });
  const close = () => recording.close();
  return {
    get lines() {
      return writer.lines;
    },
    get dropped() {
      return writer.dropped;
    },
    get failure() {
      return writer.failure;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
