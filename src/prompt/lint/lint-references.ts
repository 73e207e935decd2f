import { ToolkitError } from "../../core/error.ts";
import type { Toolbox } from "../../core/item.ts";
import { choosesRef } from "../../core/name-rules.ts";
import { glob } from "../../lib/glob.ts";
import { didYouMean, nearest } from "../../lib/similar.ts";
import type { Place } from "../prompt-problem.ts";
import type { Findings } from "./lint-findings.ts";

/** Looks tools up: a toolkit, a view, a toolset. */
export type LintToolbox = Pick<Toolbox, "list" | "lookup">;

/** The tools and prompts that a prompt may name in `tools`. */
export interface KnownTools {
  /** The refs of tools and prompts. */
  readonly refs: readonly string[];
  /** The namespaces whose items could not be listed. */
  readonly failed: ReadonlySet<string>;
  /** The kind of the item that an agent would find by a name; undefined for none. */
  kindOf(name: string): Promise<"tool" | "prompt" | "resource" | undefined>;
}

/** Lists the items of a toolbox. @throws ToolkitError as `list` of the toolbox; the reason of an aborted signal */
export async function listKnownTools(toolbox: LintToolbox, signal: AbortSignal | undefined): Promise<KnownTools> {
  const { entries, failures } = await toolbox.list({ kind: ["tool", "prompt"], signal });
  return {
    refs: entries.map(({ ref }) => ref),
    failed: new Set(failures.map(({ namespace }) => namespace)),
    async kindOf(name) {
      try {
        return (await toolbox.lookup(name, { signal })).kind;
      } catch (error) {
        signal?.throwIfAborted();
        if (!ToolkitError.is(error)) throw error;
        return undefined;
      }
    },
  };
}

/** Reports names of `tools` that are not in the toolbox, and patterns that match nothing. */
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
    if (known.failed.has(namespace)) {
      const message = `${JSON.stringify(name)} cannot be checked: ${namespace} is not connected.`;
      findings.add("unchecked-tool", { ...where, message, hint: "Check again when it is." });
    } else if (/[*?]/.test(name)) {
      const hint = suggestTools(name.replace(/\.?[*?].*$/, ""), known.refs);
      findings.add("no-match", { ...where, message: `${JSON.stringify(name)} matches nothing.`, hint });
    } else {
      const kind = await known.kindOf(name);
      if (kind === "tool" || kind === "prompt") continue;
      const isResource = kind === "resource";
      const message = `There is no tool ${JSON.stringify(name)}${isResource ? ": it is a resource" : ""}.`;
      const hint = isResource ? "Remove it: a resource is read, and not called." : suggestTools(name, known.refs);
      findings.add("unknown-tool", { ...where, message, hint });
    }
  }
}

function suggestTools(name: string, refs: readonly string[]): string {
  const write = "Write its namespace and its name, such as weather.forecast.";
  return didYouMean(nearest(name, refs), refs.length === 0 ? "The toolbox is empty." : write);
}

/** The model that a prompt names. */
export interface NamedModel {
  readonly model: string | undefined;
  readonly provider: string | undefined;
}

/**
 * Reports a model or a provider that is not among the given ones.
 *
 * @param models - `provider/name`, or `provider/*` for all models of a provider
 */
export function lintModel(
  { model, provider }: NamedModel,
  models: readonly string[],
  at: { readonly file: string | undefined; placeOf(field: string): Place },
  findings: Findings,
): void {
  const providers = [...new Set(models.map((ref) => ref.split("/", 1)[0] ?? ref))];
  if (provider !== undefined && !providers.includes(provider)) {
    const message = `There is no provider ${JSON.stringify(provider)}.`;
    const hint = suggestModel(provider, providers);
    findings.add("unknown-model", { file: at.file, place: at.placeOf("provider"), message, hint });
    return;
  }
  if (model === undefined || isKnownModel(model, provider, models)) return;
  const message = `There is no model ${JSON.stringify(model)}${provider === undefined ? "" : ` of ${provider}`}.`;
  const names = models
    .filter((ref) => !ref.endsWith("*") && (provider === undefined || ref.startsWith(`${provider}/`)))
    .map((ref) => (provider === undefined ? ref : ref.slice(provider.length + 1)));
  const hint = suggestModel(model, names);
  findings.add("unknown-model", { file: at.file, place: at.placeOf("model"), message, hint });
}

/** A model without a provider may be of any of them, or have the provider in its name. */
function isKnownModel(model: string, provider: string | undefined, models: readonly string[]): boolean {
  const isListed = (ref: string) => models.some((known) => glob(known)(ref));
  if (provider !== undefined) return isListed(`${provider}/${model}`);
  return isListed(model) || models.some((known) => glob(known.slice(known.indexOf("/") + 1))(model));
}

function suggestModel(name: string, known: readonly string[]): string {
  const otherwise = known.length === 0 ? "Remove the field to use the default." : `Known are ${known.join(", ")}.`;
  return didYouMean(nearest(name, known), otherwise);
}
