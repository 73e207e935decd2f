import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { agent } from "../../../src/agent/index.ts";
import { defineTool } from "../../../src/core/tool.ts";
import { Toolkit } from "../../../src/toolkit/toolkit.ts";
import { type Comparison, measure, type Timing } from "../harness.ts";
import { message, messageSchema } from "../server/tools.ts";

const steps = 20;
const pieces = 1_000;
const question = { role: "user" as const, content: [{ type: "text" as const, text: "Go on." }] };
const asked: LanguageModelV4CallOptions = { prompt: [question] };

/** The cost that a step of a run adds to the call of its model, and that of a piece of a stream: with a model that costs nothing. */
export async function loopBesideModel(): Promise<readonly Comparison[]> {
  const model = modelOf(0);
  const caller = modelOf(steps - 1);
  const echo = defineTool({ name: "echo", input: messageSchema, run: async (input) => input });
  await using toolkit = new Toolkit({ items: [echo] });
  const assistant = agent({ defaultModel: model });
  const worker = agent({ defaultModel: caller });
  const timings = await measure({
    direct: () => model.doGenerate(asked),
    plain: () => assistant.generate("Go on.", { toolbox: toolkit }),
    offered: () => assistant.generate("Go on.", { toolbox: toolkit, tools: ["echo"] }),
    directMany: () => callMany(caller),
    many: () => worker.generate("Go on.", { toolbox: toolkit, tools: ["echo"] }),
    directStream: () => readStream(model),
    stream: async () => {
      for await (const _event of assistant.stream("Go on.", { toolbox: toolkit }));
    },
    heard: () => assistant.generate("Go on.", { toolbox: toolkit, onEvent: () => undefined }),
  });
  const direct = { name: "doGenerate", timing: timings.direct };
  const directPiece = { name: "the model's stream", timing: shared(timings.directStream, pieces) };
  return [
    { name: "run of one step", ours: timings.plain, peer: direct },
    { name: "run of one step, a tool offered", ours: timings.offered, peer: direct },
    {
      name: `step of ${steps}, each but the last with a tool call`,
      ours: shared(timings.many, steps),
      peer: { name: "doGenerate", timing: shared(timings.directMany, steps) },
    },
    { name: `piece of ${pieces}, iterated`, ours: shared(timings.stream, pieces), peer: directPiece },
    { name: `piece of ${pieces}, told to a listener`, ours: shared(timings.heard, pieces), peer: directPiece },
  ];
}

function shared({ p50, p99, samples }: Timing, count: number): Timing {
  return { p50: p50 / count, p99: p99 / count, samples };
}

async function callMany(model: LanguageModelV4): Promise<void> {
  const prompt: LanguageModelV4CallOptions["prompt"] = [question];
  for (let step = 0; step < steps; step += 1) {
    await model.doGenerate({ prompt });
    prompt.push({ role: "assistant", content: [{ type: "text", text: "" }] });
  }
}

async function readStream(model: LanguageModelV4): Promise<void> {
  const { stream } = await model.doStream(asked);
  for await (const _part of stream);
}

const usage: LanguageModelV4Usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that calls the tool `echo` so many times, then answers. */
export function modelOf(calls: number): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "model",
    supportedUrls: {},
    async doGenerate({ prompt }) {
      const made = prompt.filter(({ role }) => role === "assistant").length;
      const content: LanguageModelV4Content[] =
        made < calls
          ? [{ type: "tool-call", toolCallId: `call_${made}`, toolName: "echo", input: inputOf(made) }]
          : [{ type: "text", text: "Done." }];
      return {
        content,
        finishReason: { unified: made < calls ? "tool-calls" : "stop", raw: undefined },
        usage,
        warnings: [],
      };
    },
    async doStream() {
      return { stream: ReadableStream.from(answerParts()) };
    },
  };
}

/** Each call another one: identical ones are refused after a while. */
function inputOf(count: number): string {
  return JSON.stringify({ ...message, count });
}

function* answerParts(): Generator<LanguageModelV4StreamPart> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "text-start", id: "1" };
  for (let at = 0; at < pieces; at += 1) yield { type: "text-delta", id: "1", delta: "word " };
  yield { type: "text-end", id: "1" };
  yield { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage };
}
