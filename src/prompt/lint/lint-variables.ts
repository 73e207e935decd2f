import type { JsonSchema } from "../../core/schema/types.ts";
import { didYouMean, nearest } from "../../lib/similar.ts";
import type { Place } from "../prompt-problem.ts";
import { eachEntry, extendPath, type ValuePath, type ValueUse } from "../template/template-uses.ts";
import { InputShape, type UndescribedStep } from "./input-shape.ts";
import type { Findings } from "./lint-findings.ts";
import type { UsedTemplate } from "./lint-partials.ts";

/** The templates of a prompt and the schema of their variables. */
export interface VariableScope {
  readonly input: JsonSchema;
  /** The text and the system prompt. */
  readonly templates: readonly UsedTemplate[];
  readonly partials: ReadonlyMap<string, UsedTemplate>;
  /** The place of the schema of a property. */
  placeOf(property: string): Place;
  /** False where a template has a mistake: it may use more. */
  readonly isComplete: boolean;
}

/** A value that is used, with its path from the input. */
interface VariableUse extends ValueUse {
  readonly file: string | undefined;
}

/** Reports names that the input does not have, loops over values that are no list, and properties that are not used. */
export function lintVariables(scope: VariableScope, file: string | undefined, findings: Findings): void {
  const shape = new InputShape(scope.input);
  const uses = scope.templates.flatMap((template) => usesOf(template, root, [], scope.partials));
  const used = new Set<unknown>(uses.map(({ path }) => path.steps[0]));
  for (const use of uses) {
    const step = shape.findUndescribed(use.path.steps);
    // The property that a misspelled name is meant to be is used.
    if (step?.steps === 0) used.add(meantNames(step, use)[0]);
    // A step that comes from a block is reported at the block.
    if (step !== undefined && step.steps >= use.inherited) reportUnknown(use, step, file, findings);
    else if (step === undefined && use.isList) reportNoList(use, shape, findings);
  }
  if (!scope.isComplete || uses.some(({ path }) => path.steps.length === 0 || path.steps[0] === eachEntry)) return;
  const required = Array.isArray(scope.input.required) ? scope.input.required : [];
  for (const name of shape.properties.filter((property) => !used.has(property))) {
    const code = required.includes(name) ? "unused-required" : "unused-optional";
    const message = `Nothing in the text uses ${JSON.stringify(name)}${code === "unused-required" ? ", which callers must give" : ""}.`;
    const hint = `Write {{${name}}} where it belongs, or remove it from input.`;
    findings.add(code, { file, place: scope.placeOf(name), message, hint });
  }
}

const root: ValuePath = { fromRoot: true, steps: [] };

/** The values that a template and its partials use, with their paths from the input. */
function usesOf(
  template: UsedTemplate,
  base: ValuePath | undefined,
  added: readonly string[],
  partials: ReadonlyMap<string, UsedTemplate>,
  chain: readonly string[] = [],
): readonly VariableUse[] {
  const fromInput = (path: ValuePath | undefined): ValuePath | undefined => {
    if (path === undefined || path.fromRoot) return path;
    const isAdded = added.some((name) => name === path.steps[0]);
    return isAdded || base === undefined ? undefined : extendPath(base, path.steps);
  };
  const own = template.values.flatMap((use): readonly VariableUse[] => {
    const path = fromInput(use.path);
    if (path === undefined) return [];
    const inherited = use.inherited + path.steps.length - use.path.steps.length;
    return [{ ...use, path, inherited, file: template.file }];
  });
  const inner = template.partials.flatMap((use) => {
    const partial = partials.get(use.name);
    if (partial === undefined || chain.includes(use.name)) return [];
    const isSameThis = use.path?.steps.length === 0 && !use.path.fromRoot;
    const names = isSameThis ? [...added, ...use.added] : use.added;
    return usesOf(partial, fromInput(use.path), names, partials, [...chain, use.name]);
  });
  return [...own, ...inner];
}

function reportUnknown(
  use: VariableUse,
  undescribed: UndescribedStep,
  user: string | undefined,
  findings: Findings,
): void {
  const step = String(use.path.steps[undescribed.steps]);
  const holder = describePath(use.path.steps.slice(0, undescribed.steps));
  const isValue = undescribed.types.length > 0 && !undescribed.types.includes("object");
  const shownBy = use.file === user ? "" : `, as ${user ?? "the prompt"} uses it`;
  const missing = isValue
    ? `${holder} is ${describeTypes(undescribed.types)} and has no ${JSON.stringify(step)}`
    : `There is no ${JSON.stringify(step)} in ${holder}`;
  findings.add("unknown-variable", {
    file: use.file,
    place: use.place,
    message: `${missing}${shownBy}.`,
    hint: isValue ? valueHint(undescribed) : nameHint(meantNames(undescribed, use), holder, undescribed.names),
  });
}

function valueHint({ steps, types }: UndescribedStep): string {
  if (types.includes("array")) return "Go through its entries with {{#each}}, or take one as in {{items.[0].name}}.";
  return steps === 0 ? "Write {{this}} for the input itself." : "Write the value itself, or describe it as an object.";
}

/** The existing names that are nearest to an unknown one. */
function meantNames({ steps, names }: UndescribedStep, { path }: VariableUse): readonly string[] {
  return nearest(String(path.steps[steps]), names);
}

function nameHint(meant: readonly string[], holder: string, names: readonly string[]): string {
  if (meant.length > 0) return `${didYouMean(meant)} Otherwise describe it in ${holder}.`;
  const others = names.length === 0 ? "" : ` There are ${names.join(", ")}.`;
  return `Describe it under the properties of ${holder}, or correct the name.${others}`;
}

/** Reports a loop over a value whose type has no entries. */
function reportNoList(use: VariableUse, shape: InputShape, findings: Findings): void {
  const undescribed = shape.findUndescribed([...use.path.steps, eachEntry]);
  if (undescribed === undefined) return;
  findings.add("no-list", {
    file: use.file,
    place: use.place,
    message: `{{#each}} goes through ${describePath(use.path.steps)}, which is ${describeTypes(undescribed.types)}.`,
    hint: "Make it a list in the schema, or write the value without {{#each}}.",
  });
}

function describeTypes(types: readonly string[]): string {
  return types.length === 0 ? "no list" : [...new Set(types)].map((type) => words[type] ?? type).join(" or ");
}

const words: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
};

/** `input.author`, `the entries of input.orders`. */
function describePath(steps: ValuePath["steps"]): string {
  return steps.reduce<string>(
    (path, step) => (step === eachEntry ? `the entries of ${path}` : `${path}.${step}`),
    "input",
  );
}
