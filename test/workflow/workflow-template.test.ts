import { describe, expect } from "vitest";
import { StepBudget, StepsSpent } from "../../src/lib/step-budget.ts";
import { fillTemplate, InvalidTemplate, parseTemplate, referencesOf } from "../../src/workflow/workflow-template.ts";
import { verifies } from "../support/verifies.ts";

const scope = {
  input: { name: "Ada", files: ["a.ts", "b.ts"], none: null },
  steps: { tree: { entries: [{ path: "a", size: 2 }] } },
};

async function filled(template: unknown, maxSteps = 10_000): Promise<unknown> {
  return fillTemplate(await parseTemplate(template), scope, new StepBudget(maxSteps));
}

describe("a template", () => {
  verifies("W3", "gives a value where a text is one reference, and puts it into any other text", async () => {
    expect(await filled("${input.files}")).toEqual(["a.ts", "b.ts"]);
    expect(await filled("${steps.tree.entries[0].size}")).toBe(2);
    expect(await filled("Hello ${input.name}, ${input.files}.")).toBe('Hello Ada, ["a.ts","b.ts"].');
    expect(await filled("${input.missing}")).toBeNull();
    expect(await filled("<${input.missing}${input.none}>")).toBe("<>");
  });

  verifies("W3", "has references at any depth, and in no name of a field", async () => {
    const template = { a: [{ "${input.name}": "${input.name}" }], b: 1, c: "x" };
    expect(await filled(template)).toEqual({ a: [{ "${input.name}": "Ada" }], b: 1, c: "x" });
    expect(referencesOf(await parseTemplate(template)).map(({ path }) => path)).toEqual([["a", 0, "${input.name}"]]);
  });

  verifies("W3", "has any expression in a reference, braces and quotes too", async () => {
    expect(await filled("${{n: input.name, first: input.files[0]}}")).toEqual({ n: "Ada", first: "a.ts" });
    expect(await filled("${join('}', input.files)}!")).toBe("a.ts}b.ts!");
    expect(await filled('${`{"a": 1}`}')).toEqual({ a: 1 });
  });

  verifies("W3", "has ${ itself where it is written $${", async () => {
    expect(await filled("$${input.name} of ${input.name}, $5 and $")).toBe("${input.name} of Ada, $5 and $");
    expect(await filled("$${")).toBe("${");
  });

  verifies("W3", "says where a reference cannot be parsed, and why", async () => {
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [{ a: ["${input.name"] }, /has a reference that is not closed/],
      [{ a: ["${input.}"] }, /no expression of JMESPath/],
      [{ a: ["${}"] }, /no expression of JMESPath/],
      [{ a: ["${upper(input.name)}"] }, /calls upper, which is no function/],
      [{ a: ["${let $x = input in $x}"] }, /not supported/],
    ];
    for (const [template, message] of cases) {
      const error = await parseTemplate(template).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(InvalidTemplate);
      expect(error).toMatchObject({ path: ["a", 0], message: expect.stringMatching(message) });
    }
  });

  verifies("W3", "says which parts of the scope it may read", async () => {
    const paths = async (expression: string) => {
      const [reference] = referencesOf(await parseTemplate(`\${${expression}}`));
      const { read = [], readsAll, given } = reference?.paths ?? {};
      return { read: read.map((path) => path.join(".")), readsAll, given: given?.join(".") };
    };
    expect(await paths("steps.a[0].b")).toEqual({
      read: ["steps", "steps.a", "steps.a.0.b"],
      readsAll: false,
      given: "steps.a.0.b",
    });
    expect(await paths("steps.a[?x > `1`].y | [0]")).toMatchObject({ read: ["steps", "steps.a"], given: undefined });
    expect(await paths("join(',', steps.a[*].b)")).toMatchObject({ read: ["steps", "steps.a"], given: undefined });
    expect(await paths("item || $.input.b")).toMatchObject({ read: ["item", "input", "input.b"], given: undefined });
    expect(await paths("{x: steps.a, y: [input.b]}")).toMatchObject({ read: ["steps", "steps.a", "input", "input.b"] });
    for (const all of ["@", "*.x", "keys(@)", "$ | {a: @}"]) expect(await paths(all)).toMatchObject({ readsAll: true });
  });

  verifies(["W3", "H4"], "is filled in a bounded number of steps", async () => {
    await expect(filled("${input.files} and more", 10)).rejects.toThrow(StepsSpent);
  });
});
