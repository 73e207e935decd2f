import { afterEach, beforeEach, describe, expect } from "vitest";
import { defineTool, Toolkit } from "../../src/index.ts";
import { parseWorkflow } from "../../src/workflow/parse-workflow.ts";
import { workflows } from "../../src/workflow/workflows.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

let toolkit: Toolkit;
const got: unknown[] = [];

beforeEach(() => {
  got.length = 0;
  toolkit = new Toolkit();
});
afterEach(() => toolkit.close());

/** Adds a workflow to a toolkit that has the tools `give`, which gives a value, and `take`, which notes its input. */
async function run(steps: readonly object[], given: unknown, output?: unknown): Promise<unknown> {
  toolkit.add(
    defineTool({ name: "give", run: () => given }),
    defineTool({
      name: "take",
      run: (input) => {
        got.push(input);
        return "taken";
      },
    }),
  );
  const text = JSON.stringify({ name: "test", description: "A test.", steps, output });
  const { workflow } = await parseWorkflow({ text, file: "test.json" });
  toolkit.addSource("workflow", workflows([workflow]));
  return await (await toolkit.call("workflow.test", { key: "s3cret" })).json();
}

const give = { id: "give", tool: "give" };

describe("the result of a tool in a workflow", () => {
  verifies(["W3", "H4"], "that looks like a reference is a text, and refers to nothing", async () => {
    const sly = { text: "${input.key}", deep: ["$${input.key} ${steps}"] };
    const take = { id: "take", tool: "take", params: { whole: "${steps.give}", text: "<${steps.give.text}>" } };
    await run([give, take], sly, { all: "${steps.give}" });
    expect(got).toEqual([{ whole: sly, text: "<${input.key}>" }]);
  });

  verifies(["W3", "H4"], "has no members that it does not name itself", async () => {
    const sly = JSON.parse('{ "__proto__": { "key": "mine" }, "list": [1] }');
    const read = ["constructor", "__proto__.polluted", "list.constructor", "toString", "list.length"];
    const params = Object.fromEntries(read.map((path, at) => [`p${at}`, `\${steps.give.${path}}`]));
    await run([give, { id: "take", tool: "take", params }], sly, "${steps.give}");
    expect(got).toEqual([{ p0: null, p1: null, p2: null, p3: null, p4: null }]);
    expect(({} as { readonly key?: unknown }).key).toBeUndefined();
  });

  verifies(["W3", "H4"], "that is doubled by each step ends the run, and not the process", async () => {
    const doubled = Array.from({ length: 60 }, (_, at) => ({
      id: `s${at}`,
      tool: "give",
      output: at === 0 ? "${steps.s0}" : [`\${steps.s${at - 1}}`, `\${steps.s${at - 1}}`],
    }));
    const take = { id: "take", tool: "take", params: { all: "${steps.s59}" } };
    const began = process.cpuUsage();
    expect(await failure(run([...doubled, take], "x".repeat(100)))).toMatchObject({
      code: "STEP_FAILED",
    });
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1_000).toBeLessThan(10_000);
    expect(got).toEqual([]);
  });

  verifies(["W3", "H4"], "that is wrapped by each step ends the run before it ends the stack", async () => {
    const wrapped = Array.from({ length: 400 }, (_, at) => ({
      id: `s${at}`,
      tool: "give",
      output: at === 0 ? "${steps.s0}" : [[[`\${steps.s${at - 1}}`]]],
    }));
    const message = expect.stringMatching(/deeper than 500/);
    expect(await failure(run(wrapped, 1))).toMatchObject({ code: "STEP_FAILED", message });
  });

  verifies(["W3", "H4"], "that takes an expression too long fails its step alone", async () => {
    const many = { list: Array.from({ length: 3_000 }, (_, at) => at) };
    const params = { x: "${steps.give.list[].map(&@, $.steps.give.list)[]}" };
    const take = { id: "take", tool: "take", params, fallback: { value: "too long" } };
    expect(await run([give, take], many, { took: "${steps.take}" })).toEqual({ took: "too long" });
    expect(got).toEqual([]);
  });
});

describe("a workflow file", () => {
  verifies(["W3", "H4"], "that unfolds without end, or is too deep or too large, is refused by name", async () => {
    const bomb = Array.from({ length: 25 }, (_, at) => `x${at + 1}: &x${at + 1} [*x${at}, *x${at}]\n`).join("");
    const cases: readonly (readonly [string, RegExp])[] = [
      [`x0: &x0 [1]\n${bomb}`, /^test\.yaml:\d+:\d+: .*(?:alias|aliases)/],
      [`steps: ${"[".repeat(100_000)}`, /^test\.yaml:1:1: .*nested deeper than 250 levels/],
      [`a: ${"{ a: ".repeat(150)}1${" }".repeat(150)}`, /nested deeper than 100 levels/],
      [`# ${"x".repeat(300_000)}\nname: a\n`, /larger than 262144 bytes/],
      ["a: &a [*a]\n", /^test\.yaml:1:8: The alias \*a stands inside what it repeats/],
    ];
    for (const [text, message] of cases)
      expect(await failure(parseWorkflow({ text, file: "test.yaml" }))).toMatchObject({
        code: "INVALID_WORKFLOW",
        message: expect.stringMatching(message),
      });
  });

  verifies(["W3", "H4"], "adds no line of its own to an error", async () => {
    const text = JSON.stringify({
      name: "a",
      description: "a",
      "no\nsuch\u001b[31m": 1,
      steps: [{ id: "a", tool: "t", params: "${x\nERROR: all is lost}" }],
    });
    const error = await failure(parseWorkflow({ text, file: "a\nb.yaml" }));
    expect(error.message).not.toContain("\u001b");
    expect(error.message.split("\n")).toHaveLength(1);
  });
});
