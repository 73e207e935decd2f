import type { JsonSchema } from "../../core/schema/types.ts";
import { nearest } from "../../lib/similar.ts";
import type { Place } from "../problem.ts";
import { eachEntry, further, type TemplateUses, type ValueUse, type Way } from "../template/uses.ts";
import type { Findings } from "./findings.ts";
import { InputShape, type Stray } from "./shape.ts";

/** A template of a prompt, or a partial, with the file it stands in. */
export interface UsedTemplate {
  readonly file: string | undefined;
  readonly uses: TemplateUses;
}

/** A prompt as far as its variables matter. */
export interface VariableScope {
  readonly input: JsonSchema;
  /** The text and the system prompt. */
  readonly templates: readonly UsedTemplate[];
  readonly partials: ReadonlyMap<string, UsedTemplate>;
  /** Where a property of the input is described. */
  placeOf(property: string): Place;
  /** False where a template is broken: what it uses is not known. */
  readonly isWhole: boolean;
}

/** A value that is used, with its way from the input. */
interface Use extends ValueUse {
  readonly file: string | undefined;
}

/** Finds names the input does not have, lists that are none, and properties that nothing uses. */
export function lintVariables(scope: VariableScope, file: string | undefined, findings: Findings): void {
  const shape = new InputShape(scope.input);
  const uses = scope.templates.flatMap((template) => usesOf(template, root, [], scope.partials));
  const used = new Set<unknown>(uses.map(({ way }) => way.steps[0]));
  for (const use of uses) {
    const stray = shape.strayOf(use.way.steps);
    // What the blocks around it make is reported where they begin.
    // What was meant by a misspelt name is used.
    if (stray?.steps === 0) used.add(meantBy(stray, use));
    if (stray !== undefined && stray.steps >= use.inherited) reportStray(use, stray, file, findings);
    else if (stray === undefined && use.isList) reportNoList(use, shape, findings);
  }
  if (!scope.isWhole || uses.some(({ way }) => way.steps.length === 0 || way.steps[0] === eachEntry)) return;
  const required = Array.isArray(scope.input.required) ? scope.input.required : [];
  for (const name of shape.properties.filter((property) => !used.has(property))) {
    const code = required.includes(name) ? "unused-required" : "unused-optional";
    const message = `Nothing in the text uses ${JSON.stringify(name)}${code === "unused-required" ? ", which callers must give" : ""}.`;
    const hint = `Write {{${name}}} where it belongs, or remove it from input.`;
    findings.add(code, { file, place: scope.placeOf(name), message, hint });
  }
}

const root: Way = { fromRoot: true, steps: [] };

/** The values a template uses, and those of its partials, by their way from the input. */
function usesOf(
  template: UsedTemplate,
  base: Way | undefined,
  added: readonly string[],
  partials: ReadonlyMap<string, UsedTemplate>,
  chain: readonly string[] = [],
): readonly Use[] {
  const fromInput = (way: Way | undefined): Way | undefined => {
    if (way === undefined || way.fromRoot) return way;
    const isAdded = added.some((name) => name === way.steps[0]);
    return isAdded || base === undefined ? undefined : further(base, way.steps);
  };
  const own = template.uses.values.flatMap((use): readonly Use[] => {
    const way = fromInput(use.way);
    if (way === undefined) return [];
    const inherited = use.inherited + way.steps.length - use.way.steps.length;
    return [{ ...use, way, inherited, file: template.file }];
  });
  const inner = template.uses.partials.flatMap((use) => {
    const partial = partials.get(use.name);
    if (partial === undefined || chain.includes(use.name)) return [];
    const isSameThis = use.way?.steps.length === 0 && !use.way.fromRoot;
    const names = isSameThis ? [...added, ...use.added] : use.added;
    return usesOf(partial, fromInput(use.way), names, partials, [...chain, use.name]);
  });
  return [...own, ...inner];
}

function reportStray(use: Use, stray: Stray, user: string | undefined, findings: Findings): void {
  const step = String(use.way.steps[stray.steps]);
  const holder = describeWay(use.way.steps.slice(0, stray.steps));
  const isValue = stray.types.length > 0 && !stray.types.includes("object");
  const shownBy = use.file === user ? "" : `, as ${user ?? "the prompt"} uses it`;
  const missing = isValue
    ? `${holder} is ${describeTypes(stray.types)} and has no ${JSON.stringify(step)}`
    : `There is no ${JSON.stringify(step)} in ${holder}`;
  findings.add("unknown-variable", {
    file: use.file,
    place: use.place,
    message: `${missing}${shownBy}.`,
    hint: isValue ? valueHint(stray) : strayHint(meantBy(stray, use), holder, stray.names),
  });
}

function valueHint({ steps, types }: Stray): string {
  if (types.includes("array")) return "Go through its entries with {{#each}}, or take one as in {{items.[0].name}}.";
  return steps === 0 ? "Write {{this}} for the input itself." : "Write the value itself, or describe it as an object.";
}

/** The name there is that is nearest to the one there is not. */
function meantBy({ steps, names }: Stray, { way }: Use): string | undefined {
  return nearest(String(way.steps[steps]), names, 1)[0];
}

function strayHint(meant: string | undefined, holder: string, names: readonly string[]): string {
  if (meant !== undefined) return `Did you mean ${JSON.stringify(meant)}? Otherwise describe it in ${holder}.`;
  const others = names.length === 0 ? "" : ` There are ${names.join(", ")}.`;
  return `Describe it under the properties of ${holder}, or correct the name.${others}`;
}

/** A list that has a type without entries. */
function reportNoList(use: Use, shape: InputShape, findings: Findings): void {
  const stray = shape.strayOf([...use.way.steps, eachEntry]);
  if (stray === undefined) return;
  findings.add("no-list", {
    file: use.file,
    place: use.place,
    message: `{{#each}} goes through ${describeWay(use.way.steps)}, which is ${describeTypes(stray.types)}.`,
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
function describeWay(steps: Way["steps"]): string {
  return steps.reduce<string>(
    (path, step) => (step === eachEntry ? `the entries of ${path}` : `${path}.${step}`),
    "input",
  );
}
