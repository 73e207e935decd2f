import type { Issue } from "../core/error-catalog.ts";
import { type Coerced, coerceValue } from "../core/schema/coerce-value.ts";
import { Violation } from "../core/schema/violation.ts";
import { andThen, type MaybePromise } from "../lib/promise.ts";
import { isRecord } from "../lib/value.ts";
import { described, type Step, type StepCall, type Target } from "./step.ts";
import { inputValidator, type SchemaReport } from "./validate-input.ts";

/**
 * Repairs common mistakes of models in an input that does not fit, where the call or the tool asks for that. Input that fits is passed on
 * as it is; so is one that cannot be repaired, and it is refused as it was given.
 */
export function coerceInput(report: SchemaReport): Step {
  return described(
    ({ settings: { coerce = false } }) => ({ coerce }),
    (target, next) => {
      const { definition, settings, isPlain } = target;
      const byDefault = settings.coerce ?? false;
      if (definition.input === undefined || (isPlain && !byDefault)) return next;
      let prepare: ReturnType<typeof coercer> | undefined;
      return (call) => {
        if (!(call.state.options.coerce ?? byDefault)) return next(call);
        prepare ??= coercer(target, report);
        const ready = prepare(call);
        return ready instanceof Promise ? ready.then(next) : next(ready);
      };
    },
  );
}

/** Makes the call as it goes on: parsed already where its input fits, as it was or repaired, and refused already where it does not. */
function coercer(target: Target, report: SchemaReport): (call: StepCall) => MaybePromise<StepCall> {
  const validate = inputValidator(target, report);
  const { inputSchema, input: written } = target.definition;
  return (call) => {
    if (validate === undefined) return call;
    return andThen(validate(call.input), (parsed) => {
      if (!(parsed instanceof Violation)) return call.as(parsed);
      // A schema that is all that validates refuses the same again, and accepts what is repaired by it.
      const isAll = inputSchema === written;
      return andThen(repaired(target, call.input, isAll ? parsed.issues : undefined), (found) => {
        if (found === undefined) return isAll ? call.as(parsed) : call;
        return andThen(isAll ? found.value : validate(found.value), (result) => {
          if (result instanceof Violation) return call;
          call.state.repairs = found.repairs;
          return call.with({ input: found.value }).as(result);
        });
      });
    });
  };
}

/** By the schema as it is written down: one that validates by itself says too little of what it wants. */
function repaired(
  { definition }: Target,
  input: unknown,
  issues: readonly Issue[] | undefined,
): MaybePromise<Coerced | undefined> {
  const schema = definition.input;
  if (schema === undefined || !(isRecord(input) || typeof input === "string")) return undefined;
  try {
    const coerced = coerceValue(schema, input, { trusted: definition.origin === "local", issues });
    return coerced instanceof Promise ? coerced.catch(nothing) : coerced;
  } catch {
    return undefined;
  }
}

/** A schema that cannot be compiled repairs nothing; the step that validates reports it. */
const nothing = () => undefined;
