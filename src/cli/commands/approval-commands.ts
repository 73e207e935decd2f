import type { Approval } from "../../core/approval.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { errorFromJson } from "../../core/error-json.ts";
import { visible, visibleLines } from "../../lib/visible-text.ts";
import { contentOf } from "../../workflow/step-result.ts";
import type { WorkflowRun } from "../../workflow/stored-run.ts";
import type { Workflows } from "../../workflow/workflows.ts";
import { runningService } from "../control-client.ts";
import { errorText, exitCodes, UsageMistake } from "../exit-code.ts";
import { showContent } from "../show-content.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace } from "../workspace.ts";

/** The calls that wait: of the service that runs, or of the store of the configuration. */
interface WaitingCalls extends AsyncDisposable {
  list(): Promise<readonly Listed[]>;
  decide(id: string, approved: boolean): Promise<Decided>;
  /** Goes on with the runs of workflows that waited for it, where no service does that. */
  resume?(id: string, decided: Decided): AsyncIterable<WorkflowRun>;
}

type Listed = Pick<Approval, "id" | "tool" | "kind" | "arguments" | "reason" | "message" | "requestedAt">;

/** A call that was decided. A service keeps the result for its caller. */
interface Decided extends Pick<Approval, "tool" | "status" | "content" | "metadata"> {
  /** Why it failed. */
  readonly problem?: string | undefined;
}

/** Lists the calls that wait for a person. @returns the exit code */
export async function listApprovals(options: GlobalOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  await using calls = await waitingCalls(options, terminal, signal);
  const waiting = await calls.list();
  if (options.json === true) terminal.printJson(waiting);
  else if (waiting.length === 0) terminal.note("Nothing waits for an approval.");
  else {
    const rows = waiting.map(({ id, tool, kind, arguments: input, reason, message, requestedAt }) => {
      const at = new Date(requestedAt).toLocaleTimeString();
      // A call that waits for others is not approved itself: its message has their ids.
      return [id, tool, at, `${kind === "approval" ? reason : message} ${JSON.stringify(input) ?? ""}`];
    });
    terminal.print(terminal.table(["ID", "TOOL", "ASKED", "REASON AND INPUT"], rows));
  }
  return exitCodes.ok;
}

/** Approves or denies calls. What is approved runs in the service that runs, else here. @returns the exit code */
export async function decide(
  ids: readonly string[],
  approved: boolean,
  options: GlobalOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  await using calls = await waitingCalls(options, terminal, signal);
  let code: number = exitCodes.ok;
  for (const id of ids) {
    try {
      const decided = await calls.decide(id, approved);
      const { tool, status, content, problem } = decided;
      terminal.print(visible(`${id}: ${tool} ${status}`));
      if (content !== undefined) await showContent(content, options, terminal);
      if (problem !== undefined) {
        terminal.note(visibleLines(problem), "red");
        code = exitCodes.tool;
      }
      for await (const run of calls.resume?.(id, decided) ?? []) {
        if (!(await showRun(run, options, terminal))) code = exitCodes.tool;
      }
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

/** Prints how far a run has come. Resolves to false where it failed. */
export async function showRun(run: WorkflowRun, options: GlobalOptions, terminal: Terminal): Promise<boolean> {
  const { id, ref, status, result, error, waitsFor } = run;
  const waits = waitsFor.map((each) => `${each.step} (${each.id})`).join(", ");
  terminal.print(visible(`${id}: ${ref} ${status}${status === "waiting" ? ` for ${waits}` : ""}`));
  if (status === "succeeded") await showContent(contentOf("result", result), options, terminal);
  if (error !== undefined) terminal.note(visibleLines(errorText(errorFromJson(error))), "red");
  return error === undefined;
}

/** The runs that waited for what was decided, or were given up by it, each when it has ended or waits again. */
async function* resumed(
  flows: Workflows,
  id: string,
  { metadata }: Decided,
  signal: AbortSignal,
): AsyncGenerator<WorkflowRun> {
  for (const run of await flows.runs({ status: "waiting" })) {
    const isConcerned = run.id === metadata?.run || run.waitsFor.some((each) => each.id === id);
    if (isConcerned) yield await flows.resume(run.id, { signal });
  }
}

/** @throws UsageMistake where nothing can be waiting */
async function waitingCalls(options: GlobalOptions, terminal: Terminal, signal: AbortSignal): Promise<WaitingCalls> {
  const service = await runningService(options, terminal);
  if (service !== undefined) {
    return {
      list: async () => (await service.ask({ method: "approvals" }, signal)) as readonly Approval[],
      decide: async (id, approved) => (await service.ask({ method: "decide", id, approved }, signal)) as Decided,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const workspace = await openWorkspace(options, terminal, { lazy: true, signal });
  const close = () => workspace[Symbol.asyncDispose]();
  if (workspace.config?.written.store !== undefined) {
    const { approvals } = workspace.toolkit;
    const { workflows } = workspace;
    return {
      ...(workflows === undefined
        ? {}
        : { resume: (id: string, decided: Decided) => resumed(workflows, id, decided, signal) }),
      list: () => approvals.list({ status: "pending" }),
      decide: async (id, approved) => {
        const resolved = await approvals.resolve(id, { approved, by: "toolweave" }, { signal });
        const { tool, status, content, metadata, error } = resolved;
        return { tool, status, content, metadata, problem: status === "failed" ? errorText(error) : undefined };
      },
      [Symbol.asyncDispose]: close,
    };
  }
  await close();
  throw new UsageMistake(
    "No service of this configuration runs, and it has no store: approvals are kept in the service, or in a store that several processes share. Start toolweave serve, or write `store: toolweave.sqlite` into the configuration.",
  );
}
