/** The end of a call. */
export type Outcome =
  | { readonly ok: true; readonly right: boolean; readonly said: string }
  | { readonly ok: false; readonly code: string; readonly said: string };

/** A call that is over. */
export interface Ended {
  readonly outcome: Outcome;
  /** The ends it may have by itself, whatever happens to its server: codes, `ok` or `ABORTED`. */
  readonly expects: readonly string[];
  /** The ends that the troubles meanwhile excuse. */
  readonly excused: ReadonlySet<string>;
  readonly altersAnswers: boolean;
}

/** The breach in the end of a call, if there is one. */
export function verdictOf({ outcome, expects, excused, altersAnswers }: Ended): string | undefined {
  const ended = outcome.ok ? "ok" : outcome.code;
  if (!expects.includes(ended) && !excused.has(ended)) {
    const nothing = excused.size === 0 ? ", and its server had no trouble" : "";
    return `ended with ${ended}${nothing}: ${outcome.said}`;
  }
  if (outcome.ok && !outcome.right && !altersAnswers)
    return `was answered with what another call would be: ${outcome.said}`;
  return undefined;
}

/** The breach in the number of times that the server ran a call that ended so. */
export function runsVerdict(ended: string, runs: number, unsafe: boolean): string | undefined {
  if (unsafe && runs > 1) return `ended with ${ended}, is not safe to repeat, and ran ${runs} times`;
  if ((ended === "ok" || ended === "TOOL_FAILED") && runs === 0) return `ended with ${ended} and never ran`;
  if (neverRan.has(ended) && unsafe && runs > 0)
    return `ended with ${ended}, which says that it did not run, and it ran`;
  return undefined;
}

const neverRan: ReadonlySet<string> = new Set([
  "UNAVAILABLE",
  "NOT_FOUND",
  "INVALID_INPUT",
  "RATE_LIMITED",
  "UNAUTHORIZED",
  "REFUSED",
]);
