import { ToolkitError } from "../../core/error.ts";
import type { Toolbox } from "../../core/item.ts";
import { choosesRef } from "../../core/name-rules.ts";
import { nearest } from "../../lib/similar.ts";
import type { Place } from "../problem.ts";
import type { Findings } from "./findings.ts";

/** Where tools are looked up: a toolkit, a view, a toolset. */
export type LintToolbox = Pick<Toolbox, "list" | "lookup">;

/** What there is for a prompt to use. */
export class KnownTools {
  readonly #toolbox: LintToolbox;
  readonly #signal: AbortSignal | undefined;
  /** Of tools and prompts. */
  readonly refs: readonly string[];
  /** Namespaces of which it is not known what they have. */
  readonly unknown: ReadonlySet<string>;

  private constructor(
    toolbox: LintToolbox,
    signal: AbortSignal | undefined,
    refs: readonly string[],
    unknown: ReadonlySet<string>,
  ) {
    this.#toolbox = toolbox;
    this.#signal = signal;
    this.refs = refs;
    this.unknown = unknown;
  }

  /** Lists what a toolbox has. @throws ToolkitError as `list` of the toolbox; the reason of an aborted signal */
  static async of(toolbox: LintToolbox, signal: AbortSignal | undefined): Promise<KnownTools> {
    const { entries, failures } = await toolbox.list({ kind: ["tool", "prompt"], signal });
    const unknown = new Set(failures.map(({ namespace }) => namespace));
    const refs = entries.map(({ ref }) => ref);
    return new KnownTools(toolbox, signal, refs, unknown);
  }

  /** What a name means, as an agent looks it up; undefined where it means nothing. */
  async kindOf(name: string): Promise<"tool" | "prompt" | "resource" | undefined> {
    try {
      return (await this.#toolbox.lookup(name, { signal: this.#signal })).kind;
    } catch (error) {
      this.#signal?.throwIfAborted();
      if (!ToolkitError.is(error)) throw error;
      return undefined;
    }
  }
}

/** Finds names that nothing in the toolbox has, and patterns that fit nothing. */
export async function lintTools(
  tools: readonly string[],
  known: KnownTools,
  at: { readonly file: string | undefined; placeOf(index: number): Place },
  findings: Findings,
): Promise<void> {
  for (const [index, name] of tools.entries()) {
    if (known.refs.some(choosesRef(name))) continue;
    const where = { file: at.file, place: at.placeOf(index) };
    const [namespace = ""] = name.split(".", 1);
    if (known.unknown.has(namespace)) {
      const message = `Whether there is ${JSON.stringify(name)} cannot be told: ${namespace} is not connected.`;
      findings.add("unchecked-tool", { ...where, message, hint: "Check again when it is." });
    } else if (/[*?]/.test(name)) {
      const hint = suggestion(name.replace(/\.?[*?].*$/, ""), known.refs);
      findings.add("no-match", { ...where, message: `Nothing fits ${JSON.stringify(name)}.`, hint });
    } else {
      const kind = await known.kindOf(name);
      if (kind === "tool" || kind === "prompt") continue;
      const isRead = kind === "resource";
      const message = `There is no tool ${JSON.stringify(name)}${isRead ? ": it is a resource" : ""}.`;
      const hint = isRead ? "Remove it: a resource is read, and not called." : suggestion(name, known.refs);
      findings.add("unknown-tool", { ...where, message, hint });
    }
  }
}

function suggestion(name: string, refs: readonly string[]): string {
  const meant = nearest(name, refs, 3);
  if (meant.length > 0) return `Did you mean ${meant.join(", ")}?`;
  return refs.length === 0 ? "The toolbox is empty." : "Write its namespace and its name, such as weather.forecast.";
}
