import type { Tape, TapeLine } from "./tape-format.ts";

/** Something that happened, for people and as JSON. */
export interface TimelineEntry {
  /** Milliseconds since the tape began. */
  readonly at: number;
  /** The number of calls around it. */
  readonly depth: number;
  readonly what: string;
  readonly text: string;
  readonly durationMs?: number | undefined;
  readonly error?: string | undefined;
}

/** The most characters of an input or an answer. */
const maxShown = 160;

/** Everything that a tape has, in the order in which it began. */
export function timelineOf({ lines }: Tape): readonly TimelineEntry[] {
  const ends = new Map(lines.flatMap((line) => (line.type === "result" ? [[line.call, line] as const] : [])));
  const depths = new Map<number, number>();
  const entries = lines.flatMap((line): TimelineEntry | readonly TimelineEntry[] => {
    if (line.type === "call") {
      const depth = line.parent === undefined ? 0 : (depths.get(line.parent) ?? 0) + 1;
      depths.set(line.call, depth);
      return callEntry(line, ends.get(line.call), depth);
    }
    if (line.type === "turn") {
      const depth = line.call === undefined ? 0 : (depths.get(line.call) ?? 0) + 1;
      return turnEntry(line, depth);
    }
    return otherEntry(line);
  });
  return entries.sort((one, other) => one.at - other.at);
}

function callEntry(line: TapeLine<"call">, end: TapeLine<"result"> | undefined, depth: number): TimelineEntry {
  const { at, verb, ref, input } = line;
  const given = input === undefined ? "" : ` ${shown(input)}`;
  const error = end === undefined ? "it has no end on this tape" : errorText(end.error);
  return { at, depth, what: verb, text: `${ref}${given}`, durationMs: end?.durationMs, error };
}

function turnEntry({ at, step, provider, model, answer, durationMs, error }: TapeLine<"turn">, depth: number) {
  const parts = (answer?.content ?? []).map((part) => {
    if (part.type === "tool-call") return `calls ${String(part.toolName)}`;
    return part.type === "text" || part.type === "reasoning" ? shown(part.text) : part.type;
  });
  const text = `${provider}/${model}: ${parts.join(", ")}`;
  return { at, depth, what: `step ${step}`, text, durationMs, error: errorText(error) };
}

function otherEntry(line: TapeLine): readonly TimelineEntry[] {
  switch (line.type) {
    case "question": {
      const { at, kind, requester, durationMs, answer, error } = line;
      const text = `${requester}${answer === undefined ? "" : ` ${shown(answer)}`}`;
      return [{ at, depth: 0, what: kind, text, durationMs, error: errorText(error) }];
    }
    case "approval": {
      const { at, ref, status, by, reason } = line;
      const who = by === undefined ? "" : ` by ${by}`;
      return [
        {
          at,
          depth: 0,
          what: "approval",
          text: `${ref} is ${status}${who}${reason === undefined ? "" : `: ${reason}`}`,
        },
      ];
    }
    case "list": {
      const { at, kind, namespace, added = [], removed = [], changed = [] } = line;
      const text = `${kind}s of ${namespace}: ${added.length} added, ${removed.length} removed, ${changed.length} changed`;
      return [{ at, depth: 0, what: "list", text }];
    }
    case "connection": {
      const { at, namespace, state, message } = line;
      return [{ at, depth: 0, what: "connection", text: `${namespace} is ${state}`, error: message }];
    }
    default:
      return [];
  }
}

function errorText(error: { readonly code?: string | undefined; readonly message: string } | undefined) {
  return error === undefined ? undefined : `${error.code === undefined ? "" : `${error.code}: `}${error.message}`;
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
