import type { Definition } from "../core/definition.ts";
import { definitionOf } from "../core/entry.ts";
import { findTarget, type TargetToolbox } from "../core/find-target.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import { validatorOf } from "../core/schema/validator.ts";
import { Violation } from "../core/schema/violation.ts";
import { pointerTo, stepsOf } from "../lib/pointer.ts";
import { didYouMean, nearest } from "../lib/similar.ts";
import { type FieldPath, isRecord } from "../lib/value.ts";
import type { Mistake } from "../lib/written-mistakes.ts";
import { InputShape } from "../prompt/lint/input-shape.ts";
import { listsOf, type TemplateUse } from "./check-workflow.ts";
import type { ParsedWorkflow } from "./parse-workflow.ts";
import { ResultShapes } from "./result-shapes.ts";
import type { WorkflowStep } from "./workflow-definition.ts";
import { type ParsedTemplate, referencesOf } from "./workflow-template.ts";

/**
 * Compares a workflow with the tools and prompts that there are: names that nothing has, parameters that are missing, unknown or of a type that cannot
 * fit, and references to parts of an input or a result that its schema does not have. Where a schema does not tell, nothing is said; nor where
 * a server has not connected yet.
 *
 * @throws the reason of an aborted signal
 */
export async function checkTargets(
  parsed: ParsedWorkflow,
  toolbox: TargetToolbox,
  signal?: AbortSignal,
): Promise<readonly Mistake[]> {
  const mistakes: Mistake[] = [];
  const targets = new Map<string, Definition>();
  for (const { step, path } of callsOf(parsed.workflow.steps, ["steps"])) {
    const found = await definitionFor(step, toolbox, signal);
    if (typeof found === "string")
      mistakes.push({ path: [...path, step.tool === undefined ? "run" : "tool"], message: found });
    else if (found !== undefined) targets.set(step.id, found);
  }
  const shapes = new ResultShapes(parsed.workflow, targets);
  for (const use of parsed.templates) mistakes.push(...absentParts(use, shapes));
  const params = new Map(parsed.templates.filter(({ role }) => role === "params").map((use) => [use.step?.id, use]));
  for (const { step, path } of callsOf(parsed.workflow.steps, ["steps"])) {
    const target = targets.get(step.id);
    if (target?.input === undefined) continue;
    mistakes.push(...(await wrongParams(target, params.get(step.id), shapes, [...path, "params"])));
  }
  return mistakes;
}

/** As `checkTargets`. @throws ToolkitError `INVALID_WORKFLOW` naming each mistake; the reason of an aborted signal */
export async function assertTargets(
  parsed: ParsedWorkflow,
  toolbox: TargetToolbox,
  signal?: AbortSignal,
): Promise<void> {
  const mistakes = await checkTargets(parsed, toolbox, signal);
  if (mistakes.length > 0) throw parsed.problem(mistakes);
}

interface PlacedStep {
  readonly step: WorkflowStep;
  readonly path: FieldPath;
}

/** The steps that call a tool or a prompt, in the order of the file. */
export function* callsOf(steps: readonly WorkflowStep[], path: FieldPath): Generator<PlacedStep> {
  for (const [at, step] of steps.entries()) {
    const own = [...path, at];
    if (step.tool !== undefined || step.run !== undefined) yield { step, path: own };
    for (const list of listsOf(step, own)) yield* callsOf(list.steps, list.path);
  }
}

/** The definition of what a step calls; a sentence where there is none, and undefined where that is not known. */
async function definitionFor(
  { tool, run = "" }: WorkflowStep,
  toolbox: TargetToolbox,
  signal: AbortSignal | undefined,
): Promise<Definition | string | undefined> {
  const found = await findTarget(tool ?? run, toolbox, { kind: tool === undefined ? "prompt" : "tool", signal });
  return typeof found === "object" ? definitionOf(found) : found;
}

/** References to parts that a schema does not have. */
function absentParts(use: TemplateUse, shapes: ResultShapes): readonly Mistake[] {
  return referencesOf(use.template).flatMap(({ paths, path, expression }) => {
    for (const read of paths.read) {
      const absent = shapes.absent(read, use.scope);
      if (absent === undefined) continue;
      const names = absent.names.length === 0 ? "It has no names." : `There are ${absent.names.join(", ")}.`;
      const hint = didYouMean(nearest(absent.name, absent.names), names);
      return [
        {
          path: [...use.path, ...path],
          message: `\${${expression}} refers to ${JSON.stringify(absent.name)}, which ${absent.of} does not have. ${hint}`,
        },
      ];
    }
    return [];
  });
}

async function wrongParams(
  { name, kind, input = {}, options, origin }: Definition,
  use: TemplateUse | undefined,
  shapes: ResultShapes,
  path: FieldPath,
): Promise<readonly Mistake[]> {
  // A value that does not fit may be repaired before it is validated.
  if (options?.coerce === true) return [];
  const template: ParsedTemplate = use?.template ?? { kind: "literal", value: {} };
  const what = `the ${kind} ${name}`;
  if (template.kind === "reference") return wrongTypes([], template, use, shapes, new InputShape(input), path, what);
  const members = membersOf(template);
  if (members === undefined) return [{ path, message: `The input of ${what} must have fields by name.` }];
  const mistakes: Mistake[] = [];
  const wanted = new InputShape(input);
  for (const [member, value] of members)
    mistakes.push(...wrongTypes([member], value, use, shapes, wanted, [...path, member], what));
  // The fields that references give may decide about the others.
  const isOpen = members.some(([, { kind: of }]) => of !== "literal");
  if (isOpen && dependent.some((keyword) => input[keyword] !== undefined)) return mistakes;
  return [...mistakes, ...(await wrongLiterals(input, members, origin === "local", path, what))];
}

/** Keywords by which one field decides about others. */
const dependent = [
  "$ref",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "dependentSchemas",
  "dependentRequired",
  "dependencies",
];

type Members = readonly (readonly [string, ParsedTemplate])[];

/** The fields of params; undefined for what is no object. */
function membersOf(template: ParsedTemplate): Members | undefined {
  if (template.kind === "object") return template.members;
  if (template.kind !== "literal" || !isRecord(template.value)) return undefined;
  return Object.entries(template.value).map(([name, value]) => [name, { kind: "literal", value }]);
}

/** References whose value has a type that the place where it goes does not take. */
function wrongTypes(
  at: readonly string[],
  template: ParsedTemplate,
  use: TemplateUse | undefined,
  shapes: ResultShapes,
  wanted: InputShape,
  path: FieldPath,
  what: string,
): readonly Mistake[] {
  if (use === undefined || template.kind === "literal") return [];
  if (template.kind === "list") return [];
  if (template.kind === "object")
    return template.members.flatMap(([member, value]) =>
      wrongTypes([...at, member], value, use, shapes, wanted, [...path, member], what),
    );
  const taken = at.length === 0 ? ["object"] : wanted.typesAt(at);
  const given = template.kind === "text" ? ["string"] : shapes.types(template.reference.paths.given, use.scope);
  if (taken === undefined || given === undefined || given.some((type) => taken.some((other) => fits(type, other))))
    return [];
  const place = at.length === 0 ? "the input" : at.join(".");
  const message = `${place} of ${what} takes ${taken.join(" or ")}, and this gives ${given.join(" or ")}.`;
  return [{ path, message: `${message.charAt(0).toUpperCase()}${message.slice(1)}` }];
}

/** A step that is left out gives null, so that null alone says nothing. */
function fits(given: string, taken: string): boolean {
  return given === taken || given === "null" || (isNumeric(given) && isNumeric(taken));
}

function isNumeric(type: string): boolean {
  return type === "number" || type === "integer";
}

/** Params that the schema refuses, whatever the references in others give. */
async function wrongLiterals(
  input: JsonSchema,
  members: Members,
  trusted: boolean,
  path: FieldPath,
  what: string,
): Promise<readonly Mistake[]> {
  const open = new Set(members.filter(([, { kind }]) => kind !== "literal").map(([name]) => name));
  const value = Object.fromEntries(
    members.flatMap(([name, each]) => (each.kind === "literal" ? [[name, each.value]] : [])),
  );
  const result = await validated(input, value, trusted);
  if (!(result instanceof Violation)) return unknownOpen(input, open, path, what);
  const pointers = new Set([...open].map((name) => pointerTo("", name)));
  const issues = result.issues.filter(({ pointer }) => !pointers.has(pointer) && (pointer !== "" || open.size === 0));
  return [
    ...issues.map(({ pointer, message }) => ({
      path: [...path, ...stepsOf(pointer)],
      message: `${stepsOf(pointer).join(".") || "The input"} of ${what}: ${message}.`,
    })),
    ...unknownOpen(input, open, path, what),
  ];
}

/** Params with references whose names a closed schema does not have: validation does not see them. */
function unknownOpen(input: JsonSchema, open: ReadonlySet<string>, path: FieldPath, what: string): readonly Mistake[] {
  const shape = new InputShape(input);
  return [...open].flatMap((name) => {
    const found = shape.findUndescribed([name]);
    if (found === undefined || !found.isClosed) return [];
    const hint = didYouMean(nearest(name, found.names), `It takes ${found.names.join(", ")}.`);
    return [
      {
        path: [...path, name],
        message: `${what.charAt(0).toUpperCase()}${what.slice(1)} takes no ${JSON.stringify(name)}. ${hint}`,
      },
    ];
  });
}

/** A schema that cannot be compiled says nothing: the call will. */
async function validated(schema: JsonSchema, value: unknown, trusted: boolean): Promise<unknown> {
  try {
    return await validatorOf(schema, { trusted })(value);
  } catch {
    return value;
  }
}
