import { describe, expect } from "vitest";
import { defineTool, Toolkit, ToolkitError } from "../../src/index.ts";
import type { Workflow, WorkflowStep } from "../../src/workflow/workflow-definition.ts";
import { workflows } from "../../src/workflow/workflows.ts";
import { verifies } from "../support/verifies.ts";

const add = defineTool<{ a: number; b: number }>({ name: "add", run: ({ a, b }) => ({ sum: a + b }) });
const echo = defineTool<{ text: string }>({ name: "echo", run: ({ text }) => text });
const broken = defineTool({
  name: "broken",
  run: () => {
    throw new Error("no disk");
  },
});

async function run(steps: readonly WorkflowStep[], more: Partial<Workflow> = {}, input: object = {}): Promise<unknown> {
  await using toolkit = new Toolkit({ items: [add, echo, broken] });
  toolkit.addSource("workflow", workflows([{ name: "test", description: "A test.", steps, ...more }]));
  await toolkit.start();
  const content = await toolkit.call("workflow.test", input);
  return content.mediaType === "application/json" ? content.json() : content.text();
}

describe("the steps of a workflow", () => {
  verifies("W3", "run one after the other, and see what came before", async () => {
    const steps = [
      { id: "one", tool: "add", params: { a: "${input.start}", b: 2 } },
      { id: "two", tool: "add", params: { a: "${steps.one.sum}", b: "${steps.one.sum}" } },
    ];
    expect(await run(steps, {}, { start: 1 })).toEqual({ sum: 6 });
    expect(await run(steps, { output: "It is ${steps.two.sum}." }, { start: 1 })).toBe("It is 6.");
  });

  verifies("W3", "run for each element, at once, and take ways", async () => {
    const steps: WorkflowStep[] = [
      {
        id: "sums",
        forEach: "${input.list}",
        tool: "add",
        params: { a: "${item}", b: "${index}" },
        output: "${steps.sums.sum}",
      },
      {
        id: "way",
        branch: [
          { when: "${steps.sums[?@ > `100`]}", steps: [{ id: "much", tool: "echo", params: { text: "much" } }] },
        ],
        otherwise: [{ id: "less", tool: "echo", params: { text: "less" } }],
      },
      {
        id: "both",
        parallel: [
          { id: "left", tool: "echo", params: { text: "${steps.way}" } },
          { id: "right", when: "${input.never}", tool: "echo", params: { text: "right" } },
        ],
      },
    ];
    const output = { sums: "${steps.sums}", both: "${steps.both}" };
    expect(await run(steps, { output }, { list: [10, 20, 30] })).toEqual({
      sums: [10, 21, 32],
      both: { left: "less", right: null },
    });
  });

  verifies(
    "W3",
    "fail as STEP_FAILED with the step, its input and the cause, or have something in their place",
    async () => {
      const failing = { id: "bad", tool: "broken", params: { token: "s3cret", at: "${input.at}" } };
      const error = await run([failing], {}, { at: 7 }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: "STEP_FAILED",
        ref: "workflow.test",
        details: { step: "bad", input: { token: "***", at: 7 }, cause: { code: "TOOL_FAILED" } },
      });
      expect(ToolkitError.is(error, "STEP_FAILED") && ToolkitError.is(error.cause, "TOOL_FAILED")).toBe(true);
      expect(await run([{ ...failing, fallback: { value: "none" } }])).toBe("none");
      const plan = [{ id: "instead", tool: "echo", params: { text: "plain" } }];
      expect(await run([{ ...failing, fallback: plan }])).toBe("plain");
      const listed = await run([{ ...failing, forEach: "${input.list}", onError: "continue" }], {}, { list: [1, 2] });
      const failed = { error: { code: "TOOL_FAILED", message: expect.stringContaining("no disk") } };
      expect(listed).toEqual([failed, failed]);
    },
  );
});
