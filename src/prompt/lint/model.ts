import { glob } from "../../lib/glob.ts";
import { nearest } from "../../lib/similar.ts";
import type { Place } from "../problem.ts";
import type { Findings } from "./findings.ts";

/** What a prompt says of its model. */
export interface NamedModel {
  readonly model: string | undefined;
  readonly provider: string | undefined;
}

/**
 * Finds a model or a provider that is not among the given ones.
 *
 * @param models - `provider/name`, or `provider/*` for whatever a provider has
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
    const place = at.placeOf("provider");
    findings.add("unknown-model", { file: at.file, place, message, hint: instead(provider, providers) });
    return;
  }
  if (model === undefined || isThere(model, provider, models)) return;
  const message = `There is no model ${JSON.stringify(model)}${provider === undefined ? "" : ` of ${provider}`}.`;
  const names = models
    .filter((ref) => !ref.endsWith("*") && (provider === undefined || ref.startsWith(`${provider}/`)))
    .map((ref) => (provider === undefined ? ref : ref.slice(provider.length + 1)));
  findings.add("unknown-model", { file: at.file, place: at.placeOf("model"), message, hint: instead(model, names) });
}

/** A name alone may be of any provider, and one with a provider in front stands for itself. */
function isThere(model: string, provider: string | undefined, models: readonly string[]): boolean {
  const fits = (ref: string) => models.some((known) => glob(known)(ref));
  if (provider !== undefined) return fits(`${provider}/${model}`);
  return fits(model) || models.some((known) => glob(known.slice(known.indexOf("/") + 1))(model));
}

function instead(name: string, known: readonly string[]): string {
  const [meant] = nearest(name, known, 1);
  if (meant !== undefined) return `Did you mean ${JSON.stringify(meant)}?`;
  return known.length === 0 ? "Remove the field to use the default." : `Known are ${known.join(", ")}.`;
}
