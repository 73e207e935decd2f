import type { ReadPromptLimits } from "../../core/prompt-limits.ts";
import { isKeptField } from "../dotprompt/dotprompt-fields.ts";
import { FieldReader, findMisspelled } from "../front-matter/field-reader.ts";
import { type FrontMatter, parseFrontMatter } from "../front-matter/front-matter.ts";
import { type FieldValues, parseFieldValues } from "../front-matter/prompt-fields.ts";
import { settingOf } from "../front-matter/settings-field.ts";
import { type SplitFile, splitFrontMatter } from "../front-matter/split-front-matter.ts";
import { firstHeading } from "../heading.ts";
import { isDotprompt } from "../prompt-files.ts";
import { fileStart } from "../prompt-problem.ts";
import { assertPromptSize } from "../prompt-size.ts";
import { checkTemplate } from "../template/check-template.ts";
import { type TemplateSource, templateFromLine } from "../template/template-source.ts";
import type { Findings } from "./lint-findings.ts";
import type { LintedPartials, UsedTemplate } from "./lint-partials.ts";
import { type KnownTools, lintModel, lintTools } from "./lint-references.ts";
import { lintRequiredDefaults, lintSchema } from "./lint-schema.ts";
import { lintVariables } from "./lint-variables.ts";

/** The text of a prompt, and the file it is from. */
export interface PromptText {
  readonly text: string;
  readonly file: string | undefined;
  /** The beginning of its name, in a folder of a folder: `letters-`. */
  readonly namePrefix?: string | undefined;
}

/** The things that a prompt may refer to, and the findings so far. */
export interface LintContext {
  readonly findings: Findings;
  readonly partials: LintedPartials;
  readonly tools: KnownTools | undefined;
  readonly models: readonly string[] | undefined;
  readonly limits: ReadPromptLimits;
}

/** Lints one prompt. @returns its name; undefined if it has none */
export async function lintPrompt(
  { text, file, namePrefix }: PromptText,
  context: LintContext,
): Promise<string | undefined> {
  const { findings, limits } = context;
  const split = findings.attempt("file", file, () => {
    assertPromptSize(text, file, limits);
    findings.remember(file, text);
    return splitFrontMatter(text, file, limits);
  });
  if (split === undefined) return undefined;
  lintBody(split, file, findings);
  const body = lintTemplate(templateFromLine(split.body, file, split.bodyLine), findings);
  const frontMatter = findings.attempt("yaml", file, () => parseFrontMatter(split, file));
  if (frontMatter === undefined) {
    context.partials.neededBy([body]);
    return undefined;
  }
  const reader = new FieldReader(frontMatter, { report: findings.reportOf(file), namePrefix });
  const values = parseFieldValues(reader);
  lintUnknownFields(frontMatter, reader, findings);
  lintDescription(reader, firstHeading(split.body), findings);
  await lintReferences(values, frontMatter, context);
  const { system_prompt } = values;
  const system =
    system_prompt === undefined ? [] : [lintTemplate(frontMatter.templateOf("system_prompt", system_prompt), findings)];
  await lintSchemas(values, frontMatter, [body, ...system], context);
  return values.name === "" ? undefined : values.name;
}

function lintBody({ body, bodyLine }: SplitFile, file: string | undefined, findings: Findings): void {
  if (body.trim() !== "") return;
  const hint = "Write it after the closing line ---.";
  const place = { line: bodyLine, column: 1 };
  findings.add("empty-text", { file, place, message: "The prompt has no text.", hint });
}

/** A template and what it uses. */
interface LintedTemplate extends UsedTemplate {
  /** False for a template with a mistake: it may use more. */
  readonly isComplete: boolean;
}

function lintTemplate(source: TemplateSource, findings: Findings): LintedTemplate {
  let isComplete = true;
  const uses = checkTemplate(source, "prompt", (problem, kind) => {
    isComplete = false;
    findings.note(problem, kind, source.file);
  });
  return { file: source.file, ...uses, isComplete };
}

/** Reports unknown fields. Misspelled ones are reported by the reader. */
function lintUnknownFields({ file, placeOfName }: FrontMatter, reader: FieldReader, findings: Findings): void {
  for (const field of Object.keys(reader.rest() ?? {})) {
    if (field.startsWith("x-") || findMisspelled(field, reader.known) !== undefined) continue;
    if (isDotprompt(file) && isKeptField(field)) continue;
    const message = `The field \`${field}\` means nothing here.`;
    const setting = settingOf(field);
    const hint =
      setting === undefined
        ? `Remove it, or call it \`x-${field}\` if it is for a program of your own.`
        : `It is one of the settings: write \`settings: { ${setting}: ... }\`.`;
    findings.add("unknown-field", { file, place: placeOfName(field), message, hint });
  }
}

/** Shorter ones say too little, in characters. */
const leastLength = { title: 10, description: 5 } as const;

/** Reports titles and descriptions that are missing or short. */
function lintDescription({ frontMatter, known }: FieldReader, heading: string | undefined, findings: Findings): void {
  const { file, values } = frontMatter;
  // A field with a wrong value, or a misspelled name, is reported as such.
  const has = (field: string) =>
    Object.keys(values).some((name) => name === field || findMisspelled(name, known) === field);
  if (heading === undefined && !has("title")) {
    const hint = "Write `title: ...` and say in a few words what it does.";
    findings.add("missing-title", { file, place: fileStart, message: "The prompt has no title.", hint });
  }
  for (const field of ["title", "description"] as const) {
    const value = values[field];
    if (typeof value !== "string" || value.trim() === "" || [...value.trim()].length >= leastLength[field]) continue;
    const message = `The ${field} ${JSON.stringify(value)} has fewer than ${leastLength[field]} characters.`;
    const hint =
      field === "title" ? "Say in a few words what the prompt does." : "Say what it does and when to use it.";
    findings.add(`short-${field}`, { file, place: frontMatter.placeOf([field]), message, hint });
  }
  if (!has("description")) {
    const hint = "Write `description: ...` and say what it does and when to use it.";
    findings.add("missing-description", { file, place: fileStart, message: "The prompt has no description.", hint });
  }
}

/** Lints the tools and the model that the prompt names. */
async function lintReferences(
  { tools, model, provider }: FieldValues,
  frontMatter: FrontMatter,
  context: LintContext,
): Promise<void> {
  const { file, values, placeOf } = frontMatter;
  if (tools !== undefined && context.tools !== undefined) {
    const placeOfTool = (index: number) => placeOf(Array.isArray(values.tools) ? ["tools", index] : ["tools"]);
    await lintTools(tools, context.tools, { file, placeOf: placeOfTool }, context.findings);
  }
  if (context.models !== undefined) {
    // In dotprompt the provider stands before the model.
    const at = { file, placeOf: (field: string) => placeOf([Object.hasOwn(values, field) ? field : "model"]) };
    lintModel({ model, provider }, context.models, at, context.findings);
  }
}

/** Lints the schemas of input and output, and the variables of the templates. */
async function lintSchemas(
  { input, output, format }: FieldValues,
  { file, placeOf }: FrontMatter,
  templates: readonly LintedTemplate[],
  { findings, partials }: LintContext,
): Promise<void> {
  for (const [field, schema] of Object.entries({ output, format })) {
    if (schema !== undefined) await lintSchema({ file, field, schema, placeOf }, findings);
  }
  const needed = partials.neededBy(templates);
  if (input === undefined) return;
  const given = { file, field: "input", schema: input, placeOf };
  const corrected = await lintSchema(given, findings);
  lintRequiredDefaults({ ...given, schema: corrected }, findings);
  const scope = {
    input: corrected,
    templates,
    partials: needed,
    placeOf: (property: string) => placeOf(["input", "properties", property]),
    isComplete: templates.every(({ isComplete }) => isComplete),
  };
  lintVariables(scope, file, findings);
}
