import { expect } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { defineTool, Toolkit } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

verifies("A3", "an answer of a hundred thousand fences is searched for JSON in linear time", async () => {
  const output = { type: "object", required: ["answer"] };
  for (const text of ["```json\n".repeat(100_000), `${"```\n".repeat(100_000)}{}${"\n```".repeat(100_000)}`]) {
    const assistant = agent({ defaultModel: scriptedModel([{ text }]), maxRepairs: 0 });
    await using _toolkit = new Toolkit({ delegate: assistant });
    const before = process.cpuUsage();
    const error = await failure(assistant.generate("Which?", { output }));
    const { user } = process.cpuUsage(before);
    expect(error).toMatchObject({ code: "INVALID_OUTPUT", details: { issues: [{ pointer: "" }] } });
    expect(user / 1_000).toBeLessThan(1_000);
  }
});

verifies("A2", "arguments that are nested a hundred thousand deep fail their call alone", async () => {
  const input = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const model = scriptedModel([
    {
      toolCalls: [
        { name: "note", input: `{"list":${input}}` },
        { name: "note", input: { list: [] } },
      ],
    },
    { text: "Noted." },
  ]);
  const assistant = agent({ defaultModel: model });
  const note = defineTool({ name: "note", input: { type: "object" }, run: () => "done" });
  await using _toolkit = new Toolkit({ items: [note], delegate: assistant });
  const answer = await assistant.generate("Note it.", { tools: ["note"] });
  expect(await answer.text()).toBe("Noted.");
  const results = JSON.stringify(model.requests[1]?.prompt.at(-1));
  expect(results).toContain("they are nested deeper than 256 levels");
  expect(results).toContain("done");
});

verifies("A3", "an answer with 20,000 tool calls is refused as a whole, in bounded time", async () => {
  const toolCalls = Array.from({ length: 20_000 }, (_, at) => ({ name: "note", input: { at } }));
  const model = scriptedModel([
    { text: "All at once.", toolCalls },
    { toolCalls: toolCalls.slice(0, 2) },
    { text: "Noted." },
  ]);
  const assistant = agent({ defaultModel: model });
  let calls = 0;
  const note = defineTool({ name: "note", input: { type: "object" }, run: () => `noted ${++calls}` });
  await using _toolkit = new Toolkit({ items: [note], delegate: assistant });
  const before = process.cpuUsage();
  const answer = await assistant.generate("Note it.", { tools: ["note"] });
  const { user } = process.cpuUsage(before);
  expect(await answer.text()).toBe("Noted.");
  expect(calls).toBe(2);
  expect(user / 1_000).toBeLessThan(1_000);
  const [, said, refused] = model.requests[1]?.prompt ?? [];
  expect(said).toMatchObject({ role: "assistant", content: [{ type: "text", text: "All at once." }] });
  expect(JSON.stringify(refused)).toContain("Your answer had 20000 tool calls, and may have 128 at most.");
});
