// Where `@ai-sdk/openai-compatible` is right, our model sends the same request and gives the same parts.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import fc from "fast-check";
import { expect } from "vitest";
import { verifies } from "../../support/verifies.ts";
import { chunk, delta, hello, json, modelOf, type WireServer, wireServer } from "./support.ts";

function theirs({ url }: WireServer): LanguageModelV4 {
  const provider = createOpenAICompatible({
    name: "acme",
    baseURL: url,
    apiKey: "k",
    headers: { "X-Team": "a" },
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  return provider.languageModel("m");
}

const ours = (server: WireServer) => modelOf(server, { apiKey: "k", headers: { "X-Team": "a" } });

/** The parts of a stream, without what is not promised: ids of pieces, the places where they are cut, empty metadata. */
async function shown(model: LanguageModelV4): Promise<unknown[]> {
  const { stream } = await model.doStream(hello);
  const all: Record<string, unknown>[] = [];
  for await (const part of stream) {
    const each: Record<string, unknown> = { ...part };
    if (/^(text|reasoning)-/.test(part.type)) delete each.id;
    if (part.type === "finish") delete each.providerMetadata;
    const last = all.at(-1);
    if ("delta" in part && last !== undefined && last.type === each.type && last.id === each.id)
      last.delta = `${last.delta}${each.delta}`;
    else all.push(each);
  }
  return all;
}

const word = fc.constantFrom("Bern ", "Zürich", "🌍", "{}", "\n", "\\");
const spoken = fc.oneof(
  word.map((content) => ({ content })),
  word.map((reasoning_content) => ({ reasoning_content })),
  word.map((reasoning) => ({ reasoning })),
  word.map((text) => ({ content: [{ type: "text", text }] })),
  fc.constant({ role: "assistant", content: "" }),
);
const call = fc.record({
  name: fc.constantFrom("sky", "sea"),
  city: word,
  cuts: fc.array(fc.nat(20), { maxLength: 3 }),
});

/** The deltas of a call: its head, then its arguments in pieces. */
function deltasOf({ name, city, cuts }: { name: string; city: string; cuts: number[] }, index: number): object[] {
  const text = JSON.stringify({ city });
  const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
  const head = { index, id: `call_${index}`, type: "function", function: { name, arguments: "" } };
  const pieces = at.slice(1).map((end, nth) => ({ index, function: { arguments: text.slice(at[nth], end) } }));
  return [head, ...pieces].map((each) => ({ tool_calls: [each] }));
}

const answer = fc.record({
  spoken: fc.array(spoken, { maxLength: 6 }),
  calls: fc.array(call, { maxLength: 3 }),
  finish: fc.constantFrom("stop", "length", "content_filter", "tool_calls", "strange"),
  usage: fc.option(fc.record({ prompt_tokens: fc.nat(99), completion_tokens: fc.nat(99) }), { nil: undefined }),
  cut: fc.nat(60),
});

verifies("A11", "gives the parts that the package of the AI SDK gives", async () => {
  const given = answer.map((each) => {
    const deltas = [...each.spoken, ...each.calls.flatMap(deltasOf)].map((fields) => delta(fields));
    // A server that says `stop` for calls is understood here, and not there.
    const finish = each.calls.length > 0 && each.finish === "stop" ? "tool_calls" : each.finish;
    const tail = each.usage === undefined ? "" : chunk({ choices: [], usage: each.usage });
    const bytes = Buffer.from(`${deltas.join("")}${delta({}, finish)}${tail}data: [DONE]\n\n`);
    return [bytes.subarray(0, each.cut), bytes.subarray(each.cut)];
  });
  await fc.assert(
    fc.asyncProperty(given, async (pieces) => {
      await using server = await wireServer({ pieces });
      expect(await shown(ours(server))).toEqual(await shown(theirs(server)));
    }),
    { numRuns: 60 },
  );
});

const png = new Uint8Array([137, 80, 78, 71]);
const tools: LanguageModelV4CallOptions["tools"] = [
  { type: "function", name: "sky", description: "Looks up.", inputSchema: { type: "object" }, strict: true },
  { type: "function", name: "sea", inputSchema: { type: "object" } },
];
const user = (...content: Extract<LanguageModelV4CallOptions["prompt"][number], { role: "user" }>["content"]) =>
  ({ role: "user", content }) as const;
const file = (mediaType: string, data: Uint8Array | string, filename?: string) => {
  const named = filename === undefined ? {} : { filename };
  return { type: "file" as const, mediaType, data: { type: "data" as const, data }, ...named };
};
const cached = { providerOptions: { openaiCompatible: { cache_control: { type: "ephemeral" } } } };
const asked: Readonly<Record<string, Partial<LanguageModelV4CallOptions>>> = {
  "a text": {},
  settings: {
    maxOutputTokens: 9,
    temperature: 0,
    topP: 0.5,
    frequencyPenalty: 1,
    presencePenalty: -1,
    seed: 7,
    stopSequences: ["x"],
  },
  "tools of all kinds": { tools },
  "a choice among tools": { tools, toolChoice: { type: "required" } },
  "one tool": { tools, toolChoice: { type: "tool", toolName: "sky" } },
  "no tools": { tools: [], toolChoice: { type: "auto" } },
  "a schema": { responseFormat: { type: "json", schema: { type: "object" }, name: "n", description: "d" } },
  "a loose schema": {
    responseFormat: { type: "json", schema: { type: "object" } },
    providerOptions: { openaiCompatible: { strictJsonSchema: false } },
  },
  "any JSON": { responseFormat: { type: "json" } },
  "an effort": { reasoning: "high" },
  "no effort of ours": { reasoning: "provider-default" },
  "options of the server": {
    providerOptions: { acme: { top_k: 4, user: "u", reasoningEffort: "low" }, other: { a: 1 } },
  },
  "files and metadata": {
    prompt: [
      { role: "system", content: "Be kind.", ...cached },
      user(
        { type: "text", text: "Look.", ...cached },
        file("image/png", png),
        { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://x.example/a.png") } },
        file("audio/mpeg", "AAAA"),
        file("application/pdf", png, "a.pdf"),
        file("text/plain", Buffer.from("Grüße")),
      ),
      user({ type: "text", text: "And?", ...cached }),
    ],
  },
  "calls and results": {
    prompt: [
      user({ type: "text", text: "Go." }),
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm." },
          { type: "tool-call", toolCallId: "a", toolName: "sky", input: { city: "Bern" } },
          {
            type: "tool-call",
            toolCallId: "b",
            toolName: "sea",
            input: {},
            providerOptions: { acme: { thoughtSignature: "sig" } },
          },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "a", toolName: "sky", output: { type: "json", value: { c: 21 } } },
          { type: "tool-result", toolCallId: "b", toolName: "sea", output: { type: "error-text", value: "Dry." } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "It is " },
          { type: "text", text: "dry." },
        ],
      },
    ],
  },
};
for (const [title, options] of Object.entries(asked)) {
  verifies("A11", `sends the request that the package of the AI SDK sends: ${title}`, async () => {
    await using server = await wireServer({ pieces: [delta({}, "stop")] });
    for (const model of [ours(server), theirs(server)]) await model.doStream({ ...hello, ...options });
    const whole = JSON.stringify({ choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] });
    await using other = await wireServer({ pieces: [whole], headers: json });
    for (const model of [ours(other), theirs(other)]) await model.doGenerate({ ...hello, ...options });
    for (const { asked: requests } of [server, other]) {
      const [first, second] = requests;
      expect(first?.body).toEqual(second?.body);
      expect(first?.path).toBe(second?.path);
      expect(first?.headers).toMatchObject({ authorization: "Bearer k", "x-team": "a" });
    }
  });
}
