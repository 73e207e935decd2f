import { expect } from "vitest";
import { googleProjection } from "../../src/adapters/projection/google-schema.ts";
import { openAIStrictProjection } from "../../src/adapters/projection/openai-schema.ts";
import { anthropicProjection } from "../../src/adapters/projection/plain-schema.ts";
import type { ToolkitError } from "../../src/core/error.ts";
import { coerceValue } from "../../src/core/schema/coerce-value.ts";
import type { JsonSchema } from "../../src/core/schema/types.ts";
import { validatorOf } from "../../src/core/schema/validator.ts";
import { describeIssues, Violation } from "../../src/core/schema/violation.ts";
import { defineTool, Toolkit } from "../../src/index.ts";
import { digest } from "../../src/lib/canonical.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { randomOf } from "../support/random.ts";
import { verifies } from "../support/verifies.ts";
import { schemaFuzz } from "./fuzz/schema.ts";

/** Four times what is promised for a quiet machine: without its bound each attack takes seconds, or never ends. */
const maxMs = 1_000;

async function quickly<T>(work: () => T | Promise<T>): Promise<T> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(maxMs);
  return result;
}

const range = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const members = (count: number, make: (index: number) => unknown): Record<string, unknown> =>
  Object.fromEntries(range(count, (at) => [`name${at}`, make(at)]));

/** 25 definitions, each made of the next twice. */
function doubling(make: (next: JsonSchema) => JsonSchema): JsonSchema {
  const $defs = members(25, (at) => (at === 24 ? { type: "string" } : make({ $ref: `#/$defs/name${at + 1}` })));
  return { $ref: "#/$defs/name0", $defs };
}

const unequal = range(20_000, (at) => ({ id: at, tags: [at] }));
type Found = "fits" | "refused" | "LIMIT_EXCEEDED" | "cannot be used";
const attacks: readonly (readonly [string, JsonSchema, unknown, Found])[] = [
  ["anyOf of the next twice", doubling((next) => ({ anyOf: [next, next] })), 1, "refused"],
  ["allOf of the next twice", doubling((next) => ({ allOf: [next, next] })), 1, "refused"],
  ["allOf of the next twice, fitting", doubling((next) => ({ allOf: [next, next] })), "a", "fits"],
  ["oneOf of the next twice", doubling((next) => ({ oneOf: [next, next] })), "a", "refused"],
  ["not, twice the next", doubling((next) => ({ not: { allOf: [next, next] } })), "a", "fits"],
  [
    "members that are the next twice",
    doubling((next) => ({ properties: { a: next, b: next }, items: next })),
    [[{ a: 1, b: [2] }]],
    "fits",
  ],
  ["20,000 objects that must be unlike each other", { uniqueItems: true }, unequal, "fits"],
  ["20,000 objects of which two are alike", { uniqueItems: true }, [...unequal, unequal[7]], "refused"],
  ["12,000 properties", { properties: members(12_000, () => ({ type: "string" })) }, members(12_000, String), "fits"],
  [
    "4,000 schemas that look at one of 30,000 members",
    { allOf: range(4_000, () => ({ properties: { other: {} } })) },
    members(30_000, Number),
    "fits",
  ],
  [
    "4,000 schemas that fail at the first of 30,000 members",
    { anyOf: range(4_000, () => ({ additionalProperties: { type: "string" } })) },
    members(30_000, Number),
    "refused",
  ],
  ["100,000 issues", { items: { type: "string" } }, range(100_000, () => 1), "refused"],
  ["more schemas than are read", { allOf: range(300_000, () => true) }, 1, "cannot be used"],
  [
    "4,000 schemas for each of 100,000 entries",
    { items: { allOf: range(4_000, () => ({})) } },
    range(100_000, Number),
    "LIMIT_EXCEEDED",
  ],
  [
    "a value that is nested deep",
    { items: { $ref: "#" } },
    JSON.parse("[".repeat(3_000) + "]".repeat(3_000)),
    "LIMIT_EXCEEDED",
  ],
  ["a schema that is nothing but itself", { $ref: "#" }, 1, "cannot be used"],
  [
    "400 patterns",
    { properties: members(400, (at) => ({ pattern: `${"\\p{L}".repeat(150)}${at}` })) },
    members(400, String),
    "cannot be used",
  ],
  ["a pattern that goes back, on a megabyte", { pattern: "^(a+)+$" }, `${"a".repeat(1_000_000)}!`, "refused"],
  [
    "1,000 enums of objects",
    { items: { allOf: range(20, () => ({ enum: range(500, (at) => ({ at })) })) } },
    range(20_000, (at) => ({ at })),
    "refused",
  ],
];

async function outcome(schema: JsonSchema, value: unknown): Promise<Found> {
  try {
    const result = await validatorOf(schema, { trusted: false })(value);
    return result instanceof Violation ? "refused" : "fits";
  } catch (error) {
    return (error as Partial<ToolkitError>).code === "LIMIT_EXCEEDED" ? "LIMIT_EXCEEDED" : "cannot be used";
  }
}

/** The step that validates reports it. */
function unusable(error: unknown): void {
  if (!(error instanceof Error) || /^(?:RangeError|TypeError|AssertionError)$/.test(error.name)) throw error;
}

for (const [what, schema, value, found] of attacks) {
  verifies("M12", `a schema of a stranger takes no longer than its bound: ${what}`, async () => {
    expect(await quickly(() => outcome(schema, value))).toBe(found);
  });
  verifies("M12", `its repairs and its projections take no longer: ${what}`, async () => {
    const root = { type: "object", ...schema };
    await quickly(async () => coerceValue(schema, value, { trusted: false })).catch(unusable);
    for (const project of [anthropicProjection, googleProjection, openAIStrictProjection])
      await quickly(() => project(root).restore(value));
  });
}

verifies("M12", "a projection that would expand without end is that of any object", async () => {
  const large = { type: "object", properties: members(5_000, () => ({ type: "string" })) };
  const schema = { type: "object", anyOf: range(2_000, () => ({ $ref: "#/$defs/large" })), $defs: { large } };
  for (const project of [anthropicProjection, googleProjection, openAIStrictProjection]) {
    expect(await quickly(() => project(schema))).toMatchObject({
      schema: { type: "object", properties: {} },
      lost: [{ pointer: "", what: expect.stringContaining("steps") }],
    });
  }
});

verifies("M12", "a property is renamed though all its first names are taken", async () => {
  const hash = digest("ü").replaceAll(/[^A-Za-z0-9]/g, "0");
  const taken = range(70, (at) => [`_${"".slice(0, at)}_${hash.slice(0, at)}`, {}]);
  const schema = {
    type: "object",
    properties: { ü: { type: "string" }, ...Object.fromEntries(taken), [`_${hash}`]: {} },
  };
  const { restore, schema: projected } = await quickly(() => anthropicProjection(schema));
  const names = Object.keys(projected.properties as object);
  expect(names).toHaveLength(Object.keys(schema.properties).length);
  expect(names.map((name) => Object.keys(restore({ [name]: 1 }) as object)[0])).toContain("ü");
});

verifies("M12", "a list that a schema of the service wants to be unique is compared in linear time", async () => {
  const validate = validatorOf({ type: "array", uniqueItems: true });
  expect(await quickly(() => validate(unequal))).toBe(unequal);
  expect(await quickly(() => validate([...unequal, unequal[7]]))).toMatchObject({
    issues: [{ pointer: "", message: "must NOT have duplicate items (items ## 7 and 20000 are identical)" }],
  });
});

verifies("M12", "a value is compared with many choices in bounded time, and refused in few words", async () => {
  const choice = { enum: range(5_000, (at) => `choice ${at}`) };
  for (const [schema, value] of [
    [choice, `${" ".repeat(1_000_000)}x`],
    [{ type: "array", items: { enum: choice.enum.slice(0, 1_000) } }, range(20_000, (at) => `no choice ${at}`)],
  ] as const) {
    expect(await quickly(() => coerceValue(schema, value))).toBeUndefined();
    const refused = await quickly(() => validatorOf(schema)(value));
    const { issues } = refused as Violation;
    expect(issues[0]?.message).toMatch(/^must be one of "choice 0", .*, \.\.\.$/);
    expect(describeIssues(issues).length).toBeLessThan(200_000);
  }
});

verifies(
  "M12",
  "a megabyte of arguments that do not fit is repaired, refused and described in bounded time",
  async () => {
    const choices = range(2_000, (at) => `choice ${at}`);
    const objects = choices.map((name) => ({ name, kind: "choice" }));
    const nested = { a: "[".repeat(450_000) + "]".repeat(450_000), b: JSON.stringify(range(100_000, String)) };
    await using toolkit = new Toolkit();
    for (const [name, items, list] of [
      ["texts", { enum: choices }, range(50_000, (at) => `CHOICE ${at}`)],
      ["objects", { enum: objects }, range(50_000, (at) => ({ name: `none ${at}`, kind: "choice" }))],
      ["union", { anyOf: [{ type: "integer", maximum: 5 }, { type: "boolean" }] }, range(100_000, () => "12345")],
      ["json", { type: "object", properties: { a: { type: "array" }, b: { items: { type: "integer" } } } }, [nested]],
      ["numbers", { type: "string" }, range(500_000, Number)],
    ] as const) {
      const input = { type: "object", properties: { list: { type: "array", items } }, required: ["list"] };
      toolkit.add(defineTool({ name, input, run: () => "ran" }));
      const call = () => toolkit.call(name, { list }, { coerce: true }).catch((error: ToolkitError) => error);
      const refused = await quickly(call);
      expect(refused).toMatchObject({ code: "INVALID_INPUT", phase: "validate" });
      expect((refused as ToolkitError).message.length).toBeLessThan(15_000);
    }
  },
);

verifies(["M12", "I3"], "a value that takes too long fails its call, and the next one is validated", async () => {
  const far = new FakeConnector({
    lists: {
      tool: [
        {
          name: "wide",
          input: { properties: { list: { items: { allOf: range(4_000, () => ({})) } } }, required: ["list"] },
        },
      ],
    },
  });
  await using toolkit = new Toolkit();
  await toolkit.addConnector(far, { namespace: "far" }).ready();
  const fail = (input: object) =>
    toolkit.call("far.wide", input).then(
      () => undefined,
      (error: ToolkitError) => error,
    );
  expect(await quickly(() => fail({ list: range(100_000, Number) }))).toMatchObject({
    code: "LIMIT_EXCEEDED",
    ref: "far.wide",
    phase: "validate",
    details: { limit: "validationSteps" },
  });
  expect(await fail({})).toMatchObject({ code: "INVALID_INPUT" });
});

verifies("M12", "a fuzz of hostile schemas ends, and throws nothing but its bounds", async () => {
  let left = 15;
  for (const { run } of schemaFuzz.cases(randomOf(20_261_122))) {
    await run();
    left -= 1;
    if (left === 0) break;
  }
});
