import { resolve } from "node:path";
import { promptFolders } from "../../config/config-parts.ts";
import { findConfig, readConfig } from "../../config/read-config.ts";
import { ToolkitError } from "../../core/error.ts";
import type { Source } from "../../core/source.ts";
import { visible, visibleLines } from "../../lib/visible-text.ts";
import { promptFolder } from "../../prompt/prompt-folder.ts";
import { readPrompt } from "../../prompt/read-prompts.ts";
import { type Replay, readTape, replayed, type Tape, type TimelineEntry, timelineOf } from "../../tape/index.ts";
import { exitCodes } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import type { GlobalOptions } from "../workspace.ts";

/** The options of `replay`. */
export interface ReplayCommandOptions extends GlobalOptions {
  /** Show what is on the tape, and run nothing. */
  readonly list?: boolean | undefined;
  /** Prompt files beside those of the configuration. */
  readonly prompt?: readonly string[] | undefined;
}

/**
 * Shows what a tape has, and runs its prompts again with the tape in place of tools and models. @returns the exit code: `failed` where a run
 * differs, `usage` where the tape has none
 */
export async function replay(
  file: string,
  options: ReplayCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const tape = await readTape(resolve(terminal.streams.cwd, file));
  const timeline = timelineOf(tape);
  const { header, isComplete, dropped } = tape;
  const isJson = options.json === true;
  if (!isJson) {
    terminal.print(timelineText(timeline, terminal));
    if (!isComplete) terminal.note("The recording was not closed: its process ended before.", "yellow");
    if (dropped > 0) terminal.note(`${dropped} lines are missing: the recording reached its limits.`, "yellow");
  }
  const outcome = options.list === true ? undefined : await runAgain(tape, options, terminal, signal);
  if (isJson) {
    const { difference, runs } = outcome ?? {};
    terminal.printJson({
      beganAt: header.beganAt,
      isComplete,
      dropped,
      timeline,
      runs,
      difference: difference?.toJSON(),
    });
  } else if (outcome?.difference !== undefined) terminal.note(visibleLines(outcome.difference.message), "red");
  else if (outcome !== undefined) terminal.print(verdict(outcome.runs));
  if (outcome === undefined) return exitCodes.ok;
  if (outcome.difference !== undefined) return exitCodes.failed;
  // A check that compared nothing has not passed.
  return outcome.runs.length === 0 ? exitCodes.usage : exitCodes.ok;
}

interface Outcome {
  /** The refs of the prompts that ran. */
  readonly runs: readonly string[];
  readonly difference: ToolkitError<"REPLAY_DIFFERS"> | undefined;
}

async function runAgain(
  tape: Tape,
  options: ReplayCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Outcome> {
  const { cwd } = terminal.streams;
  const items = await Promise.all((options.prompt ?? []).map((path) => readPrompt(resolve(cwd, path), { signal })));
  const sources = await promptSources(tape, options, cwd);
  await using replay: Replay = await replayed(tape, { items, sources });
  for (const ref of replay.fromTape)
    terminal.note(
      visible(`${ref} runs with the messages of the tape. To compare it, name its file with --prompt.`),
      "dim",
    );
  try {
    const done = await replay.run({ signal });
    return { runs: done.map(({ ref }) => ref), difference: undefined };
  } catch (error) {
    if (!ToolkitError.is(error, "REPLAY_DIFFERS")) throw error;
    return { runs: [], difference: error };
  }
}

/** The prompt folders of the configuration, where there is one, whose namespaces are on the tape. */
async function promptSources(
  { lines }: Tape,
  { config }: GlobalOptions,
  cwd: string,
): Promise<Readonly<Record<string, Source>>> {
  const file = config === undefined ? await findConfig(cwd) : resolve(cwd, config);
  if (file === undefined) return {};
  const known = new Set(
    lines.flatMap((line) => (line.type === "item" && line.kind === "prompt" ? [line.namespace] : [])),
  );
  const folders = promptFolders(await readConfig(file)).filter(({ namespace }) => known.has(namespace));
  return Object.fromEntries(
    folders.map(({ namespace, folder, recursive }) => [namespace, promptFolder(folder, { recursive })]),
  );
}

function verdict(runs: readonly string[]): string {
  if (runs.length === 0)
    return "No prompt was called from outside on this tape: nothing was run again. To look at it alone: --list.";
  return visible(`${runs.join(", ")} ran as on the tape.`);
}

/** The timeline in lines, of which each begins with the seconds since the tape began. */
function timelineText(entries: readonly TimelineEntry[], terminal: Terminal): string {
  return entries
    .map(({ at, depth, what, text, durationMs, error }) => {
      const took = durationMs === undefined ? "" : ` (${Math.round(durationMs)} ms)`;
      const failed = error === undefined ? "" : ` ${terminal.style("red", visible(error))}`;
      const time = terminal.style("dim", `${(at / 1_000).toFixed(3).padStart(9)} s`);
      return `${time}  ${"  ".repeat(depth)}${terminal.style("cyan", what)} ${visible(text)}${took}${failed}`;
    })
    .join("\n");
}
