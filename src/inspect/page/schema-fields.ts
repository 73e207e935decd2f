import type { JsonSchema } from "../../core/schema/types.ts";

type Schema = Readonly<Record<string, unknown>>;

/** The form of a field: those that have none of their own are filled in as JSON. */
export type FieldForm = "group" | "choice" | "check" | "number" | "line" | "text" | "json";

/** A field of a form. */
export interface FormField {
  readonly name: string;
  readonly form: FieldForm;
  readonly type: string | undefined;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly choices: readonly unknown[];
  /** Of a group. */
  readonly members: readonly FormField[];
}

/** Groups within groups beyond this are filled in as JSON. */
const maxDepth = 3;
const maxFields = 200;

export function isMember(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of an object's schema, those that are required first. */
export function fieldsOf(given: unknown, root: JsonSchema | undefined, depth = 0): readonly FormField[] {
  const schema = resolved(given, root);
  const { properties, required } = schema;
  if (!isMember(properties)) return [];
  const names = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties)
    .slice(0, maxFields)
    .map(([name, each]) => fieldOf(name, resolved(each, root), names.includes(name), root, depth));
  return fields.toSorted((one, other) => Number(other.isRequired) - Number(one.isRequired));
}

function fieldOf(
  name: string,
  schema: Schema,
  isRequired: boolean,
  root: JsonSchema | undefined,
  depth: number,
): FormField {
  const type = typeOf(schema);
  const choices = Array.isArray(schema.enum) ? schema.enum.filter(isPlain) : [];
  const members = type === "object" && depth < maxDepth ? fieldsOf(schema, root, depth + 1) : [];
  const description = typeof schema.description === "string" ? schema.description : undefined;
  const form = formOf(schema, { type, hasChoices: choices.length > 0, hasMembers: members.length > 0 });
  return { name, form, type, description, isRequired, choices, members };
}

interface About {
  readonly type: string | undefined;
  readonly hasChoices: boolean;
  readonly hasMembers: boolean;
}

function formOf({ format, maxLength, pattern }: Schema, { type, hasChoices, hasMembers }: About): FieldForm {
  if (hasChoices) return "choice";
  if (hasMembers) return "group";
  if (type === "boolean") return "check";
  if (type === "number" || type === "integer") return "number";
  if (type !== "string") return "json";
  const isShort = format !== undefined || pattern !== undefined || (typeof maxLength === "number" && maxLength <= 200);
  return isShort ? "line" : "text";
}

const isPlain = (value: unknown) => value === null || typeof value !== "object";

function typeOf({ type, properties }: Schema): string | undefined {
  const types = [type].flat().filter((each) => each !== "null");
  if (types.length === 1 && typeof types[0] === "string") return types[0];
  return properties === undefined ? undefined : "object";
}

/** The schema that is meant: references into the same document are followed, and a choice between one and nothing is that one. */
function resolved(given: unknown, root: JsonSchema | undefined, depth = 0): Schema {
  if (!isMember(given) || depth > 8) return {};
  const { $ref, anyOf, oneOf } = given;
  if (typeof $ref === "string" && $ref.startsWith("#")) {
    const target = $ref
      .slice(1)
      .split("/")
      .slice(1)
      .reduce<unknown>((at, part) => {
        const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
        return isMember(at) && Object.hasOwn(at, name) ? at[name] : undefined;
      }, root);
    return { ...resolved(target, root, depth + 1), ...withoutRef(given) };
  }
  const branches = [anyOf, oneOf].find(Array.isArray)?.filter((each) => !isMember(each) || each.type !== "null");
  if (branches?.length !== 1) return given;
  return { ...resolved(branches[0], root, depth + 1), ...withoutRef(given) };
}

function withoutRef({ $ref: _ref, anyOf: _any, oneOf: _one, ...others }: Schema): Schema {
  return others;
}

/** A value that is likely to fit a schema: its default, its example, or the least there is of its type. */
export function exampleOf(given: unknown, root: JsonSchema | undefined, name = "", depth = 0): unknown {
  const schema = resolved(given, root);
  const { examples, example } = schema;
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (example !== undefined) return example;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const { minimum } = schema;
  switch (typeOf(schema)) {
    case "object": {
      const required = depth > maxDepth || !Array.isArray(schema.required) ? [] : schema.required;
      const { properties } = schema;
      const members = isMember(properties) ? properties : {};
      const known = required.filter((each): each is string => typeof each === "string" && Object.hasOwn(members, each));
      return Object.fromEntries(known.map((each) => [each, exampleOf(members[each], root, each, depth + 1)]));
    }
    case "array":
      return [];
    case "string":
      return name === "" ? "text" : `a ${name}`;
    case "boolean":
      return true;
    case "number":
    case "integer":
      return typeof minimum === "number" ? minimum : 1;
    default:
      return null;
  }
}
