import type { LintProblem } from "./findings.ts";
import type { LintReport } from "./lint.ts";
import type { LintSeverity } from "./rules.ts";

/**
 * A report for people: each problem with its place, its line and a mark under it, then a count.
 *
 * @example
 * ```ts
 * console.log(formatLint(await lintPrompts("prompts")));
 * ```
 */
export function formatLint({ files, problems }: LintReport): string {
  const counts = (["error", "warning", "hint"] as const)
    .map((severity) => [severity, problems.filter((problem) => problem.severity === severity).length] as const)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => plural(count, severity));
  const outcome = counts.length === 0 ? "no problem" : counts.join(", ");
  return `${[...problems.map(block), `${plural(files.length, "prompt")}: ${outcome}.`].join("\n\n")}\n`;
}

function block({ file, line, column, severity, code, message, hint, source }: LintProblem): string {
  const number = String(line);
  const gutter = " ".repeat(number.length);
  const { text, offset, length } = shownLine(source, column);
  const mark = `${gutter} | ${text.slice(0, offset).replace(/[^\t]/g, " ")}${"^".repeat(length)}`;
  const lines = source.trim() === "" ? [] : [`${number} | ${text}`, mark];
  const help = hint === undefined ? [] : [`${gutter} = ${hint}`];
  return [`${file}:${line}:${column}: ${label(severity)}: ${message} [${code}]`, ...lines, ...help].join("\n");
}

const label = (severity: LintSeverity) => severity;
const plural = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

const maxWidth = 110;
const lead = 40;

/** A line as it is shown: what is far from the place is cut. */
function shownLine(source: string, column: number): { text: string; offset: number; length: number } {
  const start = source.length > maxWidth && column > maxWidth - lead ? column - 1 - lead : 0;
  const before = start === 0 ? "" : "...";
  const rest = source.slice(start);
  const text = `${before}${rest.length > maxWidth ? `${rest.slice(0, maxWidth)}...` : rest}`;
  const offset = Math.min(column - 1 - start + before.length, text.length);
  const word = /^(?:\{\{[^}]*\}\}|[\w$@./*-]+)/.exec(text.slice(offset))?.[0] ?? "";
  return { text, offset, length: Math.max(1, word.length) };
}
