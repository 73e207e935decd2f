import { describe, expect } from "vitest";
import { z } from "zod";
import type { Prompt, Tool } from "../../src/core/item.ts";
import type { Middleware } from "../../src/core/middleware.ts";
import type { PolicyRequest } from "../../src/core/policy.ts";
import type { JsonSchema, TypedSchema } from "../../src/core/schema/types.ts";
import { defineTool } from "../../src/core/tool.ts";
import { defineResource } from "../../src/resource/define.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const described: JsonSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };

/** A schema that notes when it validates, and makes a text of a number. */
function noting(steps: unknown[]): TypedSchema<{ n: number }, { n: string }> {
  const jsonSchema = { input: () => described, output: () => described };
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      jsonSchema,
      validate: (value) => {
        steps.push("validate");
        const { n } = value as { n: unknown };
        return typeof n === "number" ? { value: { n: `${n}` } } : { issues: [{ message: "n is a number" }] };
      },
    },
  };
}

/** A toolkit in which every step notes that it was passed. */
function noted() {
  const steps: unknown[] = [];
  const note = (step: string): Middleware => {
    return (call, next) => {
      steps.push(`${step} ${call.verb}`);
      return next(call);
    };
  };
  const input = noting(steps);
  const tool: Tool = defineTool({
    name: "tool",
    input,
    options: {
      needsApproval: (given: unknown) => {
        steps.push(["needsApproval", given]);
        return false;
      },
      cache: {
        ttlMs: 1_000,
        key: (given: unknown) => {
          steps.push(["cache", given]);
          return JSON.stringify(given);
        },
      },
    },
    run: (given) => void steps.push(["run", given]),
  });
  const prompt: Prompt = {
    kind: "prompt",
    name: "prompt",
    input,
    render: async (given) => {
      steps.push(["render", given]);
      return { messages: [{ role: "user", content: [resource.text("q", "Hi.")] }] };
    },
  };
  const memo = defineResource({
    uri: "my:note",
    name: "note",
    bytes: () => {
      steps.push("bytes");
      return "A note.";
    },
  });
  const toolkit = new Toolkit({
    items: [tool, prompt, memo],
    use: [note("first"), note("second")],
    policy: { decide: ({ action, input: given }) => steps.push(["decide", action, given]) > 0 },
    delegate: { runPrompt: async (_entry, given) => void steps.push(["execute", given]) as never },
  });
  return { steps, toolkit };
}

describe("the order of steps", () => {
  verifies("C2", "of a call", async () => {
    const { steps, toolkit } = noted();
    await toolkit.call("tool", { n: 1 });
    const given = { n: 1 };
    const expected = [
      ["decide", "call", given],
      "validate",
      ["needsApproval", given],
      "first call",
      "second call",
      ["cache", given],
      ["run", { n: "1" }],
    ];
    expect(steps).toEqual(expected);
    // A kept answer is behind the user's own steps.
    await toolkit.call("tool", { n: 1 }, { needsApproval: undefined });
    expect(steps.slice(expected.length)).toEqual(expected.slice(0, -1).with(-1, ["cache", given]));
    expect((await toolkit.explain("tool")).steps.map(({ name }) => name)).toEqual([
      "depth",
      "coerce",
      "decide",
      "validateInput",
      "approve",
      "use",
      "cache",
      "timeout",
    ]);
  });

  verifies(
    ["C2", "C5"],
    "coerce stands before decide, which sees the input before its transforms, also when it does not fit",
    async () => {
      const { steps, toolkit } = noted();
      await toolkit.call("tool", { n: "1" }, { coerce: true });
      expect(steps.slice(0, 4)).toEqual([
        "validate",
        "validate",
        ["decide", "call", { n: 1 }],
        ["needsApproval", { n: 1 }],
      ]);
      steps.length = 0;
      expect(await failure(toolkit.call("tool", { n: "many" }, { coerce: true }))).toMatchObject({
        code: "INVALID_INPUT",
      });
      expect(steps).toEqual(["validate", ["decide", "call", { n: "many" }], "validate"]);
      steps.length = 0;
      expect(await failure(toolkit.call("tool", { n: "1" }))).toMatchObject({ code: "INVALID_INPUT" });
      expect(steps).toEqual([["decide", "call", { n: "1" }], "validate"]);
    },
  );

  verifies(["C2", "K3"], "of a render, a read and a subscription", async () => {
    const { steps, toolkit } = noted();
    await toolkit.render("prompt", { n: 2 });
    expect(steps).toEqual([
      ["decide", "render", { n: 2 }],
      "validate",
      "first render",
      "second render",
      ["render", { n: "2" }],
    ]);
    steps.length = 0;
    await toolkit.read("my:note");
    expect(steps).toEqual([["decide", "read", undefined], "first read", "second read", "bytes"]);
    steps.length = 0;
    await (await toolkit.subscribe("my:note"))();
    expect(steps).toEqual([["decide", "read", undefined]]);
  });

  verifies(["C2", "C11"], "depth stands before the rules, and the rules before everything else", async () => {
    const asked: PolicyRequest[] = [];
    const inner = defineTool({ name: "inner", input: z.object({ n: z.number() }), run: () => 1 });
    const outer = defineTool({ name: "outer", run: (_input, { toolbox }) => toolbox.call("inner", { n: "x" }) });
    const plan: Prompt = { kind: "prompt", name: "plan", input: described, render: async () => ({ messages: [] }) };
    const items = [inner, outer, plan, resource.text("note", "hi")];
    const policy = {
      block: ["*.inner", "*.plan", "text:*"],
      decide: (request: PolicyRequest) => asked.push(request) > 0,
    };
    const toolkit = new Toolkit({ items, policy, maxDepth: 0 });
    expect(await failure(toolkit.call("outer"))).toMatchObject({ code: "DEPTH_EXCEEDED" });
    const input = defineResource({ uri: "my:input", name: "input", bytes: () => Promise.reject(new Error("unread")) });
    for (const refused of [
      toolkit.call("inner", { n: "x" }, { coerce: true }),
      toolkit.call("inner", input),
      toolkit.render("plan", {}),
      toolkit.read("text:note"),
    ])
      expect(await failure(refused)).toMatchObject({
        code: "DENIED",
        details: { rule: expect.stringContaining("block") },
      });
    expect(asked.map(({ entry }) => entry.ref)).toEqual(["builtin.outer"]);
    const steps = async (key: string) => (await toolkit.explain(key)).steps.map(({ name }) => name);
    expect(await steps("inner")).toEqual(["depth", "rules", "coerce", "decide", "validateInput", "approve", "timeout"]);
    expect(await steps("plan")).toEqual(["depth", "rules", "coerce", "decide", "validateInput", "approve"]);
  });

  verifies("C2", "a call from outside without options takes fewer steps, to the same answer", async () => {
    const { steps, toolkit } = noted();
    const outer = defineTool({ name: "outer", run: (_input, { toolbox }) => toolbox.call("tool", { n: 3 }) });
    toolkit.add(outer);
    await toolkit.call("tool", { n: 3 });
    const plain = steps.splice(0);
    for (const options of [{ coerce: false }, { bypassCache: true }, { needsApproval: undefined }]) {
      await toolkit.call("tool", { n: 3 }, { ...options, bypassCache: true });
      expect(steps.splice(0).filter((step) => step !== "validate")).toEqual(
        plain.filter((step) => step !== "validate"),
      );
    }
    // Steps that keep something keep it for both.
    await toolkit.call("outer");
    expect(steps.filter((step) => Array.isArray(step) && step[0] === "run")).toEqual([]);
  });
});
