import { type Coerced, coerceValue } from "../core/schema/coerce-value.ts";
import type { Validator } from "../core/schema/validator.ts";
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
      let coercion: Coercion | undefined;
      return (call) => {
        if (!(call.state.options.coerce ?? byDefault)) return next(call);
        coercion ??= new Coercion(target, report);
        const ready = coercion.prepare(call);
        return ready instanceof Promise ? ready.then(next) : next(ready);
      };
    },
  );
}

class Coercion {
  readonly #target: Target;
  readonly #validate: Validator | undefined;

  constructor(target: Target, report: SchemaReport) {
    this.#target = target;
    this.#validate = inputValidator(target, report);
  }

  /** The call as it goes on: parsed already where its input fits, as it was or repaired. */
  prepare(call: StepCall): MaybePromise<StepCall> {
    const validate = this.#validate;
    if (validate === undefined) return call;
    return andThen(validate(call.input), (parsed) => {
      if (!(parsed instanceof Violation)) return call.as(parsed);
      return andThen(this.#repaired(call.input), (repaired) => {
        if (repaired === undefined) return call;
        return andThen(validate(repaired.value), (result) => {
          if (result instanceof Violation) return call;
          call.state.repairs = repaired.repairs;
          return call.with({ input: repaired.value }).as(result);
        });
      });
    });
  }

  /** By the schema as it is written down: one that validates by itself says too little of what it wants. */
  #repaired(input: unknown): MaybePromise<Coerced | undefined> {
    const schema = this.#target.definition.input;
    if (schema === undefined || !(isRecord(input) || typeof input === "string")) return undefined;
    try {
      const repaired = coerceValue(schema, input, { trusted: this.#target.definition.origin === "local" });
      return repaired instanceof Promise ? repaired.catch(nothing) : repaired;
    } catch {
      return undefined;
    }
  }
}

/** A schema that cannot be compiled repairs nothing; the step that validates reports it. */
const nothing = () => undefined;
