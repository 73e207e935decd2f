import { describe, expect } from "vitest";
import { defineTool, parsePrompt, type Resource, resource } from "../../src/index.ts";
import type { ModelRequest, ScriptedStep } from "../../src/testing/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { serve, toldIn } from "./support.ts";

const forecast = defineTool({ name: "forecast", run: () => "sunny" });
const other = defineTool({ name: "other", run: () => "other" });
const helper = parsePrompt("---\nname: helper\ndescription: Helps.\n---\nI help.");
const namesIn = ({ tools = [] }: ModelRequest) => tools.map(({ name }) => name);

describe("what the front matter says is what the model is asked", () => {
  const rows: readonly (readonly [
    field: string,
    lines: string,
    asked: (request: ModelRequest) => unknown,
    expected: unknown,
  ])[] = [
    [
      "nothing",
      "",
      ({ prompt, tools }) => ({ prompt, tools }),
      {
        prompt: [{ role: "user", content: [{ type: "text", text: "Hello Ann" }] }],
        tools: undefined,
      },
    ],
    [
      "system_prompt",
      "system_prompt: Be kind to {{who}}.",
      ({ prompt }) => prompt[0],
      { role: "system", content: "Be kind to Ann." },
    ],
    ["temperature", "settings: { temperature: 0.3 }", ({ temperature }) => temperature, 0.3],
    ["max_output_tokens", "settings: { max_output_tokens: 99 }", ({ maxOutputTokens }) => maxOutputTokens, 99],
    ["top_p", "settings: { top_p: 0.5 }", ({ topP }) => topP, 0.5],
    ["thinking", "thinking: true", ({ reasoning }) => reasoning, "medium"],
    ["thinking: false", "thinking: false", ({ reasoning }) => reasoning, "none"],
    ["thinking_budget", "thinking_budget: 2000", ({ reasoning }) => reasoning, "low"],
    ["tools by name", "tools: [forecast]", namesIn, ["forecast"]],
    ["tools by ref", "tools: [builtin.other]", namesIn, ["other"]],
    ["tools by glob", "tools: ['builtin.f*']", namesIn, ["forecast"]],
    ["tools by a glob that fits the prompt itself", "tools: ['*']", namesIn, ["forecast", "other", "helper"]],
    ["a prompt as a tool", "tools: [helper]", namesIn, ["helper"]],
    ["no tools", "tools: []", namesIn, []],
    [
      "output without tools",
      "output: { type: object, properties: { n: { type: number } }, required: [n] }",
      ({ responseFormat, tools }) => ({ responseFormat, tools }),
      { responseFormat: { type: "json", name: "asks", schema: { type: "object", required: ["n"] } }, tools: undefined },
    ],
    [
      "output with tools",
      "tools: [forecast]\noutput: { type: object, properties: { n: { type: number } }, required: [n] }",
      (request) => ({ names: namesIn(request), format: request.responseFormat, system: request.prompt[0]?.content }),
      {
        names: ["forecast", "submit_output"],
        format: undefined,
        system: expect.stringContaining("submit_output"),
      },
    ],
  ];
  for (const [field, lines, asked, expected] of rows) {
    verifies("A2", field, async () => {
      const prompt = parsePrompt(`---\nname: asks\n${lines}\n---\nHello {{who}}`);
      const answer: ScriptedStep =
        field === "output with tools"
          ? { toolCalls: [{ name: "submit_output", input: { n: 1 } }] }
          : { text: '{"n":1}' };
      await using served = serve([answer], [forecast, other, helper, prompt]);
      await served.toolkit.call("asks", { who: "Ann" });
      const [request] = served.model.requests;
      if (request === undefined) throw new Error("The model was not asked.");
      const actual = asked(request);
      if (Array.isArray(expected) || typeof expected !== "object") expect(actual).toEqual(expected);
      else expect(actual).toMatchObject(expected as object);
    });
  }

  const shared: readonly (readonly [what: string, tools: string, names: readonly unknown[], called: string])[] = [
    ["a name is the tool", "[forecast]", ["forecast"], "sunny"],
    ["a ref is the tool", "[builtin.forecast]", ["forecast"], "sunny"],
    ["a glob is the tool, and not the prompt itself", "['fore*']", ["forecast"], "sunny"],
    ["a glob of another prompt is both", "['fore*']", ["forecast", expect.stringMatching(/^forecast_/)], "sunny"],
    ["a name and a glob are the tool once", "[forecast, '*cast']", ["forecast"], "sunny"],
  ];
  for (const [what, tools, names, called] of shared) {
    verifies("A2", `of a tool and a prompt of one ref ${what}`, async () => {
      const isOther = what.includes("another");
      const prompt = parsePrompt(`---\nname: forecast\n${isOther ? "" : `tools: ${tools}\n`}---\nHello`);
      const outer = parsePrompt(`---\nname: asks\ntools: ${tools}\n---\nHello`);
      await using served = serve([{ toolCalls: [{ name: "forecast" }] }, "done"], [forecast, prompt, outer]);
      await served.toolkit.call(await served.toolkit.lookup(isOther ? "asks" : "forecast", { kind: "prompt" }));
      const [first, second] = served.model.requests;
      expect(namesIn(first as ModelRequest)).toEqual([...names]);
      expect(toldIn(second)).toBe(called);
    });
  }

  verifies(["A2", "C11"], "a prompt may name itself, where no tool has its name", async () => {
    const prompt = parsePrompt("---\nname: asks\ntools: [asks, 'f*']\n---\nHello");
    await using served = serve([{ toolCalls: [{ name: "asks" }] }, "inner", "outer"], [forecast, prompt]);
    expect(await (await served.toolkit.call("asks")).text()).toBe("outer");
    for (const request of served.model.requests) expect(namesIn(request)).toEqual(["forecast", "asks"]);
  });

  verifies(["A1", "A2"], "model and provider choose who is asked", async () => {
    for (const lines of ["model: big", "model: acme/big", "provider: acme\nmodel: big"]) {
      const prompt = parsePrompt(`---\nname: asks\n${lines}\n---\nHello`);
      const model = scriptedModel(["big"], { provider: "acme", modelId: "big" });
      await using served = serve([], [prompt], { agent: { models: { "acme/big": model } } });
      const answer = await served.toolkit.call("asks");
      expect(answer.meta).toMatchObject({ model: "acme/big" });
      expect(served.model.requests).toEqual([]);
    }
  });

  verifies("A2", "a tool there is not is told before the model is asked", async () => {
    const prompt = parsePrompt("---\nname: asks\ntools: [forcast]\n---\nHello");
    await using served = serve([], [forecast, prompt]);
    expect((await failure(served.toolkit.call("asks"))).message).toMatch(/forecast/);
  });

  verifies("A2", "a prompt that renders to nothing is told, and no model is asked", async () => {
    const prompt = parsePrompt("---\nname: asks\n---\n{{#if who}}Hello{{/if}}");
    await using served = serve([], [prompt]);
    expect(await failure(served.toolkit.call("asks"))).toMatchObject({ code: "INVALID_INPUT" });
    expect(await failure(served.assistant.generate("", { toolbox: served.toolkit }))).toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(served.model.requests).toEqual([]);
  });
});

describe("attachments", () => {
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
  const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  const pdf = new TextEncoder().encode("%PDF-1.7\n%âãÏÓ\n");
  const wav = new TextEncoder().encode("RIFF\u0024\u0000\u0000\u0000WAVEfmt ");
  const odd = Uint8Array.from([0, 255, 254, 0, 1, 2, 0xc3, 0x28, 0, 0]);
  const file = (mediaType: string, bytes: Uint8Array) => ({
    type: "file",
    mediaType: expect.stringMatching(mediaType),
    filename: "a",
    data: { type: "data", data: base64(bytes) },
  });
  const text = (type: string, said: string) => ({
    type: "text",
    text: `<attachment name="a" type="${type}">\n${said}\n</attachment>`,
  });
  const rows: readonly (readonly [string, () => Resource | Promise<Resource>, unknown])[] = [
    ["a text", () => resource.text("a", "漢字"), text("text/plain", "漢字")],
    ["an empty text", () => resource.text("a", ""), text("text/plain", "")],
    ["JSON", () => resource.json("a", { n: 1 }), text("application/json", '{"n":1}')],
    ["an image", () => resource.data("a", png), file("^image/png$", png)],
    ["a PDF", () => resource.data("a", pdf), file("^application/pdf$", pdf)],
    ["audio", () => resource.data("a", wav), file("^audio/", wav)],
    ["bytes of no known type", () => resource.data("a", odd), file("^application/octet-stream$", odd)],
    ["a long text", () => resource.text("a", "x".repeat(3_000_000)), text("text/plain", "x".repeat(3_000_000))],
  ];
  for (const [what, attachment, part] of rows) {
    verifies(["A2", "A8", "C14"], `${what} is told after the text, of a prompt and of generate alike`, async () => {
      const prompt = parsePrompt("---\nname: asks\n---\nHello");
      await using served = serve(["done", "done"], [prompt]);
      const attachments = [await attachment()];
      await served.toolkit.call("asks", {}, { attachments });
      await served.assistant.generate("Hello", { attachments });
      for (const { prompt: messages } of served.model.requests)
        expect(messages).toEqual([{ role: "user", content: [{ type: "text", text: "Hello" }, part] }]);
      expect(served.model.requests).toHaveLength(2);
    });
  }

  verifies("C14", "keep their order", async () => {
    await using served = serve(["done"]);
    const attachments = ["a1", "a2", "a3"].map((each) => resource.text(each, each));
    await served.assistant.generate("Hello", { attachments });
    const content = served.model.requests[0]?.prompt[0]?.content;
    expect(JSON.stringify(content)).toMatch(/Hello.*a1.*a2.*a3/s);
  });

  verifies(["A2", "C14"], "that cannot be read end the run before a model is asked", async () => {
    await using served = serve([]);
    const gone = await resource.read("/nowhere/gone.txt").catch((error: unknown) => error);
    const attachments = gone instanceof Error ? [] : [gone as Resource];
    if (gone instanceof Error) expect(gone.message).toMatch(/gone\.txt/);
    else expect((await failure(served.assistant.generate("Hello", { attachments }))).message).toMatch(/gone\.txt/);
    expect(served.model.requests).toEqual([]);
  });
});

describe("why a model stopped", () => {
  const submit: ScriptedStep = { toolCalls: [{ name: "submit_output", input: { n: 1 } }] };
  const output = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
  const reasons = ["stop", "length", "tool-calls", "other", "content-filter", "error", "interrupted"] as const;
  const isAnswer = (reason: string) => !["content-filter", "error", "interrupted"].includes(reason);
  for (const finishReason of reasons) {
    const end = isAnswer(finishReason) ? "an answer" : "MODEL_FAILED";
    verifies(["A2", "A5"], `${finishReason}, with a text: ${end}`, async () => {
      await using served = serve([{ text: "hello", finishReason }], [], { agent: { modelAttempts: 1 } });
      const run = served.assistant.generate("Go.");
      if (!isAnswer(finishReason)) return expect(await failure(run)).toMatchObject({ code: "MODEL_FAILED" });
      const answer = await run;
      expect(await answer.text()).toBe("hello");
      expect(answer.meta).toMatchObject({ finishReason });
    });

    verifies(["A2", "A3"], `${finishReason}, with a structured answer: ${end}`, async () => {
      for (const tools of [[], ["forecast"]]) {
        const step = tools.length > 0 ? submit : { text: '{"n":1}' };
        await using served = serve([{ ...step, finishReason }], [forecast], { agent: { modelAttempts: 1 } });
        const run = served.assistant.generate("Go.", { output, tools });
        if (isAnswer(finishReason)) expect(await (await run).json()).toEqual({ n: 1 });
        else expect(await failure(run)).toMatchObject({ code: "MODEL_FAILED" });
      }
    });

    verifies(
      "A2",
      `${finishReason}, with calls: ${isAnswer(finishReason) ? "they are made" : "MODEL_FAILED"}`,
      async () => {
        const step = { toolCalls: [{ name: "forecast" }], finishReason };
        await using served = serve([step, "done"], [forecast], { agent: { modelAttempts: 1 } });
        const run = served.assistant.generate("Go.", { tools: ["forecast"] });
        if (isAnswer(finishReason)) expect((await run).meta).toMatchObject({ toolCalls: [{ status: "ok" }] });
        else expect(await failure(run)).toMatchObject({ code: "MODEL_FAILED" });
      },
    );
  }
});
