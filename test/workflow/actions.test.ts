import { describe, expect } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { defineTool, parsePrompt, Toolkit, ToolkitError } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { defineWorkflow } from "../../src/workflow/workflow-definition.ts";
import { workflows } from "../../src/workflow/workflows.ts";
import { verifies } from "../support/verifies.ts";
import { bench, counted, eventually, flow, resultIn } from "./support.ts";

describe("a step that asks a model", () => {
  verifies(
    "W3",
    "has its text and schema go to the agent, and the results of earlier steps where it refers to none",
    async () => {
      const seen: string[] = [];
      const model = scriptedModel(({ prompt }) => {
        seen.push(JSON.stringify(prompt));
        return { text: seen.length === 2 ? '{"mood":"good"}' : "It is fine." };
      });
      const say = counted("say");
      const schema = { type: "object", properties: { mood: { type: "string" } }, required: ["mood"] };
      await using made = await bench(
        [
          { id: "said", tool: "say", params: { text: "sunshine" } },
          { id: "report", model: "default", prompt: "Write a report." },
          { id: "mood", model: "default", prompt: "Which mood has ${steps.report}?", schema },
        ],
        { items: [say.tool], delegate: agent({ defaultModel: model }) },
      );
      expect(await made.run()).toEqual({ mood: "good" });
      expect(seen[0]).toMatch(/Write a report.*sunshine/s);
      expect(seen[1]).toContain("Which mood has It is fine.?");
      expect(seen[1]).not.toContain("sunshine");
    },
  );

  verifies("W3", "uses the model of the caller without an agent, and has its fallback run without that", async () => {
    const step = { id: "report", model: "default", prompt: "Write." };
    await using made = await bench([{ ...step, fallback: { value: "plain" } }]);
    expect(await made.run()).toBe("plain");
    const sample = async () => ({ role: "assistant", content: { type: "text", text: "sampled" }, model: "m" }) as const;
    const content = await made.toolkit.call("workflow.test", {}, { session: { id: "s", sample } });
    expect(await content.text()).toBe("sampled");
  });
});

describe("a step that runs a prompt", () => {
  verifies("W3", "has its answer as the result", async () => {
    const model = scriptedModel(["Hello."]);
    const greet = parsePrompt("---\nname: greet\n---\nGreet {{name}}.");
    const run = { id: "greeting", run: "greet", params: { name: "${input.name}" } };
    await using made = await bench([run], { items: [greet], delegate: agent({ defaultModel: model }) });
    expect(await made.run({ name: "Ada" })).toBe("Hello.");
    expect(JSON.stringify(model.requests)).toContain("Greet Ada.");
  });
});

describe("a workflow that is a prompt", () => {
  verifies("W3", "is run when it is called, and when it is rendered", async () => {
    const say = counted("say");
    const steps = [{ id: "said", tool: "say", params: { text: "${input.word}" } }];
    await using made = await bench([flow(steps, { expose: "prompt" })], { items: [say.tool] });
    expect((await made.toolkit.list({ namespace: "workflow" })).entries.map(({ kind }) => kind)).toEqual(["prompt"]);
    expect(await made.run({ word: "called" })).toBe("called");
    const { messages } = await made.toolkit.render("workflow.test", { word: "rendered" });
    expect(await messages[0]?.content[0]?.text()).toBe("rendered");
  });
});

describe("the annotations of a workflow", () => {
  const tool = (name: string, annotations: object) => defineTool({ name, annotations, run: () => name });
  const calls = (name: string, ...tools: readonly string[]) =>
    defineWorkflow({ name, description: name, steps: tools.map((each, at) => ({ id: `s${at}`, tool: each })) });

  verifies("W3", "are never safer than those of its steps, also as tools come and go", async () => {
    const flows = workflows([
      calls("reads", "look"),
      calls("inner", "workflow.reads"),
      calls("writes", "look", "set"),
      calls("breaks", "look", "drop"),
      calls("lacks", "look", "absent"),
      { ...calls("hides", "look"), steps: [{ id: "a", tool: "look", fallback: [{ id: "b", tool: "drop" }] }] },
    ]);
    const local = { openWorldHint: false };
    const items = [
      tool("look", { readOnlyHint: true, ...local }),
      tool("set", { readOnlyHint: false, destructiveHint: false, idempotentHint: true, ...local }),
      tool("drop", {}),
    ];
    await using toolkit = new Toolkit({ items, delegate: flows });
    toolkit.addSource("workflow", flows);
    await toolkit.start();
    const hints = async (name: string) => {
      const { item } = await toolkit.lookup(`workflow.${name}`, { kind: "tool" });
      return item.annotations;
    };
    const safe = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
    const unsafe = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
    await eventually(async () => ((await hints("reads"))?.readOnlyHint === true ? true : undefined));
    expect(await hints("reads")).toEqual(safe);
    expect(await hints("inner")).toEqual(safe);
    expect(await hints("writes")).toEqual({ ...unsafe, destructiveHint: false, openWorldHint: false });
    for (const name of ["breaks", "lacks", "hides"]) expect(await hints(name)).toEqual(unsafe);
    toolkit.add(tool("absent", { readOnlyHint: true, ...local }));
    await eventually(async () => ((await hints("lacks"))?.readOnlyHint === true ? true : undefined));
    toolkit.remove("look");
    await eventually(async () => ((await hints("reads"))?.readOnlyHint === false ? true : undefined));
  });
});

describe("a run that cannot go on elsewhere", () => {
  verifies(["W3", "H2"], "since it was called through a view goes on in it, and sees no more than that", async () => {
    const pay = counted("pay", { options: { needsApproval: true } });
    const hidden = counted("hidden");
    const steps = [{ id: "payment", tool: "pay" }, { id: "next", tool: "hidden", onError: "continue" } as const];
    await using made = await bench(steps, { items: [pay.tool, hidden.tool] });
    const view = made.toolkit.view({ exclude: ["builtin.hidden"] });
    // A tool that a view hides is named before anything runs.
    await expect(view.call("workflow.test", {})).rejects.toMatchObject({ code: "INVALID_WORKFLOW" });
    const whole = made.toolkit.view({ include: ["workflow.*", "builtin.*"] });
    const pending: unknown = await whole.call("workflow.test", {}).catch((error: unknown) => error);
    if (!ToolkitError.is(pending, "PENDING")) throw pending;
    const [waiting] = await made.flows.runs();
    expect(waiting).toMatchObject({ isLocal: true, status: "waiting" });
    const answer = made.toolkit.approvals.wait(pending.details.id);
    await made.toolkit.approvals.resolve(waiting?.waitsFor[0]?.id ?? "", { approved: true });
    expect(await resultIn(await answer)).toBe("hidden");
    expect(pay.calls).toEqual(["pay"]);
  });
});

describe("workflows without a toolkit that keeps their runs", () => {
  verifies("W3", "run as a source alone: what needs approval fails its step", async () => {
    const pay = counted("pay", { options: { needsApproval: true } });
    const flows = workflows([flow([{ id: "payment", tool: "pay" }])]);
    await using toolkit = new Toolkit({ items: [pay.tool] });
    toolkit.addSource("workflow", flows);
    await expect(toolkit.call("workflow.test", {})).rejects.toMatchObject({
      code: "STEP_FAILED",
      details: { cause: { code: "PENDING" } },
    });
    expect(await flows.runs()).toEqual([]);
  });

  verifies("W3", "refuse options there are not, or out of their range", () => {
    expect(() => workflows([], { leaseMs: 0 })).toThrow(/leaseMs/);
    expect(() => workflows([], { leases: 1 } as never)).toThrow(/leases/);
  });
});
