import type { Connection } from "../core/connection.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { invalidOption } from "../core/options.ts";
import type { ContractChange, Pins } from "../core/pin.ts";
import { lockFile } from "../pins/lock-file.ts";
import type { PinnedContract } from "../pins/pinned-contract.ts";
import { ToolkitPins } from "../pins/pins.ts";

/** The part of a toolkit whose pins are checked. */
export interface CheckedToolkit {
  readonly pins: Pins;
  readonly connections: readonly Connection[];
  start(): Promise<void>;
}

/** The options of `checkPins`. */
export interface CheckPinsOptions {
  /** The lock file. Default: that of the toolkit, else `toolweave.lock` in the working directory. */
  readonly file?: string | undefined;
  /** Accepts what is there: writes the file. Default false: nothing is written. */
  readonly update?: boolean | undefined;
  /** Sets the exit code of the process to 1 where it is not ok. Default false. */
  readonly exit?: boolean | undefined;
  /** The longest wait for a connector, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** The outcome of `checkPins`. */
export interface PinCheck {
  /** True where every connector was read whole, and says what the file has; with `update`, what the file has now. */
  readonly ok: boolean;
  readonly changes: readonly ContractChange[];
  /** The differences, and other problems, for people. */
  readonly text: string;
}

/**
 * Connects the connectors of a toolkit that have the option `pins`, and compares what their servers say with a committed lock file. For a
 * step of CI.
 *
 * @param toolkit - one that was not started; close it afterwards
 * @throws ToolkitError `INVALID_INPUT` for a toolkit that was started, or has nothing pinned; `STORE_FAILED` for a file that cannot be read
 *   or written
 */
export async function checkPins(toolkit: CheckedToolkit, options: CheckPinsOptions = {}): Promise<PinCheck> {
  const { update = false, exit = false, timeoutMs = 30_000 } = options;
  if (!(timeoutMs > 0)) throw invalidOption("timeoutMs", "a number above 0", timeoutMs, "of checkPins");
  const { pins } = toolkit;
  if (!(pins instanceof ToolkitPins)) throw unfit("it has no pins");
  const { contracts } = pins;
  if (contracts.length === 0) throw unfit("none of its connectors has the option pins");
  if (contracts.some(({ isSeen }) => isSeen)) throw unfit("it was started already");
  const file = lockFile(options.file ?? pins.file ?? "toolweave.lock");
  const known = await file.namespaces();
  pins.checkAgainst(file);
  await toolkit.start();
  const problems: string[] = [];
  if (known === undefined && !update) problems.push(`${file.path} is not there: write it with update.`);
  await Promise.all(
    toolkit.connections.map(async (connection) => {
      if (!contracts.some(({ namespace }) => namespace === connection.namespace)) return;
      await connection.ready({ signal: AbortSignal.timeout(timeoutMs) }).catch((error) => {
        problems.push(`${connection.namespace} is not connected: ${connection.lastError?.message ?? messageOf(error)}`);
      });
    }),
  );
  problems.push(...contracts.flatMap(unreadOf));
  const changes = pins.list({ changed: true }).flatMap((pin) => pin.changes);
  if (update && problems.length === 0) for (const contract of contracts) await contract.acceptAll();
  const ok = problems.length === 0 && (update || changes.length === 0);
  if (exit && !ok) process.exitCode = 1;
  return { ok, changes, text: textOf(changes, problems, update && ok ? `${file.path} is up to date.` : "") };
}

function unreadOf({ namespace, unread }: PinnedContract): readonly string[] {
  return unread.map((kind) => `${namespace} did not list its ${kind}s.`);
}

/** The changes in the form of a difference, by item, then what else is wrong. */
function textOf(changes: readonly ContractChange[], problems: readonly string[], note: string): string {
  const byRef = Map.groupBy(changes, ({ kind, ref }) => `${kind === "instructions" ? "" : `${kind} `}${ref}`);
  const items = [...byRef].map(([ref, list]) => [ref, ...list.map(differenceOf)].join("\n"));
  const found = changes.length === 0 ? "" : `${changes.length} ${changes.length === 1 ? "change" : "changes"}.`;
  const none = changes.length + problems.length === 0 && note === "" ? "Nothing changed." : "";
  return [...items, ...problems, found, note, none].filter((line) => line !== "").join("\n");
}

function differenceOf({ what, effect, pointer, before, after }: ContractChange): string {
  const head = `  ${what}${effect === undefined ? "" : ` ${effect}`}${pointer === "" ? "" : ` at ${pointer}`}`;
  const lines = [before === undefined ? "" : `    - ${before}`, after === undefined ? "" : `    + ${after}`];
  return [head, ...lines.filter((line) => line !== "")].join("\n");
}

function unfit(why: string): ToolkitError<"INVALID_INPUT"> {
  const issues = [{ pointer: "", message: why }];
  return new ToolkitError("INVALID_INPUT", `The pins of this toolkit cannot be checked: ${why}.`, { issues });
}
