import { describe, expect } from "vitest";
import type { ElicitRequest, SampleRequest } from "../../src/core/interaction.ts";
import type { Session } from "../../src/core/session.ts";
import { defineTool, parsePrompt, resource } from "../../src/index.ts";
import { type FaultyServer, faultyServer, type ScriptedToolCall } from "../../src/testing/index.ts";
import { everything } from "../e2e/support.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { faultsOf, resultsIn, type Served, type ServedOptions, serve, toldIn } from "./support.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const image = { type: "image", data: png.toString("base64"), mimeType: "image/png" };
const object = { type: "object" };

function farServer(): FaultyServer {
  return faultyServer({
    name: "far",
    tools: {
      fails: { run: () => ({ isError: true, content: [{ type: "text", text: "The disk is full." }] }) },
      fails_with_image: {
        run: () => ({ isError: true, content: [{ type: "text", text: "It looks so:" }, image] }),
      },
      fails_with_structure: {
        run: () => ({ isError: true, content: [], structuredContent: { reason: "quota" } }),
      },
      structured: {
        outputSchema: object,
        run: () => ({ content: [{ type: "text", text: '{"degrees":21}' }], structuredContent: { degrees: 21 } }),
      },
      pictured: {
        run: () => ({ content: [{ type: "text", text: "before" }, image, { type: "text", text: "after" }] }),
      },
      structured_and_pictured: {
        outputSchema: object,
        run: () => ({ content: [{ type: "text", text: '{"n":1}' }, image], structuredContent: { n: 1 } }),
      },
      nothing: { run: () => ({ content: [] }) },
      linked: { run: () => ({ content: [{ type: "resource_link", uri: "memo://one", name: "one" }] }) },
      seen: {
        run: (_input, { request }) => request("elicitation/create", ask).then((answer) => JSON.stringify(answer)),
      },
      sampled: {
        run: (_input, { request }) =>
          request("sampling/createMessage", sample).then((answer) => JSON.stringify(answer)),
      },
    },
  });
}
const form = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] } as const;
const ask = { message: "Age?", requestedSchema: form };
const said = { role: "user", content: { type: "text", text: "Hello" } } as const;
const sample = { messages: [said], maxTokens: 9 };

/** A run whose model makes one call of the server; `look` is what it was told. */
async function withFar(
  calls: readonly ScriptedToolCall[],
  look: (served: Served) => unknown,
  options: ServedOptions = {},
) {
  await using server = farServer();
  await using served = serve([{ toolCalls: calls }, "done"], [], options);
  served.toolkit.addConnector(server.connector(), { namespace: "far" });
  await served.toolkit.start();
  await look(served);
}

describe("what the tool of a server gives is told to the model", () => {
  const file = { type: "file", mediaType: "image/png", data: { type: "data", data: image.data } };
  const rows: readonly (readonly [name: string, status: string, output: unknown])[] = [
    ["fails", "failed", { type: "error-text", value: expect.stringMatching(/TOOL_FAILED.*The disk is full\./s) }],
    ["fails_with_image", "failed", { type: "error-text", value: expect.stringContaining("It looks so:") }],
    ["fails_with_structure", "failed", { type: "error-text", value: expect.stringContaining("quota") }],
    ["structured", "ok", { type: "json", value: { degrees: 21 } }],
    ["pictured", "ok", { type: "content", value: [{ text: "before" }, file, { text: "after" }] }],
    ["structured_and_pictured", "ok", { type: "content", value: [{ text: '{"n":1}' }, file] }],
    ["nothing", "ok", { type: "text", value: expect.stringMatching(/Done|empty/) }],
    ["linked", "ok", { type: "text", value: expect.stringContaining("memo://one") }],
  ];
  for (const [name, status, output] of rows) {
    verifies(["A4", "C4"], name, async () => {
      const calls = [{ name: `far__${name}` }];
      await withFar(calls, async ({ assistant, model }) => {
        const answer = await assistant.generate("Go.", { tools: ["far.*"] });
        const [, second] = model.requests;
        expect(resultsIn(second)[0]?.output).toMatchObject(output as object);
        expect(faultsOf(second?.prompt ?? [])).toEqual([]);
        expect(answer.meta?.toolCalls).toMatchObject([{ name: `far__${name}`, ref: `far.${name}`, status }]);
      });
    });
  }

  verifies(["A4", "M1"], "of the server everybody knows too, in a process of its own", async () => {
    const toolCalls = [
      { name: "everything__get-tiny-image" },
      { name: "everything__get-structured-content", input: { location: "Chicago" } },
      { name: "everything__echo", input: {} },
    ];
    await using served = serve([{ toolCalls }, "done"]);
    const target = { command: process.execPath, args: [everything, "stdio"] };
    served.toolkit.addConnector(target, { namespace: "everything" });
    await served.toolkit.start();
    const answer = await served.assistant.generate("Go.", { tools: ["everything.*"] });
    const [picture, structured, wrong] = resultsIn(served.model.requests[1]).map(({ output }) => output);
    expect(picture).toMatchObject({
      type: "content",
      value: [{ type: "text" }, { mediaType: "image/png" }, { type: "text" }],
    });
    expect(structured).toMatchObject({ type: "json", value: { conditions: expect.any(String) } });
    expect(wrong).toMatchObject({ type: "error-text", value: expect.stringContaining("INVALID_INPUT") });
    expect(answer.meta?.toolCalls).toMatchObject([{ status: "ok" }, { status: "ok" }, { status: "failed" }]);
  });
});

describe("attachments", () => {
  verifies(["A2", "C14"], "of a call reach the model of its prompt, and no tool the model calls", async () => {
    const given: unknown[] = [];
    const look = defineTool({ name: "look", run: (_input, { attachments }) => given.push(attachments.length) });
    const prompt = parsePrompt("---\nname: asks\ntools: [look, 'far.*']\n---\nHello");
    await using server = farServer();
    await using served = serve(
      [{ toolCalls: [{ name: "look" }, { name: "far__structured" }] }, "done"],
      [look, prompt],
    );
    served.toolkit.addConnector(server.connector(), { namespace: "far" });
    await served.toolkit.start();
    const attachments = [resource.text("note", "Remember.")];
    const answer = await served.toolkit.call("asks", {}, { attachments });
    expect(JSON.stringify(served.model.requests[0]?.prompt)).toContain("Remember.");
    expect(given).toEqual([0]);
    expect(answer.meta?.toolCalls).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  });

  verifies("C14", "of a call to the tool of a server are INVALID_INPUT, and nothing is sent", async () => {
    await withFar([], async ({ toolkit, model }) => {
      const attachments = [resource.text("note", "Remember.")];
      const error = await failure(toolkit.call("far.structured", {}, { attachments }));
      expect(error).toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining("attachments") });
      expect(model.requests).toEqual([]);
    });
  });

  verifies(["A2", "C14"], "of a call to the prompt of a server are attached to its message", async () => {
    await using server = faultyServer({ name: "far" });
    await using served = serve(["done"]);
    served.toolkit.addConnector(server.connector(), { namespace: "far" });
    await served.toolkit.start();
    const attachments = [resource.text("note", "Remember.")];
    await served.toolkit.call("far.greet", { name: "Ann" }, { attachments });
    expect(served.model.requests[0]?.prompt).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Greet Ann." },
          { type: "text", text: '<attachment name="note" type="text/plain">\nRemember.\n</attachment>' },
        ],
      },
    ]);
  });
});

describe("what a tool asks inside a run goes to whoever called it", () => {
  const asked: (ElicitRequest | SampleRequest)[] = [];
  const caller: Session = {
    id: "ann",
    elicit: async (request) => {
      asked.push(request);
      return { action: "accept", content: { age: 42 } };
    },
    sample: async (request) => {
      asked.push(request);
      return { role: "assistant", content: { type: "text", text: "Hi" }, model: "ann's" };
    },
  };
  const local = [
    defineTool({ name: "seen", run: async (_input, context) => (await context.elicit("Age?", form)).content }),
    defineTool({ name: "sampled", run: async (_input, context) => (await context.sample(sample)).model }),
    parsePrompt("---\nname: inner\ntools: [seen, sampled, 'far.*']\n---\nI am inner."),
  ];
  const rows = [
    ["seen", /42/, { message: "Age?" }],
    ["sampled", /ann's/, { maxTokens: 9 }],
    ["far__seen", /42/, { message: "Age?" }],
    ["far__sampled", /ann's/, { maxTokens: 9 }],
  ] as const;
  for (const [name, answer, request] of rows) {
    verifies(["A2", "M10"], `${name}, of a sub-agent too, though the agent may answer itself`, async () => {
      await using server = farServer();
      asked.length = 0;
      await using served = serve(
        ({ prompt }) => {
          if (prompt.at(-1)?.role === "tool") return "done";
          return { toolCalls: [{ name: JSON.stringify(prompt).includes("I am inner") ? name : "inner" }] };
        },
        local,
        { agent: { sampling: true } },
      );
      served.toolkit.addConnector(server.connector(), { namespace: "far" });
      await served.toolkit.start();
      await served.assistant.generate("Go.", { tools: ["inner"], session: caller });
      expect(toldIn(served.model.requests[2])).toMatch(answer);
      expect(asked).toMatchObject([request]);
    });
  }
});
