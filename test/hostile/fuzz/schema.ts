import { setImmediate as nextTurn } from "node:timers/promises";
import { googleProjection } from "../../../src/adapters/projection/google-schema.ts";
import { openAIStrictProjection } from "../../../src/adapters/projection/openai-schema.ts";
import { anthropicProjection } from "../../../src/adapters/projection/plain-schema.ts";
import { ToolkitError } from "../../../src/core/error.ts";
import { coerceValue } from "../../../src/core/schema/coerce-value.ts";
import type { JsonSchema } from "../../../src/core/schema/types.ts";
import { validatorOf } from "../../../src/core/schema/validator.ts";
import { StepBudget } from "../../../src/lib/step-budget.ts";
import { compareContracts } from "../../../src/pins/compare-contracts.ts";
import { contractOf } from "../../../src/pins/contract.ts";
import type { Random } from "../../support/random.ts";
import { RandomSchemas } from "../../support/random-schema.ts";

interface Attack {
  readonly describe: string;
  readonly schema: JsonSchema;
  readonly value: unknown;
}

const joins = ["anyOf", "allOf", "oneOf"];

/** Schemas of strangers, and values for them, up to 1 MiB each: validated, repaired and projected. */
export const schemaFuzz = {
  name: "schema",
  *cases(random: Random): Iterable<{ readonly describe: string; readonly run: () => unknown }> {
    const schemas = new RandomSchemas(random);
    const below = (end: number) => Math.floor(random() * end);
    const list = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, at) => make(at));
    const map = (count: number, make: (index: number) => unknown) =>
      Object.fromEntries(list(count, (at) => [`name${at}`, make(at)]));
    const makers: readonly (() => Attack)[] = [
      () => ({ describe: "random", schema: schemas.document(), value: schemas.value(6) }),
      () => {
        const count = 2 + below(40);
        const $defs = map(count, (at) => chainLink(at, { count, join: joins[below(3)] ?? "anyOf", schemas }));
        const value = random() < 0.5 ? schemas.value(3) : list(below(50_000), () => ({}));
        const items = { $ref: "#/$defs/name0" };
        return { describe: `chain of ${count}`, schema: { type: "object", items, ...items, $defs }, value };
      },
      () => {
        const count = below(20_000);
        const value = map(below(20_000), () => schemas.value(1));
        return { describe: `${count} properties`, schema: { properties: map(count, () => schemas.schema(0)) }, value };
      },
      () => {
        const entry = schemas.value(2);
        const value = list(below(60_000), (at) => (random() < 0.5 ? { at, entry } : entry));
        return { describe: "lists", schema: { uniqueItems: true, items: schemas.schema(2) }, value };
      },
      () => {
        const depth = below(2_000);
        return { describe: `depth ${depth}`, schema: nested(depth, schemas), value: { deep: deepList(depth) } };
      },
      () => {
        const pattern = list(
          1 + below(30),
          () => ["(a+)+", "(a|a)*", "\\p{L}{9}", "[^b]*", "(?=a)", "\\1", "(", "a{99}"][below(8)],
        ).join("");
        const text = "a".repeat(below(1_000_000));
        const patterns = Object.fromEntries(list(below(200), (at) => [`${pattern}${at}`, true]));
        const schema = { pattern, patternProperties: patterns, properties: { text: { pattern } } };
        return {
          describe: `pattern ${pattern}`,
          schema,
          value: random() < 0.5 ? text : { text, [text.slice(0, 99)]: 1 },
        };
      },
    ];
    let last: JsonSchema = {};
    for (;;) {
      const { describe, schema, value } = (makers[below(makers.length)] as () => Attack)();
      const before = last;
      last = schema;
      yield { describe, run: () => attack(schema, value) };
      yield { describe: `${describe}, after another`, run: () => change(before, schema) };
    }
  },
};

function chainLink(
  at: number,
  { count, join, schemas }: { count: number; join: string; schemas: RandomSchemas },
): unknown {
  if (at === count - 1) return schemas.schema(1);
  const next = { $ref: `#/$defs/name${at + 1}` };
  return { [join]: [next, next, schemas.schema(0)], properties: { a: next, b: { ...next, title: "b" } }, items: next };
}

function nested(depth: number, schemas: RandomSchemas): JsonSchema {
  let schema: JsonSchema = schemas.schema(1);
  for (let at = 0; at < Math.min(depth, 250); at += 1)
    schema = at % 2 === 0 ? { items: schema } : { anyOf: [{ items: schema }] };
  return {
    properties: { deep: { $ref: "#/$defs/list" } },
    $defs: { list: { items: { $ref: "#/$defs/list" } }, schema },
  };
}

function deepList(depth: number): unknown {
  let value: unknown = 1;
  for (let at = 0; at < depth; at += 1) value = [value];
  return value;
}

/** Whatever a service does with a remote tool's schema, each in a turn of the event loop of its own. */
async function attack(schema: JsonSchema, value: unknown): Promise<void> {
  await usable(() => validatorOf(schema, { trusted: false })(value));
  await nextTurn();
  await usable(() => coerceValue(schema, value, { trusted: false }));
  const root = { type: "object", ...schema };
  for (const project of [anthropicProjection, googleProjection, openAIStrictProjection]) {
    await nextTurn();
    project(root).restore(value);
  }
}

/** A server that has other schemas than before: its tool is compared with its pin, in both directions. */
function change(before: JsonSchema, after: JsonSchema): void {
  const [one, other] = [before, after].map((input) => contractOf("tool", { name: "a", input, output: input }));
  for (const [from, to] of [
    [one, other],
    [other, one],
  ]) {
    compareContracts(from, to, { kind: "tool", key: "a", ref: "far.a" }, new StepBudget(400_000));
  }
}

/** A schema that cannot be used is an Error that says why, and leaves its tool without validation. */
async function usable(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (ToolkitError.is(error, "LIMIT_EXCEEDED")) return;
    if (!(error instanceof Error) || /^(?:RangeError|TypeError|ReferenceError|SyntaxError)$/.test(error.name))
      throw error;
  }
}
