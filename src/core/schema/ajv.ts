import { Ajv, type ErrorObject, type Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import type { Issue } from "../error-catalog.ts";
import { toPattern } from "./check.ts";
import { mapChildren } from "./children.ts";
import type { JsonSchema } from "./types.ts";
import { Violation } from "./violation.ts";

// Loaded at the first validation of a JSON Schema: ajv costs 30 ms to import.

const options: Options = { allErrors: true, strict: false, logger: false, validateSchema: false, meta: false };

/** The engine for patterns and formats. */
export interface Matching {
  /** Makes the matcher of a pattern, and throws for what is none. */
  readonly regExp: (source: string) => { test(text: string): boolean };
  /** In place of the usual formats of these names. */
  readonly formats?: Readonly<Record<string, (text: string) => boolean>> | undefined;
}

const native: Matching = { regExp: (source) => toPattern(source) ?? new RegExp(source) };

/**
 * Compiles a JSON Schema: draft-07 where its `$schema` says so, else 2020-12.
 *
 * @throws Error when a reference leads nowhere or a keyword cannot be compiled
 */
export function compile(schema: JsonSchema, matching: Matching = native): (value: unknown) => unknown {
  const draft07 = typeof schema.$schema === "string" && /draft-0[467]/.test(schema.$schema);
  const regExp = Object.assign((source: string) => matching.regExp(source), { code: "new RegExp" });
  // One for each: ajv keeps what it has seen, takes one $id for another's, and is made as fast as it compiles.
  const ajv = new (draft07 ? Ajv : Ajv2020)({ ...options, ownProperties: namesInherited(schema), code: { regExp } });
  formats.default(ajv);
  for (const [name, format] of Object.entries(matching.formats ?? {})) ajv.addFormat(name, format);
  // A keyword of draft-04, which ajv refuses.
  ajv.removeKeyword("id");
  // ajv does not keep these of the root schema.
  const { $id = "", $anchor } = schema;
  if (typeof $id === "string" && typeof $anchor === "string") ajv.refs[`${$id}#${$anchor}`] = $id;
  const check = ajv.compile(withoutDraft04(schema) as JsonSchema);
  return (value) => (check(value) ? value : new Violation((check.errors ?? []).map(toIssue)));
}

/** True where a member is called as what every object has: its absence must not be taken for a function. Looking costs each validation. */
function namesInherited(schema: JsonSchema): boolean {
  const text = JSON.stringify(schema);
  return Object.getOwnPropertyNames(Object.prototype).some((name) => text.includes(`"${name}"`));
}

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
      return {
        pointer: instancePath,
        message: `must be one of ${params.allowedValues.map((v: unknown) => JSON.stringify(v)).join(", ")}`,
      };
    case "const":
      return { pointer: instancePath, message: `must be ${JSON.stringify(params.allowedValue)}` };
    default:
      return { pointer: instancePath, message };
  }
}
