import { describe, expect } from "vitest";
import { checkTemplates } from "../../src/workflow/check-workflow.ts";
import { outputSchemaOf, type Workflow, workflowSchema } from "../../src/workflow/workflow-definition.ts";
import { verifies } from "../support/verifies.ts";

/** The mistakes of the steps of a workflow: each as `path message`. */
async function mistakes(steps: readonly object[], more: Partial<Workflow> = {}): Promise<readonly string[]> {
  const workflow = workflowSchema.parse({ name: "audit", description: "Audits.", steps, ...more });
  const { mistakes } = await checkTemplates(workflow);
  return mistakes.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

const one = { id: "one", tool: "a.one" };

describe("a workflow that is looked through", () => {
  verifies("W3", "may refer to its input, and to steps that ran before", async () => {
    const steps = [
      one,
      {
        id: "each",
        forEach: "${input.files}",
        as: "file",
        tool: "a.read",
        params: { path: "${file}", at: "${index}" },
      },
      {
        id: "both",
        parallel: [
          { id: "left", tool: "a.left", params: { one: "${steps.one}" } },
          {
            id: "right",
            branch: [{ when: "${steps.each}", steps: [{ id: "deep", run: "p", params: "${steps.one.x}" }] }],
          },
        ],
      },
      {
        id: "ask",
        model: "default",
        prompt: "Say ${steps.both.left}.",
        fallback: [{ id: "plain", tool: "a.plain", params: "${steps.both}" }],
      },
      { id: "own", tool: "a.own", output: { first: "${steps.own[0]}" } },
    ];
    expect(await mistakes(steps, { output: { report: "${steps.ask}" } })).toEqual([]);
  });

  verifies("W3", "is refused for a reference to what is not there, with what may be meant", async () => {
    const refers = (text: string) => [
      one,
      { id: "two", tool: "a.two", params: { x: text } },
      { id: "three", tool: "a.three" },
    ];
    expect(await mistakes(refers("${steps.ones}"))).toEqual([
      '1.params.x: There is no step "ones". Did you mean "one"?'.replace("1.", "steps.1."),
    ]);
    expect(await mistakes(refers("${steps.x}"))).toEqual(['steps.1.params.x: There is no step "x". There are one.']);
    expect(await mistakes(refers("${one.a}"))).toEqual([
      'steps.1.params.x: There is no "one" to refer to. Did you mean "steps.one"?',
    ]);
    expect(await mistakes(refers("${item}"))).toEqual([
      'steps.1.params.x: There is no "item" to refer to. There are input, steps.',
    ]);
    expect(await mistakes(refers("a ${steps.three} b"))).toEqual([
      "steps.1.params.x: The step three runs later. Refer to a step before two, or move three before it.",
    ]);
    expect(await mistakes(refers("${steps.two}"))).toEqual([
      "steps.1.params.x: The step two refers to its own result, which is there only in its output.",
    ]);
    expect(await mistakes([one], { output: "${steps.oen}" })).toEqual([
      'output: There is no step "oen". Did you mean "one"?',
    ]);
  });

  verifies("W3", "is refused for steps that wait for each other", async () => {
    const steps = [
      { id: "a", tool: "t", params: { x: "${steps.c}" } },
      { id: "b", tool: "t", params: { x: "${steps.a}" } },
      { id: "c", tool: "t", params: { x: "${steps.b}" } },
    ];
    expect(await mistakes(steps)).toEqual([
      "steps.0.params.x: The steps wait for each other: a needs c needs b needs a. Remove one of these references.",
    ]);
  });

  verifies("W3", "sees no step that runs at the same time, and none inside of another", async () => {
    const hidden = /is not seen here|runs later/;
    const parallel = { id: "both", parallel: [one, { id: "two", tool: "t", params: "${steps.one}" }] };
    expect(await mistakes([parallel])).toEqual([expect.stringMatching(hidden)]);
    expect(await mistakes([parallel.parallel[0] as object, { id: "two", tool: "t", params: "${steps.one}" }])).toEqual(
      [],
    );
    const inside = { id: "outer", branch: [{ when: "${input.x}", steps: [one] }] };
    expect(await mistakes([inside, { id: "two", tool: "t", params: "${steps.one}" }])).toEqual([
      expect.stringMatching(hidden),
    ]);
    const each = {
      id: "outer",
      forEach: "${input.x}",
      steps: [one, { id: "two", tool: "t", params: ["${item}", "${steps.one}"] }],
    };
    expect(await mistakes([each, { id: "three", tool: "t", params: "${item}" }])).toEqual([
      expect.stringMatching(/no "item"/),
    ]);
    expect(await mistakes([{ ...each, when: "${item}" }])).toEqual([expect.stringMatching(/no "item"/)]);
  });

  verifies("W3", "has steps that each do one thing, with fields that say something", async () => {
    const cases: readonly (readonly [object, string])[] = [
      [
        { id: "x" },
        "steps.0: The step x needs exactly one of tool, model, run, branch, parallel, steps, and has none of them.",
      ],
      [
        { id: "x", tool: "a", run: "b" },
        "steps.0: The step x needs exactly one of tool, model, run, branch, parallel, steps, and has tool and run.",
      ],
      [{ id: "x", model: "default" }, "steps.0: The step x has no prompt: write what the model is asked."],
      [{ id: "x", tool: "a", prompt: "b" }, "steps.0.prompt: prompt means something only beside model."],
      [{ id: "x", parallel: [one], params: {} }, "steps.0.params: params means something only beside tool or run."],
      [{ id: "x", tool: "a", as: "file" }, "steps.0.as: as means something only beside forEach."],
      [{ id: "x", steps: [one] }, "steps.0.steps: steps means something only beside forEach."],
      [{ id: "x", tool: "a", when: "yes" }, "steps.0.when: when must be one reference and nothing else: write ${...}."],
      [
        { id: "x", tool: "a", forEach: "${input.a} b" },
        "steps.0.forEach: forEach must be one reference and nothing else: write ${...}.",
      ],
      [
        { id: "x", tool: "a", forEach: "${input.a}", as: "input" },
        "steps.0.as: input is the name of something else in references: choose another one.",
      ],
    ];
    for (const [step, mistake] of cases) expect(await mistakes([step])).toEqual([mistake]);
    expect(await mistakes([one, { ...one }])).toEqual(["steps.1.id: There are two steps with the id one: rename one."]);
    const nested = { id: "x", parallel: [{ id: "one", tool: "a", fallback: [{ id: "x", tool: "b" }] }] };
    expect(await mistakes([nested])).toEqual([
      "steps.0.parallel.0.fallback.0.id: There are two steps with the id x: rename one.",
    ]);
  });

  verifies("W3", "has schemas that are schemas", async () => {
    expect(await mistakes([one], { input: { type: "object", properties: { a: { type: "text" } } } })).toEqual([
      expect.stringMatching(/^input\.properties\.a\.type: .*no JSON Schema/),
    ]);
    expect(await mistakes([one], { input: { type: "array" } })).toEqual([
      expect.stringMatching(/^input\.type: .*must describe an object/),
    ]);
    const ask = { id: "ask", model: "default", prompt: "?", schema: { required: "a" } };
    expect(await mistakes([ask])).toEqual([expect.stringMatching(/^steps\.0\.schema\.required: /)]);
  });

  verifies(["W3", "H4"], "is bounded in the number and the nesting of its steps", async () => {
    const many = Array.from({ length: 501 }, (_, at) => ({ id: `s${at}`, tool: "t" }));
    expect(await mistakes(many)).toEqual([expect.stringMatching(/more than 500 steps/)]);
    const nested = (depth: number): object => (depth === 0 ? one : { id: `n${depth}`, parallel: [nested(depth - 1)] });
    expect(await mistakes([nested(15)])).toEqual([]);
    expect(await mistakes([nested(16)])).toEqual([expect.stringMatching(/deeper than 16 levels/)]);
  });
});

verifies("W3", "a workflow has an output schema as far as its definition tells", () => {
  const schemaOf = (more: Partial<Workflow>) => outputSchemaOf({ name: "a", description: "A.", steps: [one], ...more });
  expect(schemaOf({ output: { n: 1, text: "a", any: "${steps.one}", deep: { list: [1], none: null } } })).toEqual({
    type: "object",
    properties: {
      n: { type: "number" },
      text: { type: "string" },
      any: {},
      deep: {
        type: "object",
        properties: { list: { type: "array" }, none: {} },
        required: ["list", "none"],
        additionalProperties: false,
      },
    },
    required: ["n", "text", "any", "deep"],
    additionalProperties: false,
  });
  expect(schemaOf({})).toBeUndefined();
  expect(schemaOf({ output: "${steps.one}" })).toBeUndefined();
  const ask = { id: "ask", model: "default", prompt: "?", schema: { type: "object", properties: { a: {} } } };
  expect(schemaOf({ steps: [ask] })).toBe(ask.schema);
  expect(schemaOf({ steps: [{ ...ask, fallback: { value: 1 } }] })).toBeUndefined();
  expect(schemaOf({ steps: [{ ...ask, when: "${input.a}" }] })).toBeUndefined();
});
