import type { z } from "zod";
import { didYouMean, nearest, orDidYouMean } from "./similar.ts";
import { type FieldPath, isRecord } from "./value.ts";
import { visible } from "./visible-text.ts";

type ZodIssue = z.core.$ZodIssue;

/** A mistake of a value that a person wrote into a file. */
export interface Mistake {
  readonly path: FieldPath;
  /** A sentence. */
  readonly message: string;
}

/** The mistakes that a schema found in a value, in words for the person who wrote it. */
export function mistakesOf(schema: z.core.$ZodType, value: unknown, issues: readonly ZodIssue[]): readonly Mistake[] {
  return issues.flatMap((issue) => flatten(issue, { schema, value }, []));
}

/** So many mistakes of one file are named, and so many characters of each: it may quote a value of any length. */
const maxNamed = 10;
const maxLength = 2_000;

/** The message of mistakes, each on a line. Names of files and fields are those of a stranger: they add no line to it. */
export function mistakeLines(lines: readonly string[]): string {
  const shown = lines.slice(0, maxNamed).map((line) => visible(line).slice(0, maxLength));
  const more = lines.length - shown.length;
  return (more > 0 ? [...shown, `and ${more} more`] : shown).join("\n");
}

interface Checked {
  readonly schema: z.core.$ZodType;
  readonly value: unknown;
}

/** The mistakes of an issue. Of a value that fits no form of several, those of the form that it comes nearest to. */
function flatten(issue: ZodIssue, root: Checked, before: FieldPath): readonly Mistake[] {
  const path = [...before, ...(issue.path as FieldPath)];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ path: [...path, key], message: unknownField(key, path, root.schema) }));
  }
  if (issue.code === "invalid_union") {
    const value = at(root.value, path);
    const forms = issue.errors.map((errors) => errors.flatMap((each) => flatten(each, root, path)));
    const isWrongType = (form: readonly Mistake[]) => form.some((mistake) => mistake.path.length === path.length);
    const near = isRecord(value) ? forms.filter((form) => form.length > 0 && !isTypeMistake(form, path)) : forms;
    const [form] = near.sort((a, b) => Number(isWrongType(a)) - Number(isWrongType(b)) || a.length - b.length);
    if (form !== undefined && isRecord(value)) return form;
    const wanted = forms.flat().map(({ message }) => / must be (.+?), and is /.exec(message)?.[1] ?? "something else");
    return [{ path, message: `${nameOf(path)} must be ${wanted.join(" or ")}, and is ${kindOf(value)}.` }];
  }
  const value = at(root.value, path);
  if (issue.code === "invalid_type") {
    return [
      { path, message: `${nameOf(path)} must be ${kinds[issue.expected] ?? issue.expected}, and is ${kindOf(value)}.` },
    ];
  }
  if (issue.code === "invalid_value") {
    const near = typeof value === "string" ? nearest(value, issue.values.map(String)) : [];
    const hint = orDidYouMean(near);
    return [
      { path, message: `${nameOf(path)} must be ${issue.values.join(", ")}, and is ${JSON.stringify(value)}.${hint}` },
    ];
  }
  return [{ path, message: `${nameOf(path)} is wrong: ${issue.message}.` }];
}

function isTypeMistake(form: readonly Mistake[], path: FieldPath): boolean {
  return form.every((mistake) => mistake.path.length === path.length && / must be a /.test(mistake.message));
}

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  object: "fields by name",
  record: "entries by name",
  array: "a list",
  boolean: "true or false",
  number: "a number",
  int: "a whole number",
  nonoptional: "a value",
};

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  return isRecord(value) ? "fields by name" : JSON.stringify(value);
}

function nameOf(path: FieldPath): string {
  return path.length === 0 ? "The file" : path.join(".");
}

function at(root: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null ? (value as Record<string | number, unknown>)[step] : undefined,
    root,
  );
}

function unknownField(key: string, path: FieldPath, schema: z.core.$ZodType): string {
  const known = knownFields(path, schema);
  const where = path.length === 0 ? "" : ` in ${path.join(".")}`;
  const hint = didYouMean(nearest(key, known), `There are ${known.join(", ")}.`);
  return `There is no field ${JSON.stringify(key)}${where}. ${hint}`;
}

/** The names of the fields at a path, from the schema. */
function knownFields(path: FieldPath, root: z.core.$ZodType): readonly string[] {
  const shapes = path.reduce<readonly z.core.$ZodType[]>(
    (schemas, step) => schemas.flatMap((schema) => inside(schema, step)),
    [root],
  );
  return [...new Set(shapes.flatMap(shapesOf))];
}

function inside(schema: z.core.$ZodType, step: string | number): readonly z.core.$ZodType[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "optional") return inside(def.innerType, step);
  if (def.type === "lazy") return inside(def.getter(), step);
  if (def.type === "union") return def.options.flatMap((option) => inside(option, step));
  if (def.type === "record") return [def.valueType];
  if (def.type === "array") return [def.element];
  const field = def.type === "object" ? def.shape[String(step)] : undefined;
  return field === undefined ? [] : [field];
}

function shapesOf(schema: z.core.$ZodType): readonly string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "optional") return shapesOf(def.innerType);
  if (def.type === "lazy") return shapesOf(def.getter());
  if (def.type === "union") return def.options.flatMap(shapesOf);
  return def.type === "object" ? Object.keys(def.shape) : [];
}
