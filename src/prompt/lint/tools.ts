import type { Toolbox } from "../../core/item.ts";
import { refGlob } from "../../core/ref-glob.ts";
import { nearest } from "../../lib/similar.ts";
import type { Place } from "../problem.ts";
import type { Findings } from "./findings.ts";

/** What there is for a prompt to use. */
export interface KnownTools {
  /** Of tools and prompts. */
  readonly refs: readonly string[];
  /** Namespaces of which it is not known what they have. */
  readonly unknown: ReadonlySet<string>;
}

/** Lists what a toolbox has. @throws ToolkitError as `list` of the toolbox; the reason of an aborted signal */
export async function knownTools(toolbox: Pick<Toolbox, "list">, signal: AbortSignal | undefined): Promise<KnownTools> {
  const { entries, failures } = await toolbox.list({ kind: ["tool", "prompt"], signal });
  return { refs: entries.map(({ ref }) => ref), unknown: new Set(failures.map(({ namespace }) => namespace)) };
}

/** Finds names and patterns that nothing in the toolbox has. */
export function lintTools(
  tools: readonly string[],
  { refs, unknown }: KnownTools,
  at: { readonly file: string | undefined; placeOf(index: number): Place },
  findings: Findings,
): void {
  for (const [index, name] of tools.entries()) {
    if (refs.some(refGlob(name))) continue;
    const where = { file: at.file, place: at.placeOf(index) };
    const [namespace = ""] = name.split(".", 1);
    if (unknown.has(namespace)) {
      const message = `Whether there is ${JSON.stringify(name)} cannot be told: ${namespace} is not connected.`;
      findings.add("unchecked-tool", { ...where, message, hint: "Check again when it is." });
    } else if (/[*?]/.test(name)) {
      const message = `Nothing fits ${JSON.stringify(name)}.`;
      findings.add("no-match", { ...where, message, hint: suggestion(name.replace(/\.?[*?].*$/, ""), refs) });
    } else {
      const message = `There is no tool ${JSON.stringify(name)}.`;
      findings.add("unknown-tool", { ...where, message, hint: suggestion(name, refs) });
    }
  }
}

function suggestion(name: string, refs: readonly string[]): string {
  const scoped = refs.filter((ref) => ref.endsWith(`.${name}`));
  const meant = scoped.length > 0 ? scoped : nearest(name, refs, 3);
  if (meant.length > 0) return `Did you mean ${meant.join(", ")}?`;
  return refs.length === 0 ? "The toolbox is empty." : "Write its namespace and its name, such as weather.forecast.";
}
