import { type Coerced, coerceValue } from "../core/schema/coerce-value.ts";
import { Violation } from "../core/schema/violation.ts";
import { andThen, type MaybePromise } from "../lib/promise.ts";
import { isRecord } from "../lib/value.ts";
import type { SchemaReport } from "./checked-validator.ts";
import { type InputParser, inputParser } from "./input-parser.ts";
import { described, type Step, type StepCall, type Target } from "./step.ts";

/**
 * Mends the usual slips of models in an input that does not fit, where the call or the tool asks for that. What fits is passed on as it
 * is; what cannot be mended is too, and is refused as it was given.
 */
export function coerce(report: SchemaReport): Step {
  const step: Step = (target, next) => {
    const { definition, settings } = target;
    if (definition.input === undefined) return next;
    const byDefault = settings.coerce ?? false;
    let mending: Mending | undefined;
    return (call) => {
      if (!(call.state.options.coerce ?? byDefault)) return next(call);
      mending ??= new Mending(target, report);
      const ready = mending.prepare(call);
      return ready instanceof Promise ? ready.then(next) : next(ready);
    };
  };
  return described(({ settings: { coerce: byDefault = false } }) => ({ coerce: byDefault }), step);
}

class Mending {
  readonly #target: Target;
  readonly #parse: InputParser | undefined;

  constructor(target: Target, report: SchemaReport) {
    this.#target = target;
    this.#parse = inputParser(target, report);
  }

  /** The call as it goes on: parsed already where its input fits, as it was or mended. */
  prepare(call: StepCall): MaybePromise<StepCall> {
    const parse = this.#parse;
    if (parse === undefined) return call;
    return andThen(parse(call.input), (parsed) => {
      if (!(parsed instanceof Violation)) return call.as(parsed);
      return andThen(this.#mended(call.input), (mended) => {
        if (mended === undefined) return call;
        return andThen(parse(mended.value), (result) => {
          if (result instanceof Violation) return call;
          call.state.repairs = mended.repairs;
          return call.with({ input: mended.value }).as(result);
        });
      });
    });
  }

  /** By the schema as it is written down: what validates by itself says too little of what it wants. */
  #mended(input: unknown): MaybePromise<Coerced | undefined> {
    const schema = this.#target.definition.input;
    if (schema === undefined || !(isRecord(input) || typeof input === "string")) return undefined;
    try {
      const mended = coerceValue(schema, input, { trusted: this.#target.definition.origin === "local" });
      return mended instanceof Promise ? mended.catch(nothing) : mended;
    } catch {
      return undefined;
    }
  }
}

/** What cannot be compiled mends nothing; whoever validates by it says so. */
const nothing = () => undefined;
