import { ToolkitError } from "../core/error.ts";
import type { TapedRequest } from "./taped-values.ts";

/** The place of a difference. */
export interface DifferencePlace {
  /** Of the prompt that runs, or of what is called. */
  readonly ref: string;
  readonly step?: number | undefined;
}

/** The most characters of a value in a difference. */
const maxShown = 300;

/** The error for a run that differs from its tape. @param expected - as on the tape; undefined for nothing. @param actual - of the new run */
export function differs(
  { ref, step }: DifferencePlace,
  part: string,
  expected: unknown,
  actual: unknown,
): ToolkitError<"REPLAY_DIFFERS"> {
  const diff = shortDiff(textOf(expected), textOf(actual));
  const where = step === undefined ? ref : `step ${step} of ${ref}`;
  const message = `The run differs from the tape at ${where}, in ${part}:\n${diff}\nRecord a new tape where the change is meant.`;
  return new ToolkitError("REPLAY_DIFFERS", message, { ref, ...(step === undefined ? {} : { step }), part, diff });
}

/** The first part in which two requests differ; undefined where they are equal. */
export function requestDifference(
  expected: TapedRequest,
  actual: TapedRequest,
): { readonly part: string; readonly expected: unknown; readonly actual: unknown } | undefined {
  const count = Math.max(expected.messages.length, actual.messages.length);
  for (let index = 0; index < count; index++) {
    const [one, other] = [expected.messages[index], actual.messages[index]];
    if (textOf(one) !== textOf(other)) return { part: `message ${index} of the request`, expected: one, actual: other };
  }
  const names = new Set([...Object.keys(expected.tools), ...Object.keys(actual.tools)]);
  for (const name of [...names].sort()) {
    const [one, other] = [own(expected.tools, name), own(actual.tools, name)];
    if (one === other) continue;
    if (one !== undefined && other !== undefined)
      return { part: `the definition of the tool ${name}`, expected: `digest ${one}`, actual: `digest ${other}` };
    return {
      part: "the tools that are offered",
      expected: Object.keys(expected.tools).sort(),
      actual: Object.keys(actual.tools).sort(),
    };
  }
  if (textOf(expected.settings) === textOf(actual.settings)) return undefined;
  return { part: "the settings of the request", expected: expected.settings, actual: actual.settings };
}

function own(record: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function textOf(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : (JSON.stringify(sorted(value)) ?? "");
}

/** The order of keys is no difference. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}

/** Both texts from a little before the first character that differs: `-` is the tape, `+` the new run. */
function shortDiff(expected: string, actual: string): string {
  let at = 0;
  while (at < expected.length && at < actual.length && expected[at] === actual[at]) at++;
  const from = at > 60 ? at - 40 : 0;
  const shown = (text: string) => {
    if (text === "") return "(nothing)";
    const part = text.slice(from, from + maxShown);
    return `${from > 0 ? "…" : ""}${part}${from + maxShown < text.length ? "…" : ""}`;
  };
  return `- ${shown(expected)}\n+ ${shown(actual)}`;
}
