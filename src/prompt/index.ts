export type { ArgumentValues, Completer, CompleterOptions, CompleterResult } from "../core/argument-values.ts";
export type { CompletionRequest } from "../core/completion.ts";
export type { PromptChange } from "../core/file-mistake.ts";
export type { Completers } from "../core/item.ts";
export type { PromptLimits } from "../core/prompt-limits.ts";
export type { LintCode, LintProblem, LintSeverity } from "./lint/lint-findings.ts";
export { formatLint, type LintOptions, type LintReport, lintPrompts } from "./lint/lint-prompts.ts";
export type { LintTarget, LintText } from "./lint/lint-target.ts";
export type { ReadPromptOptions, ReadPromptsOptions } from "./read-prompts.ts";
