// Where `@ai-sdk/anthropic` is right, our model sends the same request and gives the same parts.
import { createAnthropic } from "@ai-sdk/anthropic";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import fc from "fast-check";
import { expect } from "vitest";
import { verifies } from "../../support/verifies.ts";
import { begin, block, called, ending, event, messagePartsOf, messagesModel } from "./messages-support.ts";
import { hello, json, type WireServer, wireServer } from "./support.ts";

function theirs({ url }: WireServer, modelId = "claude-sonnet-4-5"): LanguageModelV4 {
  return createAnthropic({ baseURL: url, apiKey: "k", headers: { "X-Team": "a" } })(modelId);
}

/** The parts of a stream, without what is not promised: ids of pieces, empty deltas, metadata of the end, and what else the package counts. */
async function shown(model: LanguageModelV4): Promise<unknown[]> {
  const all: Record<string, unknown>[] = [];
  const signatures: unknown[] = [];
  for (const part of await messagePartsOf(model)) {
    if (part.type === "custom") continue;
    const each: Record<string, unknown> = { ...part };
    if (/^(text|reasoning)-/.test(part.type)) delete each.id;
    // The package gives signatures in a delta, ours at the end.
    if (part.type.startsWith("reasoning") && "providerMetadata" in part) {
      signatures.push(part.providerMetadata);
      delete each.providerMetadata;
    }
    if (part.type === "finish") {
      delete each.providerMetadata;
      each.usage = { ...part.usage, raw: undefined };
    }
    if ("delta" in part && part.delta === "") continue;
    const last = all.at(-1);
    if ("delta" in part && last !== undefined && last.type === each.type && last.id === each.id)
      last.delta = `${last.delta}${part.delta}`;
    else all.push(each);
  }
  return [...all, signatures];
}

const word = fc.constantFrom("Bern ", "Zürich", "🌍", "{}", "\n", "\\");
const words = fc.array(word, { maxLength: 3 });
const content = fc.oneof(
  words.map((texts) => (index: number) => {
    return block(index, { type: "text", text: "" }, ...texts.map((text) => ({ type: "text_delta", text })));
  }),
  words.map((texts) => (index: number) => {
    const deltas = texts.map((thinking) => ({ type: "thinking_delta", thinking }));
    const signed = { type: "signature_delta", signature: "s" };
    return block(index, { type: "thinking", thinking: "", signature: "" }, ...deltas, signed);
  }),
  fc.constant((index: number) => block(index, { type: "redacted_thinking", data: "secret" })),
  fc.tuple(word, fc.nat(12)).map(([city, cut]) => (index: number) => {
    const text = JSON.stringify({ city });
    return called(index, `toolu_${index}`, "sky", "", text.slice(0, cut), text.slice(cut));
  }),
  fc.constant((index: number) => called(index, `toolu_${index}`, "sea") + event("ping")),
);
const reason = fc.constantFrom(
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "refusal",
  "pause_turn",
  "strange",
);

verifies("A11", "gives the parts of Messages that the package of the AI SDK gives", async () => {
  const given = fc.record({ contents: fc.array(content, { maxLength: 5 }), reason, cut: fc.nat(600) });
  await fc.assert(
    fc.asyncProperty(given, async ({ contents, reason: end, cut }) => {
      const calls = contents.some((make) => make(0).includes("tool_use"));
      const bytes = Buffer.from(
        // A call that ends for no call is reported as the API does.
        begin +
          contents.map((make, index) => make(index)).join("") +
          ending(end === "tool_use" && !calls ? "end_turn" : end),
      );
      await using server = await wireServer({ pieces: [bytes.subarray(0, cut), bytes.subarray(cut)] });
      expect(await shown(messagesModel(server))).toEqual(await shown(theirs(server)));
    }),
    { numRuns: 60 },
  );
});

const png = new Uint8Array([137, 80, 78, 71]);
const object = { type: "object" as const };
const tools: LanguageModelV4CallOptions["tools"] = [
  { type: "function", name: "sky", description: "Looks up.", inputSchema: object, strict: true },
  { type: "function", name: "sea", inputSchema: object },
];
const schema = {
  type: "object" as const,
  properties: { a: { type: "string" as const }, b: { type: "array" as const, items: { type: "number" as const } } },
  required: ["a"],
  additionalProperties: false,
};
const responseFormat = { type: "json" as const, schema };
const user = (...parts: Extract<LanguageModelV4CallOptions["prompt"][number], { role: "user" }>["content"]) =>
  ({ role: "user", content: parts }) as const;
const file = (mediaType: string, data: Uint8Array | string, filename?: string) => {
  const named = filename === undefined ? {} : { filename };
  return { type: "file" as const, mediaType, data: { type: "data" as const, data }, ...named };
};
const own = (anthropic: NonNullable<LanguageModelV4CallOptions["providerOptions"]>[string]) => ({
  providerOptions: { anthropic },
});
const cached = own({ cacheControl: { type: "ephemeral" } });
const call = (toolCallId: string, toolName: string, input: object, more = {}) =>
  ({ type: "tool-call", toolCallId, toolName, input, ...more }) as const;
const thought = (text: string, anthropic: Parameters<typeof own>[0]) =>
  ({ type: "reasoning", text, ...own(anthropic) }) as const;

const asked: Readonly<Record<string, Partial<LanguageModelV4CallOptions> & { readonly model?: string }>> = {
  "a text": {},
  settings: { maxOutputTokens: 9, temperature: 0.5, topK: 4, stopSequences: ["x"], seed: 7 },
  "a temperature and a top P": { temperature: 2, topP: 0.5 },
  "a top P": { topP: 0.5 },
  "more tokens than there are": { maxOutputTokens: 1_000_000 },
  "settings that the model refuses": { temperature: 1, topP: 0.5, topK: 4, model: "claude-opus-5" },
  "an old model": { model: "claude-3-haiku-20240307" },
  "a model that nobody knows": { model: "glm-5" },
  "a model to come": { model: "claude-sonnet-9" },
  "tools of all kinds": { tools },
  "a choice among tools": { tools, toolChoice: { type: "required" } },
  "one tool": { tools, toolChoice: { type: "tool", toolName: "sky" } },
  "a tool and thoughts": { tools, toolChoice: { type: "required" }, reasoning: "high" },
  "one call at a time": { tools, ...own({ disableParallelToolUse: true }) },
  "no tools": { tools: [], toolChoice: { type: "auto" } },
  "none of the tools": { tools, toolChoice: { type: "none" } },
  "a tool that cannot be forced": { tools, toolChoice: { type: "required" }, model: "claude-opus-5-5" },
  "a schema": { responseFormat },
  "a schema for an old model": { responseFormat, model: "claude-sonnet-4-20250514" },
  "an open schema": { responseFormat: { type: "json", schema: { type: "object", additionalProperties: true } } },
  "a schema with thoughts": { responseFormat, reasoning: "low", model: "claude-sonnet-4-20250514" },
  "any JSON": { responseFormat: { type: "json" } },
  "an effort": { reasoning: "high" },
  "an effort of an adaptive model": { reasoning: "xhigh", model: "claude-opus-5" },
  "no thoughts": { reasoning: "none" },
  "no thoughts of a model that always thinks": { reasoning: "none", model: "claude-opus-5-5" },
  "no thoughts but between tools": { reasoning: "none", model: "claude-sonnet-5-5" },
  "a budget": own({ thinking: { type: "enabled", budgetTokens: 2_000 } }),
  "a budget and a limit": { ...own({ thinking: { type: "enabled", budgetTokens: 2_000 } }), maxOutputTokens: 500 },
  "an effort of its own": { ...own({ effort: "low", metadata: { userId: "u" } }), model: "claude-opus-4-6" },
  "files and marks": {
    prompt: [
      { role: "system", content: "Be kind.", ...cached },
      user(
        { type: "text", text: "Look.", ...cached },
        file("image/png", png),
        { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://x.example/a.png") } },
        file("application/pdf", png, "a.pdf"),
        file("text/plain", Buffer.from("Grüße"), "b.txt"),
      ),
      { ...user({ type: "text", text: "And?" }), ...cached },
    ],
  },
  "more marks than the API takes": {
    prompt: ["a", "b", "c", "d", "e"].map((text) => ({ ...user({ type: "text", text }), ...cached })),
  },
  "calls, results and thoughts": {
    prompt: [
      user({ type: "text", text: "Go." }),
      {
        role: "assistant",
        content: [
          thought("Hm.", { signature: "s" }),
          thought("", { redactedData: "r" }),
          call("a", "sky", { city: "Bern" }),
          call("b", "sea", {}, cached),
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "a", toolName: "sky", output: { type: "json", value: { c: 21 } } },
          { type: "tool-result", toolCallId: "b", toolName: "sea", output: { type: "error-text", value: "Dry." } },
        ],
      },
      user({ type: "text", text: "Well?" }),
      { role: "assistant", content: [{ type: "text", text: "It is " }] },
    ],
  },
  "a result with an image": {
    prompt: [
      user({ type: "text", text: "Go." }),
      { role: "assistant", content: [call("a", "sky", {})] },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "a",
            toolName: "sky",
            output: { type: "content", value: [{ type: "text", text: "Here." }, file("image/png", png)] },
          },
        ],
      },
    ],
  },
};
/** A body without the words in which the tool of an answer is described. */
function described(body: object | undefined): unknown {
  return JSON.parse(JSON.stringify(body).replace(/"(Gives the answer|Respond with a JSON object)\."/, '""'));
}

for (const [title, { model = "claude-sonnet-4-5", ...options }] of Object.entries(asked)) {
  verifies("A11", `sends the request to Messages that the package of the AI SDK sends: ${title}`, async () => {
    // Arguments in pieces that may be no JSON are a choice of the package alone.
    const anthropic = { toolStreaming: false, ...options.providerOptions?.anthropic };
    const question = { ...hello, ...options, providerOptions: { anthropic } };
    await using server = await wireServer({ pieces: [begin, ending("end_turn")] });
    for (const each of [messagesModel(server, model), theirs(server, model)]) await messagePartsOf(each, question);
    const content = [{ type: "text", text: "Hi" }];
    const whole = JSON.stringify({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model,
      content,
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
    });
    await using other = await wireServer({ pieces: [whole], headers: json });
    for (const each of [messagesModel(other, model), theirs(other, model)]) {
      const result = await each.doGenerate(question);
      expect(result.content).toEqual(content);
    }
    for (const { asked: requests } of [server, other]) {
      const [first, second] = requests;
      expect(described(first?.body)).toEqual(described(second?.body));
      expect(first?.path).toBe(second?.path);
      expect(first?.headers).toMatchObject({ "x-api-key": "k", "anthropic-version": "2023-06-01", "x-team": "a" });
    }
  });
}
