import type { ErrorCode } from "../../src/core/error-catalog.ts";
import type { PlannedTrouble } from "./plan.ts";
import { describeTrouble } from "./trouble.ts";

/** The codes that a lost connection explains. */
const lossCodes: readonly ErrorCode[] = ["OUTCOME_UNKNOWN", "UNAVAILABLE", "TIMEOUT"];
/** No call lives so long. */
const rememberedMs = 30_000;

/** The time from the beginning of a trouble until all is well again. */
export class Window {
  readonly planned: PlannedTrouble;
  readonly startedAt = performance.now();
  /** The codes with which calls may fail that were under way in it. */
  readonly codes: ReadonlySet<string>;
  readonly altersAnswers: boolean;
  endedAt = Number.POSITIVE_INFINITY;

  constructor(planned: PlannedTrouble) {
    const { codes = [], loses, altersAnswers = false } = describeTrouble(planned.trouble);
    this.planned = planned;
    this.codes = new Set([...codes, ...(loses === false ? [] : lossCodes)]);
    this.altersAnswers = altersAnswers;
  }

  close(): void {
    this.endedAt = performance.now();
  }
}

/** The troubles of one server, of late. */
export class Windows {
  #all: Window[] = [];

  open(planned: PlannedTrouble): Window {
    const window = new Window(planned);
    this.#all = this.#all.filter(({ endedAt }) => endedAt > window.startedAt - rememberedMs);
    this.#all.push(window);
    return window;
  }

  /** Those a call met that began then and is over now. */
  since(startedAt: number): readonly Window[] {
    return this.#all.filter(({ endedAt }) => endedAt >= startedAt);
  }
}
