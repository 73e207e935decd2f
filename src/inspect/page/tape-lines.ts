/** Something on a tape that took time, or happened. */
export interface TapedStep {
  /** Milliseconds since the tape began. */
  readonly at: number;
  /** The number of calls around it. */
  readonly depth: number;
  readonly what: string;
  readonly about: string;
  readonly durationMs: number | undefined;
  readonly error: string | undefined;
  /** The lines of the tape that say it: its beginning and its end. */
  readonly lines: readonly unknown[];
}

/** A tape that was opened. */
export interface OpenedTape {
  readonly beganAt: string;
  readonly steps: readonly TapedStep[];
  /** The tape has its last line. */
  readonly isComplete: boolean;
  readonly dropped: number;
}

type Line = Readonly<Record<string, unknown>>;

/** The version of the form that is known. */
const version = 1;
/** The largest tape that is opened, in bytes: it is held as a whole. */
export const maxTapeBytes = 64 * 1024 * 1024;
const maxAbout = 160;

/** Reads a tape: JSON lines, of which the first says the version. @throws Error for what is no tape, or one of another version */
export function parseTape(text: string): OpenedTape {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const [header, ...others] = lines.map(lineOf);
  if (header?.type !== "tape") throw new Error("This file is no tape: its first line does not say so.");
  if (header.version !== version)
    throw new Error(`This tape is of version ${header.version}, and the page reads version ${version}.`);
  const ends = new Map(others.flatMap((line) => (line?.type === "result" ? [[line.call, line] as const] : [])));
  const depths = new Map<unknown, number>();
  const steps = others.flatMap((line) => (line === undefined ? [] : stepOf(line, ends, depths)));
  const end = others.find((line) => line?.type === "end");
  return {
    beganAt: textOf(header.beganAt),
    steps: steps.toSorted((one, other) => one.at - other.at),
    isComplete: end !== undefined,
    dropped: numberOf(end?.dropped) ?? 0,
  };
}

/** The last line of a tape whose process ended may be cut. */
function lineOf(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function stepOf(line: Line, ends: ReadonlyMap<unknown, Line>, depths: Map<unknown, number>): readonly TapedStep[] {
  const at = numberOf(line.at) ?? 0;
  const common = { at, depth: 0, durationMs: numberOf(line.durationMs), error: errorOf(line.error), lines: [line] };
  switch (line.type) {
    case "call": {
      const end = ends.get(line.call);
      const depth = line.parent === undefined ? 0 : (depths.get(line.parent) ?? 0) + 1;
      depths.set(line.call, depth);
      const ended = {
        durationMs: numberOf(end?.durationMs),
        error: end === undefined ? "it has no end" : errorOf(end.error),
      };
      const about = `${textOf(line.ref)} ${shown(line.input)}`.trim();
      return [
        { ...common, ...ended, depth, what: textOf(line.verb), about, lines: end === undefined ? [line] : [line, end] },
      ];
    }
    case "turn": {
      const depth = line.call === undefined ? 0 : (depths.get(line.call) ?? 0) + 1;
      return [{ ...common, depth, what: "model", about: `${textOf(line.provider)}/${textOf(line.model)}` }];
    }
    case "question":
      return [{ ...common, what: textOf(line.kind), about: `${textOf(line.requester)} ${shown(line.answer)}`.trim() }];
    case "approval":
      return [{ ...common, what: "approval", about: `${textOf(line.ref)} is ${textOf(line.status)}` }];
    case "connection":
      return [{ ...common, what: "connection", about: `${textOf(line.namespace)} is ${textOf(line.state)}` }];
    case "list":
      return [{ ...common, what: "list", about: `${textOf(line.kind)}s of ${textOf(line.namespace)} changed` }];
    default:
      return [];
  }
}

function errorOf(error: unknown): string | undefined {
  if (!isRecord(error)) return undefined;
  return `${error.code === undefined ? "" : `${textOf(error.code)}: `}${textOf(error.message)}`;
}

function shown(value: unknown): string {
  const text = value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  return text.length > maxAbout ? `${text.slice(0, maxAbout)}…` : text;
}

const textOf = (value: unknown) => (value === undefined ? "" : String(value));
const numberOf = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : undefined);

function isRecord(value: unknown): value is Line {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
