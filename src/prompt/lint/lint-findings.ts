import { ToolkitError } from "../../core/error.ts";
import { type Place, type ProblemKind, problemParts, type ReportProblem } from "../prompt-problem.ts";

/** Severity of a problem: an error keeps the prompt from working, a warning probably does, a hint makes it better. */
export type LintSeverity = "error" | "warning" | "hint";

interface LintRule {
  readonly severity: LintSeverity;
  /** The finding in words, for the docs. */
  readonly summary: string;
}

const error = (summary: string): LintRule => ({ severity: "error", summary });
const warning = (summary: string): LintRule => ({ severity: "warning", summary });
const hint = (summary: string): LintRule => ({ severity: "hint", summary });

/** Every rule of lint by its name. Names do not change: programs may depend on them. */
export const lintRules = {
  file: error(
    "The file is no prompt: it cannot be read, its front matter is not closed, or it has neither front matter nor a `# heading`.",
  ),
  "empty-text": warning("The prompt has no text: the model gets an empty message."),
  yaml: error("The front matter is no YAML."),
  field: error("A field has a value it cannot have, or its name is misspelt."),
  "unknown-field": warning("A field that means nothing to Toolweave. One whose name starts with `x-` is your own."),
  name: error("The prompt has no name, or one that is no identifier or is reserved."),
  "duplicate-name": error("Two prompts have one name."),
  schema: error(
    "A schema is no JSON Schema, refers to something that does not exist, or has a default that it refuses.",
  ),
  "misspelt-keyword": error("A keyword of a schema is misspelt, such as `propertis`."),
  "unknown-keyword": warning("A keyword of a schema that JSON Schema does not have: it has no effect."),
  contradiction: warning("A schema no value fits, such as a `minimum` above its `maximum`."),
  "unfit-example": warning("An example of a schema that the schema refuses."),
  "unused-default": warning("A default of a property that is required: it is never used."),
  template: error("A tag of the text cannot be parsed, or names an unknown helper."),
  partial: error("A partial is missing, or uses itself."),
  "unused-partial": hint("A partial of the folder that no prompt uses."),
  "unknown-variable": error("The text uses a name that the input does not have: it would stay empty."),
  "no-list": warning("`{{#each}}` goes through a value that has no entries."),
  "unused-required": warning("Callers must give a value that the text does not use."),
  "unused-optional": hint("Callers may give a value that the text does not use."),
  "unknown-tool": error("`tools` names an unknown tool."),
  "no-match": warning("A pattern of `tools` matches nothing."),
  "unchecked-tool": warning("A tool cannot be checked: its namespace is not connected."),
  "unknown-model": error("The model, or the provider, is not among the given ones."),
  workflow: error("A workflow file that cannot run: see [its mistakes](workflows.md)."),
  manifest: error("A manifest that becomes no tool: see [its fields](manifests.md#fields)."),
  "missing-target": warning("A manifest of the mode `mcp` names a tool that is not there: its calls fail."),
  "missing-title": hint("There is neither a title nor a `# heading`: people see the name."),
  "short-title": hint("A title of fewer than 10 characters: it says little."),
  "short-description": hint("A description of fewer than 5 characters: a model does not know when to use the prompt."),
  "missing-description": hint(
    "There is no description: a model that may use the prompt as a tool knows only its name.",
  ),
} as const satisfies Readonly<Record<string, LintRule>>;

/** The name of a rule. */
export type LintCode = keyof typeof lintRules;

/** A mistake in a prompt, or a possible improvement. */
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
  /** The text to write instead. */
  readonly hint: string | undefined;
  /** The line of the file, as it is. */
  readonly source: string;
}

/** One finding of a rule. */
interface LintFinding {
  readonly file: string | undefined;
  readonly place: Place;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** The name in problems of a text without a file. */
const unnamed = "prompt";

/** Collects problems, each once: several prompts may use one partial. */
export class Findings {
  readonly #problems = new Map<string, LintProblem>();
  readonly #lines = new Map<string, readonly string[]>();

  /** Remembers the text of a file, for its lines in problems. */
  remember(file: string | undefined, text: string): void {
    this.#lines.set(file ?? unnamed, text.replace(/^\uFEFF/, "").split(/\r\n?|\n/));
  }

  add(code: LintCode, { file = unnamed, place, message, hint }: LintFinding): void {
    const { line, column } = place;
    const source = this.#lines.get(file)?.[line - 1] ?? "";
    const { severity } = lintRules[code];
    const key = JSON.stringify([file, line, column, code, message]);
    this.#problems.set(key, { file, line, column, severity, code, message, hint, source });
  }

  /** Adds the problems that are reported, as those of a file unless they name another. */
  reportOf(file: string | undefined): ReportProblem {
    return (problem, kind) => this.note(problem, kind, file);
  }

  /** Adds a problem, as one of a file unless it names another. */
  note(problem: ToolkitError, kind: ProblemKind, file: string | undefined): void {
    const { what, ...parts } = problemParts(problem, file);
    this.add(kind, { ...parts, message: what });
  }

  /** The result of a step; undefined where it throws a problem, which is added. */
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
