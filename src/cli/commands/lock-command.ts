import { resolve } from "node:path";
import { checkPins } from "../../connection/check-pins.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace } from "../workspace.ts";

/** The options of `lock`. */
export interface LockCommandOptions extends GlobalOptions {
  readonly check?: boolean | undefined;
}

/** Writes what pinned servers offer to `toolweave.lock`, or compares. @returns the exit code: `failed` where something changed */
export async function lock(options: LockCommandOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  await using workspace = await openWorkspace(options, terminal, { lazy: true, signal });
  const { config, toolkit } = workspace;
  if (config === undefined) throw new UsageMistake("lock needs a configuration whose connectors have `pins`.");
  const file = resolve(config.folder, "toolweave.lock");
  const { ok, changes, text } = await checkPins(toolkit, {
    file,
    update: options.check !== true,
    timeoutMs: options.timeout,
  });
  if (options.json === true) terminal.printJson({ ok, changes });
  else terminal.print(text);
  return ok ? exitCodes.ok : exitCodes.failed;
}
