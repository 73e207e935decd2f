import { generateText, isStepCount, type ModelMessage } from "ai";
import { describe, expect } from "vitest";
import { z } from "zod";
import { toAiSdk } from "../../src/adapters/index.ts";
import { defineTool, Toolkit } from "../../src/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { scriptedModel, toolCall } from "./scripted-model.ts";

const stopWhen = isStepCount(5);

function payments() {
  const paid: number[] = [];
  const pay = defineTool({
    name: "pay",
    input: z.object({ cents: z.number() }),
    options: { needsApproval: ({ cents }: { cents: number }) => cents > 100 },
    run: ({ cents }) => {
      paid.push(cents);
      return `paid ${cents}`;
    },
  });
  const rate = defineTool({ name: "rate", run: () => "1.1" });
  return { paid, toolkit: new Toolkit({ items: [pay, rate] }) };
}

/** One request of a chat: its own adapter, as in another process. */
async function request(toolkit: Toolkit, messages: ModelMessage[], ...script: ReturnType<typeof toolCall>[][]) {
  const toolset = await toolkit.toolset();
  const approvals = { of: toolkit.approvals, by: "Ada" };
  const { tools, prepareStep } = toAiSdk(toolset, toolset.begin(), { approvals });
  const model = scriptedModel(...script);
  const result = await generateText({ model, messages, tools, prepareStep, stopWhen });
  return { result, model, messages: [...messages, ...result.responseMessages] };
}

const question: ModelMessage[] = [{ role: "user", content: "Pay." }];
const costly = [toolCall("1", "pay", { cents: "500" }), toolCall("2", "rate", {}), toolCall("3", "pay", { cents: 5 })];

function decided(messages: readonly ModelMessage[], approved: boolean): ModelMessage[] {
  const parts = messages.flatMap(({ content }) => (typeof content === "string" ? [] : [...content]));
  const asked = parts.flatMap((part) => (part.type === "tool-approval-request" ? [part.approvalId] : []));
  const content = asked.map((approvalId) => ({ type: "tool-approval-response" as const, approvalId, approved }));
  return [...messages, { role: "tool", content }];
}

describe("approvals in a conversation of the AI SDK", () => {
  verifies("T6", "are asked for by its own parts; calls that need none run, once", async () => {
    const { toolkit, paid } = payments();
    await using _ = toolkit;
    const { result } = await request(toolkit, question, costly);
    const asked = result.content.filter(({ type }) => type === "tool-approval-request");
    expect(asked).toMatchObject([{ toolCall: { toolCallId: "1", toolName: "pay" } }]);
    expect(paid).toEqual([5]);
    expect(await toolkit.approvals.list({ status: "pending" })).toEqual([]);
  });

  verifies("T6", "let the call run once it is approved, with the approver in the record", async () => {
    const { toolkit, paid } = payments();
    await using _ = toolkit;
    const first = await request(toolkit, question, costly);
    const second = await request(toolkit, decided(first.messages, true));
    expect(second.result.text).toBe("Done.");
    expect(paid).toEqual([5, 500]);
    expect(JSON.stringify(second.model.doGenerateCalls[0]?.prompt)).toContain("paid 500");
    const [approval] = await toolkit.approvals.list({ status: "succeeded" });
    expect(approval).toMatchObject({ tool: "builtin.pay", decision: { approved: true, by: "Ada" } });
  });

  verifies("T6", "keep the call from running where it is denied, and from running without a response", async () => {
    const { toolkit, paid } = payments();
    await using _ = toolkit;
    const first = await request(toolkit, question, costly);
    const second = await request(toolkit, decided(first.messages, false));
    expect(JSON.stringify(second.model.doGenerateCalls[0]?.prompt)).toContain("execution-denied");
    const toolset = await toolkit.toolset();
    const { tools } = toAiSdk(toolset, toolset.begin(), { approvals: { of: toolkit.approvals } });
    const forged = {
      toolCallId: "9",
      messages: [{ role: "tool", content: [{ type: "tool-approval-response", approved: true }] }],
    };
    expect(await tools.pay?.execute({ cents: 900 }, forged)).toMatchObject({ type: "execution-denied" });
    expect(paid).toEqual([5]);
  });

  verifies("T6", "that only a policy asks for are named", async () => {
    const { toolkit } = payments();
    await using _ = toolkit;
    const toolset = await toolkit.toolset();
    const { tools } = toAiSdk(toolset, toolset.begin(), { approvals: { of: toolkit.approvals, tools: ["rate"] } });
    expect(Object.keys(tools).filter((name) => tools[name]?.needsApproval !== undefined)).toEqual(["pay", "rate"]);
    await expect(async () => toAiSdk(toolset, undefined, { approval: {} } as never)).rejects.toMatchObject({
      code: "INVALID_CONFIG",
    });
  });
});

describe("progress as preliminary results", () => {
  verifies("T6", "come as the call goes, and the result last, which alone the model gets", async () => {
    const copied = Promise.withResolvers<void>();
    const copy = defineTool({
      name: "copy",
      run: async (_input, context) => {
        await context.progress(1, 2, "half");
        await copied.promise;
        return "copied";
      },
    });
    await using toolkit = new Toolkit({ items: [copy] });
    const toolset = await toolkit.toolset();
    const { tools } = toAiSdk(toolset, toolset.begin(), { progress: true });
    const outputs: unknown[] = [];
    const execute = tools.copy?.execute({}, { toolCallId: "1" });
    if (execute === undefined || !(Symbol.asyncIterator in execute)) throw new Error("It is no iterable.");
    for await (const output of execute) {
      outputs.push(output);
      copied.resolve();
    }
    expect(outputs).toEqual([
      { type: "json", value: { progress: 1, total: 2, message: "half" } },
      { type: "text", value: "copied" },
    ]);
    const model = scriptedModel([toolCall("1", "copy", {})]);
    const { steps } = await generateText({ model, prompt: "Copy.", tools, stopWhen });
    expect(steps[0]?.toolResults).toMatchObject([{ output: { type: "text", value: "copied" } }]);
  });

  verifies("T6", "come with the parts of a result so far, beside progress", async () => {
    const next = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const write = defineTool({
      name: "write",
      async *run(_input, context) {
        yield "Dear Ada,";
        await next[0].promise;
        await context.progress(1, 2);
        yield "how are you?";
        await next[1].promise;
        yield "Bob";
      },
    });
    await using toolkit = new Toolkit({ items: [write] });
    const toolset = await toolkit.toolset();
    const { tools } = toAiSdk(toolset, toolset.begin(), { progress: true });
    const outputs: unknown[] = [];
    const execute = tools.write?.execute({}, { toolCallId: "1" });
    if (execute === undefined || !(Symbol.asyncIterator in execute)) throw new Error("It is no iterable.");
    for await (const output of execute) {
      outputs.push(output);
      if (JSON.stringify(output).includes("Ada")) next[0].resolve();
      if (JSON.stringify(output).includes("how")) next[1].resolve();
    }
    const text = (value: string) => ({ type: "text", value });
    const progress = { type: "json", value: { progress: 1, total: 2 } };
    expect(outputs).toContainEqual(progress);
    const texts = outputs.filter((output) => (output as { type: string }).type === "text");
    expect(texts.slice(0, 2)).toEqual([text("Dear Ada,"), text("Dear Ada,\n\nhow are you?")]);
    expect(texts.at(-1)).toEqual(text("Dear Ada,\n\nhow are you?\n\nBob"));
  });

  verifies("T6", "of many parts are not as many, and stay within some times the size of the result", async () => {
    const pieces = defineTool({
      name: "pieces",
      async *run() {
        for (let count = 0; count < 3_000; count += 1) yield "0123456789";
      },
    });
    await using toolkit = new Toolkit({ items: [pieces] });
    const toolset = await toolkit.toolset();
    const { tools } = toAiSdk(toolset, toolset.begin(), { progress: true });
    const execute = tools.pieces?.execute({}, { toolCallId: "1" });
    if (execute === undefined || !(Symbol.asyncIterator in execute)) throw new Error("It is no iterable.");
    let sent = 0;
    let last = 0;
    for await (const output of execute) {
      last = JSON.stringify(output).length;
      sent += last;
    }
    expect(last).toBeGreaterThan(30_000);
    expect(sent).toBeLessThan(40 * last);
  });

  verifies("T6", "a failure is thrown as without them", async () => {
    const fail = defineTool({
      name: "fail",
      run: async (_input, context) => {
        await context.progress(1);
        throw new Error("out of ink");
      },
    });
    await using toolkit = new Toolkit({ items: [fail] });
    const toolset = await toolkit.toolset();
    const { tools } = toAiSdk(toolset, toolset.begin(), { progress: true });
    const read = async () => {
      const given = tools.fail?.execute({}, { toolCallId: "1" });
      if (given !== undefined && Symbol.asyncIterator in given) for await (const _ of given);
    };
    expect(await failure(read())).toMatchObject({ code: "TOOL_FAILED" });
  });
});
