import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import type { Issue } from "../error-catalog.ts";
import { toPattern } from "./check.ts";
import { mapChildren } from "./children.ts";
import { isUsualUrl } from "./interpreter/formats.ts";
import { ValidationWork } from "./interpreter/validation-work.ts";
import { duplicates, ValueIdentity } from "./interpreter/value-identity.ts";
import { isDraft07, type JsonSchema } from "./types.ts";
import { listed, maxIssues, Violation } from "./violation.ts";

// Loaded at the first validation of a JSON Schema: ajv costs 30 ms to import.

const options: Options = {
  allErrors: true,
  strict: false,
  logger: false,
  validateSchema: false,
  meta: false,
  code: { regExp: Object.assign((source: string) => toPattern(source) ?? new RegExp(source), { code: "new RegExp" }) },
};

/**
 * Compiles a JSON Schema of the service itself: draft-07 where its `$schema` says so, else 2020-12. Its values may be of anyone, so lists
 * are compared and URLs read in time that grows with them and no faster.
 *
 * @throws Error when a reference leads nowhere or a keyword cannot be compiled
 */
export function compile(schema: JsonSchema): (value: unknown) => unknown {
  const check = checkOf(schema, options);
  return (value) => (check(value) ? value : new Violation((check.errors ?? []).slice(0, maxIssues).map(toIssue)));
}

/**
 * Compiles a schema of a stranger that has the usual form: whether a value fits, without the issues, of which there may be as many as values.
 *
 * @throws Error for one that cannot be compiled
 */
export function compileTest(schema: JsonSchema): (value: unknown) => boolean {
  const check = checkOf(schema, { ...options, allErrors: false });
  return (value) => check(value);
}

function checkOf(schema: JsonSchema, given: Options): ValidateFunction {
  // One for each: ajv keeps what it has seen, takes one $id for another's, and is made as fast as it compiles.
  const ajv = new (isDraft07(schema) ? Ajv : Ajv2020)({ ...given, ownProperties: namesInherited(schema) });
  formats.default(ajv);
  ajv.addFormat("url", isUsualUrl);
  if (JSON.stringify(schema).includes('"uniqueItems"')) {
    ajv.removeKeyword("uniqueItems");
    ajv.addKeyword({ keyword: "uniqueItems", type: "array", schemaType: "boolean", validate: hasUniqueItems });
  }
  // A keyword of draft-04, which ajv refuses.
  ajv.removeKeyword("id");
  // ajv does not keep these of the root schema.
  const { $id = "", $anchor } = schema;
  if (typeof $id === "string" && typeof $anchor === "string") ajv.refs[`${$id}#${$anchor}`] = $id;
  return ajv.compile(withoutDraft04(schema) as JsonSchema);
}

/** True where a member is called as what every object has: its absence must not be taken for a function. Looking costs each validation. */
function namesInherited(schema: JsonSchema): boolean {
  const text = JSON.stringify(schema);
  return Object.getOwnPropertyNames(Object.prototype).some((name) => text.includes(`"${name}"`));
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
