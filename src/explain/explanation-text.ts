import type { StepSettings } from "../call/step.ts";
import { messageOf } from "../core/error.ts";
import { visible } from "../lib/visible-text.ts";
import type { ExplainedItem, ExplainedRule, Explanation } from "./explanation.ts";

/** An explanation for people, a fact a line. */
export function textOf(explanation: Explanation): string {
  const { key, readings, candidates, winner, problem, unsettled, rules, origin, connection, pin, alias, tokens } =
    explanation;
  const [first = "nothing", ...others] = candidates.map(itemText);
  const read = readings.map(({ as, namespace, rest }) =>
    namespace === undefined ? `${as} ${rest}` : `${as}: ${rest} in ${namespace}`,
  );
  const lines: readonly (readonly [what: string, text: string | undefined])[] = [
    ["reads as", read.join(", then ")],
    ["means", winner === undefined ? undefined : first],
    ["shadows", winner === undefined || others.length === 0 ? undefined : others.join(", ")],
    ["might mean", winner === undefined && candidates.length > 0 ? [first, ...others].join(", ") : undefined],
    ["problem", problem],
    ["written in", origin === undefined ? undefined : originText(origin)],
    ["still coming", unsettled.length === 0 ? undefined : unsettled.join(", ")],
    ...rules.map((rule) => [rule.verdict, ruleText(rule)] as const),
    ["connector", connection === undefined ? undefined : connectionText(connection)],
    ["contract", pin?.state],
    ...(pin?.changes ?? []).map(({ message }) => ["changed", message] as const),
    ["alias", alias],
    ["costs", tokens === undefined ? undefined : `about ${tokens} tokens`],
    ...explanation.steps.map(
      ({ name, settings }, at) => [at === 0 ? "goes through" : "", stepText(name, settings)] as const,
    ),
  ];
  const shown = lines.filter(([, text]) => text !== undefined);
  return [key, ...shown.map(([what, text]) => `  ${what.padEnd(13)}${text}`)].map(visible).join("\n");
}

function itemText({ kind, ref, stale }: ExplainedItem): string {
  return `${kind} ${ref}${stale ? " (stale)" : ""}`;
}

function originText({ what, place, mode }: NonNullable<Explanation["origin"]>): string {
  const kind = mode === undefined ? what : `${what}: ${mode}`;
  return place === undefined ? `a ${kind}` : `${place} (${kind})`;
}

function ruleText({ of, at, rule, sets = [] }: ExplainedRule): string {
  const where = at === undefined ? "" : `${at} `;
  return `${where}${rule}${sets.length === 0 ? "" : `: ${sets.join(", ")}`} (${of})`;
}

function connectionText({
  namespace,
  trust,
  state,
  attempts,
  lastError,
  nextAttemptAt,
}: NonNullable<Explanation["connection"]>): string {
  const next = nextAttemptAt === undefined ? undefined : `next attempt ${new Date(nextAttemptAt).toISOString()}`;
  const tried =
    attempts > 0 && state !== "connected" ? `${attempts} ${attempts === 1 ? "attempt" : "attempts"}` : undefined;
  return [`${namespace} is ${state}`, trust === "untrusted" ? trust : undefined, tried, lastError, next]
    .filter((part) => part !== undefined)
    .join(", ");
}

function stepText(name: string, settings: StepSettings): string {
  const set = Object.entries(settings).filter(([, value]) => value !== undefined && !isEmptyList(value));
  return set.length === 0 ? name : `${name} (${set.map(([key, value]) => `${key}: ${valueText(value)}`).join(", ")})`;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function valueText(value: unknown): string {
  if (typeof value === "function") return "a function of the input";
  return typeof value === "number" ? String(value) : messageOf(value);
}
