import { ToolkitError } from "../../core/error.ts";
import { type Place, type ProblemKind, problemParts, type Report } from "../problem.ts";
import { type LintCode, type LintSeverity, lintRules } from "./rules.ts";

/** One thing that is wrong with a prompt, or could be better. */
export interface LintProblem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly severity: LintSeverity;
  /** The rule that found it. */
  readonly code: LintCode;
  readonly message: string;
  /** What to write instead. */
  readonly hint: string | undefined;
  /** The line of the file, as it is. */
  readonly source: string;
}

/** What is found of a rule. */
interface Finding {
  readonly file: string | undefined;
  readonly place: Place;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** A file that has no name. */
const unnamed = "prompt";

/** Collects problems, each once: several prompts may use one partial. */
export class Findings {
  readonly #problems = new Map<string, LintProblem>();
  readonly #lines = new Map<string, readonly string[]>();

  /** Remembers the text of a file, so that its lines can be shown. */
  remember(file: string | undefined, text: string): void {
    this.#lines.set(file ?? unnamed, text.replace(/^\uFEFF/, "").split(/\r\n?|\n/));
  }

  add(code: LintCode, { file = unnamed, place, message, hint }: Finding): void {
    const { line, column } = place;
    const source = this.#lines.get(file)?.[line - 1] ?? "";
    const { severity } = lintRules[code];
    const key = JSON.stringify([file, line, column, code, message]);
    this.#problems.set(key, { file, line, column, severity, code, message, hint, source });
  }

  /** A report that goes on: it notes problems as those of a file, unless they name another. */
  reportOf(file: string | undefined): Report {
    return (problem, kind) => this.note(problem, kind, file);
  }

  note(problem: ToolkitError, kind: ProblemKind, file: string | undefined): void {
    const { what, ...parts } = problemParts(problem, file);
    this.add(kind, { ...parts, message: what });
  }

  /** What a step gives; undefined where it fails with a problem, which is noted. */
  attempt<T>(kind: ProblemKind, file: string | undefined, step: () => T): T | undefined {
    try {
      return step();
    } catch (error) {
      if (!ToolkitError.is(error)) throw error;
      this.note(error, kind, file);
      return undefined;
    }
  }

  /** By file, then by place. */
  sorted(): readonly LintProblem[] {
    const byText = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);
    return [...this.#problems.values()].sort(
      (a, b) => byText(a.file, b.file) || a.line - b.line || a.column - b.column || byText(a.code, b.code),
    );
  }
}
