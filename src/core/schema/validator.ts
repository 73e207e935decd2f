import { digest } from "../../lib/canonical.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isPromiseLike } from "../../lib/promise.ts";
import type { Issue } from "../error-catalog.ts";
import { isForeign } from "./foreign-schema.ts";
import { isTypedSchema, type JsonSchema, type SchemaLike, type StandardIssue, type StandardResult } from "./types.ts";
import { usualTest } from "./usual-test.ts";
import { Violation } from "./violation.ts";

/**
 * Gives the value after the schema's defaults and transforms, or a Violation; a promise only where the schema is asynchronous or
 * its validator is not loaded yet.
 *
 * @throws Error when the schema cannot be compiled, such as for a reference that leads nowhere
 */
export type Validator = (value: unknown) => unknown;

/**
 * The origin of a schema: ajv compiles those of the service itself; those of strangers are interpreted, in a bounded number of steps. A value
 * that fits a schema of the usual form needs neither.
 */
export interface Trust {
  /** True where left out. */
  readonly trusted?: boolean | undefined;
}

/** The validator of a schema. Compiled at first use; equal JSON Schemas share one, however often they are met. */
export function validatorOf(schema: SchemaLike, { trusted = true }: Trust = {}): Validator {
  return isTypedSchema(schema)
    ? standardValidator(schema["~standard"].validate)
    : sharedValidator(schema as JsonSchema, trusted && !isForeign(schema));
}

function standardValidator(
  validate: (value: unknown) => StandardResult<unknown> | Promise<StandardResult<unknown>>,
): Validator {
  return (value) => {
    const result = validate(value);
    // Whatever has a `then`: a promise of another library, taken for a result, would pass anything.
    return isPromiseLike(result) ? Promise.resolve(result).then(outcome) : outcome(result);
  };
}

function outcome(result: StandardResult<unknown>): unknown {
  return result.issues === undefined ? result.value : new Violation(result.issues.map(toIssue));
}

function toIssue(issue: StandardIssue): Issue {
  const steps = (issue.path ?? []).map((step) => (typeof step === "object" ? step.key : step));
  // The words of zod for it are those of its code.
  const message = /^Invalid input: expected .*, received undefined$/.test(issue.message) ? "is missing" : issue.message;
  return { pointer: steps.reduce<string>(pointerTo, ""), message };
}

// Found by content alone: a schema that was changed in place is another one. Held weakly here, and by each schema it was made for, so
// that a validator lives as long as an item that uses it.
const heldBy = new WeakMap<JsonSchema, Validator>();
const byContent = new Map<string, WeakRef<Validator>>();
const forget = new FinalizationRegistry<string>((key) => {
  if (byContent.get(key)?.deref() === undefined) byContent.delete(key);
});

function sharedValidator(schema: JsonSchema, trusted: boolean): Validator {
  const key = trusted ? digest(schema) : `foreign:${digest(schema)}`;
  let validator = byContent.get(key)?.deref();
  if (validator === undefined) {
    // A copy, for it is compiled later: the schema may be changed in place until then, and others of its content share this one.
    const copy: JsonSchema = JSON.parse(JSON.stringify(schema));
    validator = testedValidator(copy, trusted ? compiler : interpreter);
    byContent.set(key, new WeakRef(validator));
    forget.register(validator, key);
  }
  heldBy.set(schema, validator);
  return validator;
}

/** A schema that so many values fit is compiled after all: ajv's code takes half the time of the tests. */
const worthCompiling = 10_000;

/** Tests at first, which only says whether a value fits, and compiles for one that does not. */
function testedValidator(schema: JsonSchema, source: Compiler): Validator {
  let validator: Validator | undefined;
  const compileSoon = async (): Promise<void> => {
    const compile = await load(source);
    validator = compile(schema);
  };
  const ready = (): Validator => {
    const compiling = jsonValidator(schema, source);
    const fits = usualTest(schema);
    if (fits === undefined) return compiling;
    let left = source === compiler ? worthCompiling : Number.POSITIVE_INFINITY;
    return (value) => {
      if (!fits(value)) return compiling(value);
      left -= 1;
      // Where it cannot be compiled, the tests go on.
      if (left === 0) compileSoon().catch(() => undefined);
      return value;
    };
  };
  return (value) => {
    validator ??= ready();
    return validator(value);
  };
}

function jsonValidator(schema: JsonSchema, compiler: Compiler): Validator {
  let check: Validator | undefined;
  const ready = (compile: Compile): Validator => {
    check ??= compiled(schema, compile);
    return check;
  };
  return (value) => {
    if (check !== undefined) return check(value);
    const { loaded } = compiler;
    return loaded === undefined ? load(compiler).then((compile) => ready(compile)(value)) : ready(loaded)(value);
  };
}

type Compile = (schema: JsonSchema) => Validator;

interface Compiler {
  loaded?: Compile;
  readonly import: () => Promise<Compile>;
}

const compiler: Compiler = { import: async () => (await import("./ajv.ts")).compile };
const interpreter: Compiler = { import: async () => (await import("./interpreter/interpreter.ts")).interpret };
/** Once: to ask for a module that is there costs a third of a compilation. */
async function load(compiler: Compiler): Promise<Compile> {
  compiler.loaded ??= await compiler.import();
  return compiler.loaded;
}

/** A schema that cannot be compiled reports that for each value. */
function compiled(schema: JsonSchema, compile: Compile): Validator {
  try {
    return compile(schema);
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
