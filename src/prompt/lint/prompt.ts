import { isKept } from "../dotprompt/values.ts";
import { isDotprompt } from "../file-name.ts";
import { type FieldValues, readValues } from "../front-matter/field-table.ts";
import { misspelt } from "../front-matter/misspelt.ts";
import { FieldReader } from "../front-matter/reader.ts";
import { settingNamed } from "../front-matter/settings.ts";
import { assertBody, splitFrontMatter } from "../front-matter/split.ts";
import { type FrontMatter, readFrontMatter } from "../front-matter/yaml.ts";
import { checkTemplate } from "../template/check.ts";
import { type TemplateSource, templateFromLine } from "../template/source.ts";
import { firstHeading } from "../title.ts";
import type { Findings } from "./findings.ts";
import type { LintedPartials } from "./folder.ts";
import { lintInputForm } from "./form.ts";
import { lintModel } from "./model.ts";
import { lintSchema } from "./schema.ts";
import { type KnownTools, lintTools } from "./tools.ts";
import { lintVariables, type UsedTemplate } from "./variables.ts";

/** The text of a prompt, and the file it is from. */
export interface PromptText {
  readonly text: string;
  readonly file: string | undefined;
}

/** What a prompt is held against. */
export interface LintSurroundings {
  readonly findings: Findings;
  readonly partials: LintedPartials;
  readonly tools: KnownTools | undefined;
  readonly models: readonly string[] | undefined;
}

/** Finds everything that is wrong with one prompt. @returns its name; undefined where it has none */
export async function lintPrompt({ text, file }: PromptText, around: LintSurroundings): Promise<string | undefined> {
  const { findings } = around;
  findings.remember(file, text);
  const split = findings.attempt("file", file, () => splitFrontMatter(text, file));
  if (split === undefined) return undefined;
  findings.attempt("file", file, () => assertBody(split, file));
  const body = lintTemplate(templateFromLine(split.body, file, split.bodyLine), findings);
  const frontMatter = findings.attempt("yaml", file, () => readFrontMatter(split, file));
  if (frontMatter === undefined) {
    around.partials.neededBy([body]);
    return undefined;
  }
  const reader = new FieldReader(frontMatter, findings.reportOf(file));
  const values = readValues(reader);
  lintNames(frontMatter, reader, findings);
  lintDescription(reader, firstHeading(split.body), findings);
  await lintTarget(values, frontMatter, around);
  const { system_prompt } = values;
  const system =
    system_prompt === undefined ? [] : [lintTemplate(frontMatter.source("system_prompt", system_prompt), findings)];
  await lintForms(values, frontMatter, [body, ...system], around);
  return values.name === "" ? undefined : values.name;
}

/** A template and what it uses; `isWhole` is false where something of it is broken. */
interface LintedTemplate extends UsedTemplate {
  readonly isWhole: boolean;
}

function lintTemplate(source: TemplateSource, findings: Findings): LintedTemplate {
  let isWhole = true;
  const uses = checkTemplate(source, "prompt", (problem, kind) => {
    isWhole = false;
    findings.note(problem, kind, source.file);
  });
  return { file: source.file, uses, isWhole };
}

/** Fields that are not known. Those that are nearly known are told by the reader. */
function lintNames({ file, placeOfName }: FrontMatter, reader: FieldReader, findings: Findings): void {
  for (const field of Object.keys(reader.rest() ?? {})) {
    if (field.startsWith("x-") || misspelt(field, reader.known) !== undefined) continue;
    if (isDotprompt(file) && isKept(field)) continue;
    const message = `The field \`${field}\` means nothing here.`;
    const setting = settingNamed(field);
    const hint =
      setting === undefined
        ? `Remove it, or call it \`x-${field}\` if it is for a program of your own.`
        : `It is one of the settings: write \`settings: { ${setting}: ... }\`.`;
    findings.add("unknown-field", { file, place: placeOfName(field), message, hint });
  }
}

function lintDescription({ frontMatter, known }: FieldReader, heading: string | undefined, findings: Findings): void {
  const { file, values } = frontMatter;
  // One with a wrong value, or a misspelt name, is reported as that.
  const has = (field: string) => Object.keys(values).some((name) => name === field || misspelt(name, known) === field);
  const place = { line: 1, column: 1 };
  if (heading === undefined && !has("title")) {
    const hint = "Write `title: ...` and say in a few words what it does.";
    findings.add("missing-title", { file, place, message: "The prompt has no title.", hint });
  }
  if (!has("description")) {
    const hint = "Write `description: ...` and say what it does and when to use it.";
    findings.add("missing-description", { file, place, message: "The prompt has no description.", hint });
  }
}

/** What it is executed with. */
async function lintTarget(
  { tools, model, provider }: FieldValues,
  frontMatter: FrontMatter,
  around: LintSurroundings,
): Promise<void> {
  const { file, values, placeOf } = frontMatter;
  if (tools !== undefined && around.tools !== undefined) {
    const placeOfTool = (index: number) => placeOf(Array.isArray(values.tools) ? ["tools", index] : ["tools"]);
    await lintTools(tools, around.tools, { file, placeOf: placeOfTool }, around.findings);
  }
  if (around.models !== undefined) {
    // In dotprompt the provider stands before the model.
    const at = { file, placeOf: (field: string) => placeOf([Object.hasOwn(values, field) ? field : "model"]) };
    lintModel({ model, provider }, around.models, at, around.findings);
  }
}

/** What goes in and what comes out. */
async function lintForms(
  { input, output, format }: FieldValues,
  { file, placeOf }: FrontMatter,
  templates: readonly LintedTemplate[],
  { findings, partials }: LintSurroundings,
): Promise<void> {
  for (const [field, schema] of Object.entries({ output, format })) {
    if (schema !== undefined) await lintSchema({ file, field, schema, placeOf }, findings);
  }
  const needed = partials.neededBy(templates);
  if (input === undefined) return;
  const given = { file, field: "input", schema: input, placeOf };
  const spelt = await lintSchema(given, findings);
  lintInputForm({ ...given, schema: spelt }, findings);
  const scope = {
    input: spelt,
    templates,
    partials: needed,
    placeOf: (property: string) => placeOf(["input", "properties", property]),
    isWhole: templates.every(({ isWhole }) => isWhole),
  };
  lintVariables(scope, file, findings);
}
