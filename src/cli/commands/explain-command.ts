import { exitCodes } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace, untilListed } from "../workspace.ts";

/** Says what a name means, which rules apply to it and why a call would fail. @returns the exit code */
export async function explainKey(
  key: string,
  options: GlobalOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  await using workspace = await openWorkspace(options, terminal, { signal });
  // It waits for nothing itself.
  await untilListed(workspace.toolkit, signal);
  const explanation = await workspace.toolkit.explain(key, { session: workspace.session });
  if (options.json === true) terminal.printJson(explanation);
  else terminal.print(String(explanation));
  return explanation.winner === undefined ? exitCodes.notFound : exitCodes.ok;
}
