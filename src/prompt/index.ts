export type { PromptChange } from "../core/error-catalog.ts";
export type { LintProblem } from "./lint/findings.ts";
export { formatLint } from "./lint/format.ts";
export { type LintOptions, type LintReport, lintPrompts } from "./lint/lint.ts";
export type { LintCode, LintSeverity } from "./lint/rules.ts";
export type { LintTarget, LintText } from "./lint/target.ts";
