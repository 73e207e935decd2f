import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ToolkitError } from "../../core/error.ts";
import { shown } from "../../core/options.ts";
import { isRecord } from "../../lib/value.ts";
import {
  fileRole,
  insideOf,
  isDotprompt,
  type ListNamesOptions,
  listNames,
  namePrefixOf,
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

/** Prompts that share partials. */
export interface LintGroup {
  readonly prompts: readonly PromptText[];
  readonly finder: PartialFinder;
  /** The files of the prompts so far by their names, which must differ: one map for a folder and those inside it. */
  readonly owners: Map<string, string>;
  /** Partials that are reported unless a prompt uses them. */
  readonly partialFiles: readonly string[];
}

/**
 * Reads the targets. A file that cannot be read is reported.
 *
 * @throws ToolkitError `NOT_FOUND` for a missing file or folder, `INVALID_INPUT` for another value; the reason of an aborted signal
 */
export async function openTargets(
  targets: readonly LintTarget[],
  findings: Findings,
  options: OpenOptions,
): Promise<readonly LintGroup[]> {
  const opened = targets.map((target) => {
    if (typeof target === "string" || target instanceof URL) return openPath(pathOf(target), findings, options);
    return [openText(target)];
  });
  return (await Promise.all(opened)).flat();
}

type OpenOptions = ReadTextOptions & ListNamesOptions;

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
    owners: new Map(),
    partialFiles: [],
  };
}

async function openPath(path: string, findings: Findings, options: OpenOptions): Promise<readonly LintGroup[]> {
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
  const others = (await listNames(folder, { signal: options.signal })).filter((name) => name !== basename(path));
  const { texts } = await readTexts(folder, others, options);
  return [{ prompts, finder: folderPartials(folder, texts), owners: new Map(), partialFiles: [] }];
}

/** The groups of a folder: itself, and each folder in it that is read too. */
async function openFolder(folder: string, findings: Findings, options: OpenOptions): Promise<readonly LintGroup[]> {
  const names = await listNames(folder, options);
  const { texts, errors } = await readTexts(folder, names, options);
  for (const [name, error] of errors) findings.note(error, "file", join(folder, name));
  const owners = new Map<string, string>();
  const files = [...texts].map(([name, text]) => ({
    ...{ text, file: join(folder, name), inside: insideOf(name), namePrefix: namePrefixOf(name) },
    role: fileRole(basename(name)),
  }));
  return [...Map.groupBy(files, ({ inside }) => inside)].map(([inside, group]) => ({
    prompts: group.filter(({ role }) => role === "prompt"),
    finder: folderPartials(folder, texts, inside),
    owners,
    partialFiles: group.filter(({ role }) => role === "partial").map(({ file }) => file),
  }));
}
