import { _, Ajv, type ErrorObject, type FuncKeywordDefinition, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { canonicalJson } from "../../lib/canonical.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isJson, isRecord } from "../../lib/value.ts";
import type { Issue } from "../error-catalog.ts";
import { toPattern } from "./check.ts";
import { mapChildren } from "./children.ts";
import { isUsualUrl } from "./interpreter/formats.ts";
import { interpret } from "./interpreter/interpreter.ts";
import { ValidationWork } from "./interpreter/validation-work.ts";
import { duplicates, ValueIdentity } from "./interpreter/value-identity.ts";
import { sizeOf } from "./size.ts";
import { isDraft07, type JsonSchema } from "./types.ts";
import { namesInherited } from "./usual-test.ts";
import { listed, maxIssues, Violation } from "./violation.ts";

// Loaded at the first validation of a JSON Schema: ajv costs 30 ms to import.

const options: Options = {
  strict: false,
  logger: false,
  validateSchema: false,
  meta: false,
  code: { regExp: Object.assign((source: string) => toPattern(source) ?? new RegExp(source), { code: "new RegExp" }) },
};

/** A list of choices, with the last of them: those of the service itself are shown. In characters. */
const maxMessage = 1_500;
/** A larger value may have as many issues as values, and ajv makes all of them. In values, see `sizeOf`. */
const maxSizeForAllErrors = 5_000;

/**
 * Compiles a JSON Schema of the service itself: draft-07 where its `$schema` says so, else 2020-12. Its values may be of anyone, so lists
 * are compared, choices looked up and URLs read in time that grows with them and no faster, and the issues of a large value are those that
 * the interpreter finds, which ends at a number of them.
 *
 * @throws Error when a reference leads nowhere or a keyword cannot be compiled
 */
export function compile(schema: JsonSchema): (value: unknown) => unknown {
  const test = checkOf(schema, options);
  let checkAll: ValidateFunction | undefined;
  let interpreted: ((value: unknown) => unknown) | undefined;
  const issuesOf = (value: unknown, first: readonly ErrorObject[]): readonly Issue[] => {
    if (sizeOf(value, maxSizeForAllErrors + 1) > maxSizeForAllErrors) {
      interpreted ??= interpreterOf(schema);
      const result = interpreted(value);
      return result instanceof Violation ? result.issues : first.map(toIssue);
    }
    checkAll ??= checkOf(schema, { ...options, allErrors: true });
    checkAll(value);
    return (checkAll.errors ?? first).slice(0, maxIssues).map(toIssue);
  };
  return (value) => (test(value) ? value : new Violation(issuesOf(value, test.errors ?? [])));
}

/** As `interpret`; it finds nothing where it throws: it reads patterns and formats in its own way, and ends before it takes long. */
function interpreterOf(schema: JsonSchema): (value: unknown) => unknown {
  try {
    const validate = interpret(schema, { maxMessage });
    return (value) => {
      try {
        return validate(value);
      } catch {
        return undefined;
      }
    };
  } catch {
    return () => undefined;
  }
}

function checkOf(schema: JsonSchema, given: Options): ValidateFunction {
  // One for each: ajv keeps what it has seen, takes one $id for another's, and is made as fast as it compiles.
  const ajv = new (isDraft07(schema) ? Ajv : Ajv2020)({ ...given, ownProperties: namesInherited(schema) });
  formats.default(ajv);
  ajv.addFormat("url", isUsualUrl);
  const text = JSON.stringify(schema);
  for (const definition of linearKeywords) {
    if (!text.includes(`"${definition.keyword}"`)) continue;
    ajv.removeKeyword(definition.keyword);
    ajv.addKeyword(definition);
  }
  // A keyword of draft-04, which ajv refuses.
  ajv.removeKeyword("id");
  // ajv does not keep these of the root schema.
  const { $id = "", $anchor } = schema;
  if (typeof $id === "string" && typeof $anchor === "string") ajv.refs[`${$id}#${$anchor}`] = $id;
  return ajv.compile(withoutDraft04(schema) as JsonSchema);
}

/** In place of ajv's own, which compares each entry with each other. */
function hasUniqueItems(wanted: boolean, list: readonly unknown[]): boolean {
  if (!wanted || list.length < 2) return true;
  const [first, second] = new ValueIdentity(new ValidationWork(list)).firstDuplicate(list) ?? [];
  if (first === undefined) return true;
  hasUniqueItems.errors = [{ keyword: "uniqueItems", message: duplicates(first, second), params: {} }];
  return false;
}
hasUniqueItems.errors = [] as Partial<ErrorObject>[];

/** In place of ajv's own, which compares a value with each choice. */
function choiceTest(choices: readonly unknown[]): (value: unknown) => boolean {
  if (choices.length === 0) throw new Error("enum must have a choice");
  const isComposite = (value: unknown) => typeof value === "object" && value !== null;
  const plain = new Set(choices.filter((choice) => !isComposite(choice)));
  const composites = choices.filter(isComposite);
  const maxSize = composites.reduce<number>((max, each) => Math.max(max, sizeOf(each, Number.POSITIVE_INFINITY)), 0);
  const texts = new Set(composites.map(canonicalJson));
  return (value) => {
    if (!isComposite(value)) return plain.has(value);
    // A larger one is none of them, nor is one that is no JSON: nested values are not written as JSON once for each level.
    return sizeOf(value, maxSize + 1) <= maxSize && isJson(value, 1_000) && texts.has(canonicalJson(value));
  };
}

/** The keywords whose time in ajv grows faster than the value. */
const linearKeywords: readonly (FuncKeywordDefinition & { readonly keyword: string })[] = [
  { keyword: "uniqueItems", type: "array", schemaType: "boolean", validate: hasUniqueItems },
  {
    keyword: "enum",
    schemaType: "array",
    compile: choiceTest,
    errors: false,
    error: { message: "must be one of the choices", params: ({ schemaCode }) => _`{ allowedValues: ${schemaCode} }` },
  },
];

/** In draft-04 `exclusiveMinimum: true` goes with `minimum`; many servers still write that. */
function withoutDraft04(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, ...rest } = mapChildren(schema, "", withoutDraft04);
  return {
    ...rest,
    ...limits(["minimum", minimum], ["exclusiveMinimum", exclusiveMinimum]),
    ...limits(["maximum", maximum], ["exclusiveMaximum", exclusiveMaximum]),
  };
}

type Limit = readonly [keyword: string, value: unknown];

function limits(inclusive: Limit, [keyword, value]: Limit): JsonSchema {
  const limit = inclusive[1];
  const given = value === true ? [[keyword, limit]] : [inclusive, ...(value === false ? [] : [[keyword, value]])];
  return Object.fromEntries(given.filter((each) => each[1] !== undefined));
}

function toIssue(error: ErrorObject): Issue {
  const { keyword, instancePath, params, message = "is not valid" } = error;
  switch (keyword) {
    case "required":
      return { pointer: pointerTo(instancePath, params.missingProperty), message: "is missing" };
    case "additionalProperties":
      return { pointer: pointerTo(instancePath, params.additionalProperty), message: "is not known here" };
    case "unevaluatedProperties":
      return { pointer: pointerTo(instancePath, params.unevaluatedProperty), message: "is not known here" };
    case "enum":
      return { pointer: instancePath, message: `must be one of ${listed(params.allowedValues)}` };
    case "const":
      return { pointer: instancePath, message: `must be ${JSON.stringify(params.allowedValue)}` };
    default:
      return { pointer: instancePath, message };
  }
}
