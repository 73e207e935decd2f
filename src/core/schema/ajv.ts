import { Ajv, type ErrorObject, type Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { pointerTo } from "../../lib/pointer.ts";
import type { Issue } from "../error-catalog.ts";
import { toPattern } from "./check.ts";
import type { JsonSchema } from "./types.ts";
import { Violation } from "./violation.ts";

// Loaded at the first validation of a JSON Schema: ajv costs 30 ms to import.

const options: Options = {
  allErrors: true,
  strict: false,
  logger: false,
  validateSchema: false,
  addUsedSchema: false,
  code: {
    regExp: Object.assign((pattern: string) => toPattern(pattern) ?? new RegExp(pattern), { code: "new RegExp" }),
  },
};

const instances = new Map<typeof Ajv | typeof Ajv2020, Ajv>();

function instance(Class: typeof Ajv | typeof Ajv2020): Ajv {
  let ajv = instances.get(Class);
  if (ajv === undefined) {
    ajv = new Class(options);
    formats.default(ajv);
    instances.set(Class, ajv);
  }
  return ajv;
}

/**
 * Compiles a JSON Schema: draft-07 where its `$schema` says so, else 2020-12.
 *
 * @throws Error when a reference leads nowhere or a keyword cannot be compiled
 */
export function compile(schema: JsonSchema): (value: unknown) => unknown {
  const draft07 = typeof schema.$schema === "string" && /draft-0[67]/.test(schema.$schema);
  const ajv = instance(draft07 ? Ajv : Ajv2020);
  try {
    const check = ajv.compile(schema);
    return (value) => (check(value) ? value : new Violation((check.errors ?? []).map(toIssue)));
  } finally {
    // ajv keeps each schema it has seen, and refuses another with the same $id: the validator is ours to keep.
    ajv.removeSchema(schema);
  }
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
