import type { ToolkitError } from "../core/error.ts";
import { wayBetween } from "../lib/way-between.ts";
import type { FieldPath } from "../prompt/front-matter/yaml-document.ts";
import { callsOf } from "./check-targets.ts";
import type { ParsedWorkflow } from "./parse-workflow.ts";

/** A call of one workflow by another. */
interface WorkflowCall {
  readonly to: string;
  readonly path: FieldPath;
}

/**
 * The errors of workflows that call themselves, directly or through others: such a run would end at the limit of nested calls. Each cycle is
 * reported once, for the first workflow of it.
 */
export function findCallCycles(all: readonly ParsedWorkflow[], namespace = "workflow"): readonly ToolkitError[] {
  const byName = new Map(all.map((parsed) => [parsed.workflow.name, parsed]));
  const calls = new Map(all.map((parsed) => [parsed.workflow.name, callsBetween(parsed, byName, namespace)]));
  const reported = new Set<string>();
  const errors: ToolkitError[] = [];
  for (const [name, own] of calls) {
    if (reported.has(name)) continue;
    for (const { to, path } of own) {
      const way = wayBetween(to, name, (each) => (calls.get(each) ?? []).map((call) => call.to));
      if (way === undefined) continue;
      for (const each of way) reported.add(each);
      const message = `Workflows call each other without end: ${[name, ...way].join(" calls ")}. Remove one of these calls.`;
      const problem = byName.get(name)?.problem([{ path, message }]);
      if (problem !== undefined) errors.push(problem);
      break;
    }
  }
  return errors;
}

function callsBetween(
  { workflow }: ParsedWorkflow,
  byName: ReadonlyMap<string, ParsedWorkflow>,
  namespace: string,
): readonly WorkflowCall[] {
  const prefix = `${namespace}.`;
  return [...callsOf(workflow.steps, ["steps"])].flatMap(({ step, path }) => {
    const field = step.tool === undefined ? "run" : "tool";
    // A name without a namespace may be that of another tool.
    const target = step[field] ?? "";
    const to = target.startsWith(prefix) ? target.slice(prefix.length) : "";
    const kind = byName.get(to)?.workflow.expose ?? "tool";
    const isCalled = byName.has(to) && (kind === "tool") === (field === "tool");
    return isCalled ? [{ to, path: [...path, field] }] : [];
  });
}
