import { messageOf, ToolkitError } from "../../core/error.ts";
import { visible } from "../../lib/visible-text.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace, type Workspace } from "../workspace.ts";

/** Lists the calls that wait for a person. @returns the exit code */
export async function listApprovals(options: GlobalOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  await using workspace = await openStored(options, terminal, signal);
  const waiting = await workspace.toolkit.approvals.list({ status: "pending" });
  if (options.json === true) terminal.printJson(waiting);
  else if (waiting.length === 0) terminal.note("Nothing waits for an approval.");
  else {
    const rows = waiting.map(({ id, tool, arguments: input, reason, requestedAt }) => {
      const at = new Date(requestedAt).toLocaleTimeString();
      return [id, tool, at, `${reason} ${JSON.stringify(input) ?? ""}`];
    });
    terminal.print(terminal.table(["ID", "TOOL", "ASKED", "REASON AND INPUT"], rows));
  }
  return exitCodes.ok;
}

/** Approves or denies calls. What is approved runs here, or in the service that shares the store. @returns the exit code */
export async function decide(
  ids: readonly string[],
  approved: boolean,
  options: GlobalOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  await using workspace = await openStored(options, terminal, signal);
  let code: number = exitCodes.ok;
  for (const id of ids) {
    try {
      const { tool, status } = await workspace.toolkit.approvals.resolve(id, { approved, by: "toolweave" }, { signal });
      terminal.print(visible(`${id}: ${tool} is ${status}`));
    } catch (error) {
      signal.throwIfAborted();
      if (!ToolkitError.is(error)) throw error;
      const isUnknown = ToolkitError.is(error, "NOT_FOUND");
      const problem = isUnknown
        ? "No call of this id is known to the store. See what waits with: toolweave approvals"
        : messageOf(error);
      terminal.note(visible(`${id}: ${problem}`), "red");
      code = isUnknown ? exitCodes.notFound : exitCodes.failed;
    }
  }
  return code;
}

/** @throws UsageMistake where nothing can be waiting */
async function openStored(options: GlobalOptions, terminal: Terminal, signal: AbortSignal): Promise<Workspace> {
  const workspace = await openWorkspace(options, terminal, { lazy: true, signal });
  if (workspace.config?.written.store !== undefined) return workspace;
  await workspace[Symbol.asyncDispose]();
  throw new UsageMistake(
    "Approvals are kept in a store: write `store: toolweave.sqlite` into the configuration, and start the service with it.",
  );
}
