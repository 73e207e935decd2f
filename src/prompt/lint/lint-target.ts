import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ToolkitError } from "../../core/error.ts";
import { shown } from "../../core/options.ts";
import { isRecord } from "../../lib/value.ts";
import {
  fileRole,
  isDotprompt,
  listNames,
  pathOf,
  type ReadTextOptions,
  readText,
  readTexts,
} from "../prompt-files.ts";
import { folderPartials, givenPartials, type PartialFinder } from "../template/partials.ts";
import type { Findings } from "./lint-findings.ts";
import type { PromptText } from "./lint-text.ts";

/** The text of a prompt that is not in a file yet, such as that of an editor. */
export interface LintText {
  readonly text: string;
  /** Named in problems; the prompt has its name unless it says another. */
  readonly filename?: string | undefined;
  /** The text of each partial by name. */
  readonly partials?: Readonly<Record<string, string>> | undefined;
}

/** A target of lint: the path or `file:` URL of a file or a folder, or a text. */
export type LintTarget = string | URL | LintText;

/** Prompts that share partials, and whose names must differ. */
export interface LintGroup {
  readonly prompts: readonly PromptText[];
  readonly finder: PartialFinder;
  /** Partials that are reported unless a prompt uses them. */
  readonly partialFiles: readonly string[];
}

/**
 * Reads the targets. A file that cannot be read is reported.
 *
 * @throws ToolkitError `NOT_FOUND` for a missing file or folder, `INVALID_INPUT` for another value; the reason of an aborted signal
 */
export function openTargets(
  targets: readonly LintTarget[],
  findings: Findings,
  options: ReadTextOptions,
): Promise<readonly LintGroup[]> {
  return Promise.all(
    targets.map((target) => {
      if (typeof target === "string" || target instanceof URL) return openPath(pathOf(target), findings, options);
      return openText(target);
    }),
  );
}

function openText(given: LintText): LintGroup {
  const text: unknown = isRecord(given) ? given.text : undefined;
  if (typeof text !== "string") {
    const message = `Prompts are checked by path or as { text }, and this is ${shown(given)}.`;
    throw new ToolkitError("INVALID_INPUT", message, {
      issues: [{ pointer: "", message: "must be a path or { text }" }],
    });
  }
  const { filename, partials } = given;
  return {
    prompts: [{ text, file: filename }],
    finder: givenPartials(partials, isDotprompt(filename)),
    partialFiles: [],
  };
}

async function openPath(path: string, findings: Findings, options: ReadTextOptions): Promise<LintGroup> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return openFolder(path, findings, options);
  const folder = dirname(path);
  const prompts: PromptText[] = [];
  try {
    prompts.push({ text: await readText(path, options), file: path });
  } catch (error) {
    if (!ToolkitError.is(error, "INVALID_PROMPT") && !ToolkitError.is(error, "LIMIT_EXCEEDED")) throw error;
    findings.note(error, "file", path);
  }
  const others = (await listNames(folder, options)).filter((name) => name !== basename(path));
  const { texts } = await readTexts(folder, others, options);
  return { prompts, finder: folderPartials(folder, texts), partialFiles: [] };
}

async function openFolder(folder: string, findings: Findings, options: ReadTextOptions): Promise<LintGroup> {
  const names = await listNames(folder, options);
  const { texts, errors } = await readTexts(folder, names, options);
  for (const [name, error] of errors) findings.note(error, "file", join(folder, name));
  const files = [...texts].map(([name, text]) => ({ name, text, file: join(folder, name) }));
  return {
    prompts: files.filter(({ name }) => fileRole(name) === "prompt"),
    finder: folderPartials(folder, texts),
    partialFiles: files.filter(({ name }) => fileRole(name) === "partial").map(({ file }) => file),
  };
}
