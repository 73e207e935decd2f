import { inspect } from "node:util";
import { APICallError, type LanguageModelV4StreamPart, LoadAPIKeyError } from "@ai-sdk/provider";
import { afterEach, describe, expect, test, vi } from "vitest";
import { generate, type ModelCall, type ModelRetry } from "../../src/agent/model/model-call.ts";
import { RetryBudget } from "../../src/lib/retry-budget.ts";
import {
  type Script,
  type ScriptedModel,
  type ScriptedStep,
  scriptedModel,
  virtualClock,
} from "../../src/testing/index.ts";
import { failure, rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { streamedParts } from "./answer-parts.ts";

const question = { prompt: [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }] };

/** A call of a model, with time that stands still. */
function setUp(script: Script, changes: Partial<ModelCall> = {}) {
  const clock = virtualClock();
  const controller = new AbortController();
  const retries: ModelRetry[] = [];
  const call: ModelCall = {
    signal: controller.signal,
    clock,
    random: () => 0.5,
    budget: new RetryBudget(clock),
    modelAttempts: 4,
    modelTimeoutMs: 300_000,
    maxRetryWaitMs: 60_000,
    onRetry: (retry) => retries.push(retry),
    ...changes,
  };
  const model = scriptedModel(script);
  const chosen = { model, provider: "acme", modelId: "big" };
  return { clock, controller, retries, call, model, chosen };
}

async function textOf(parts: AsyncIterable<LanguageModelV4StreamPart>): Promise<string> {
  let text = "";
  for await (const part of parts) if (part.type === "text-delta") text += part.delta;
  return text;
}

/** Both ways to ask a model: what is said of one holds for the other. */
const ways = {
  generate: async ({ chosen, call }: ReturnType<typeof setUp>) => {
    const { content } = await generate(chosen, question, call);
    return content.map((part) => (part.type === "text" ? part.text : "")).join("");
  },
  stream: ({ chosen, call }: ReturnType<typeof setUp>) => textOf(streamedParts(chosen, question, call)),
};
const busy = { status: 529, message: "Overloaded" };
const refused = Object.assign(new TypeError("fetch failed"), {
  cause: Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" }),
});

describe.each(Object.entries(ways))("%s", (way, ask) => {
  verifies(
    "A6",
    "asks again what is overloaded, limits its rate, fails or is not reached, with waits that double",
    async () => {
      const errors = [busy, { status: 500 }, refused];
      const setting = setUp([...errors.map((error) => ({ error })), "here"]);
      const asking = ask(setting);
      await setting.clock.advance(250);
      expect(setting.retries).toHaveLength(2);
      await setting.clock.advance(500 + 1_000);
      expect(await asking).toBe("here");
      expect(setting.retries).toEqual([
        { attempt: 1, waitMs: 250, status: 529 },
        { attempt: 2, waitMs: 500, status: 500 },
        { attempt: 3, waitMs: 1_000, status: undefined },
      ]);
      expect(setting.clock.timers).toBe(0);
    },
  );

  verifies("A6", "waits as long as the provider asks for", async () => {
    const asks: ScriptedStep["error"][] = [
      { status: 429, headers: { "retry-after": "7" } },
      { status: 429, headers: { "retry-after-ms": "1500", "retry-after": "9" } },
      { status: 503, headers: { "retry-after": new Date(1_000_000 + 8_500 + 20_000).toUTCString() } },
      new APICallError({
        message: "quota",
        url: "",
        requestBodyValues: {},
        statusCode: 429,
        responseBody:
          '{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay": "13s"}]}}',
      }),
    ];
    const setting = setUp([...asks.map((error) => ({ error })), "here"], { modelAttempts: 5, random: () => 0 });
    const asking = ask(setting);
    await setting.clock.advance(60_000);
    expect(await asking).toBe("here");
    // A date has no more than seconds.
    expect(setting.retries.map(({ waitMs }) => Math.round(waitMs / 500) * 500)).toEqual([7_000, 1_500, 19_500, 13_000]);
  });

  verifies("A6", "fails at once where the provider asks for too long a wait, and says how long", async () => {
    const setting = setUp([{ error: { ...busy, headers: { "retry-after": "3600" } } }]);
    const error = await failure(ask(setting));
    expect(error).toMatchObject({
      code: "MODEL_FAILED",
      details: { provider: "acme", model: "big", status: 529, retryAfterMs: 3_600_000 },
    });
    expect(error.message).toBe(
      "The model acme/big answered 529: Overloaded. It asks for a wait of 3600 s, longer than the 60000 ms of maxRetryWaitMs.",
    );
  });

  verifies("A6", "gives up after its attempts, and never asks again what would fail the same way", async () => {
    const tired = setUp([{ error: busy }, { error: busy }], { modelAttempts: 2 });
    const asking = failure(ask(tired));
    await tired.clock.advance(1_000);
    expect((await asking).message).toBe("The model acme/big answered 529: Overloaded. It was tried 2 times.");
    const hopeless: ScriptedStep["error"][] = [
      { status: 400, message: "max_tokens is required" },
      { status: 401 },
      { status: 404 },
      { status: 503, headers: { "x-should-retry": "false" } },
      new APICallError({
        message: "You exceeded your current quota",
        url: "",
        requestBodyValues: {},
        statusCode: 429,
        responseBody: '{"error":{"code":"insufficient_quota"}}',
      }),
      new Error("a bug"),
    ];
    for (const error of hopeless) {
      const setting = setUp([{ error }, "never"]);
      expect(await failure(ask(setting))).toMatchObject({ code: "MODEL_FAILED" });
      expect(setting.model.requests).toHaveLength(1);
    }
  });

  verifies("A6", "shares its budget: where all fail, few are asked again", async () => {
    const clock = virtualClock();
    const budget = new RetryBudget(clock);
    const settings = Array.from({ length: 100 }, () => setUp(() => ({ error: busy }), { clock, budget }));
    const asking = Promise.all(settings.map((setting) => failure(ask(setting))));
    await clock.advance(0);
    await clock.advance(5_000);
    const errors = await asking;
    const retries = settings.reduce((sum, setting) => sum + setting.model.requests.length - 1, 0);
    expect(retries).toBeGreaterThan(10);
    expect(retries).toBeLessThan(35);
    expect(errors.filter(({ message }) => message.includes("too many calls of models fail at once"))).not.toEqual([]);
  });

  test("an abort ends a wait, a request and a gate at once, with its own reason", async () => {
    const gate = new Promise(() => undefined);
    for (const script of [[{ error: busy }], [{ text: "never", gate }]] satisfies ScriptedStep[][]) {
      const setting = setUp(script);
      const asking = rejection(ask(setting));
      await setting.clock.advance(0);
      setting.controller.abort("closing time");
      expect(await asking).toBe("closing time");
      expect(setting.clock.timers).toBe(0);
      expect(await rejection(ask(setting))).toBe("closing time");
    }
  });

  test("a model that says nothing for too long has failed", async () => {
    const setting = setUp([{ text: "never", gate: new Promise(() => undefined) }], { modelTimeoutMs: 5_000 });
    const asking = failure(ask(setting));
    await setting.clock.advance(4_999);
    expect(setting.clock.keptAlive).toBe(1);
    await setting.clock.advance(1);
    const error = await asking;
    expect(error).toMatchObject({ code: "MODEL_FAILED", details: { provider: "acme", model: "big" } });
    expect(error.message).toMatch(/sent nothing for 5000 ms \(modelTimeoutMs\)/);
    expect(setting.clock.timers).toBe(0);
  });

  test("an answer that is cut short is no answer", async () => {
    const setting = setUp(() => ({ text: "half an", isCut: true }), { modelAttempts: 1 });
    const { message } = await failure(ask(setting));
    expect(message).toMatch(/acme\/big failed: The answer ended before it was finished/);
    expect(way === "stream" ? setting.retries : []).toEqual([]);
  });
});

describe("a stream", () => {
  test("is asked for again until something of the answer has come", async () => {
    const early: ScriptedStep = { content: [], error: { message: "Overloaded", statusCode: 529, isRetryable: true } };
    const setting = setUp([early, "here"]);
    const asking = ways.stream(setting);
    await setting.clock.advance(1_000);
    expect(await asking).toBe("here");
    expect(setting.retries).toEqual([{ attempt: 1, waitMs: 250, status: 529 }]);
  });

  test("that breaks in the middle is not", async () => {
    const inPart = { message: "Overloaded", statusCode: 529, isRetryable: true };
    const broken = async function* () {
      yield "half";
      throw Object.assign(new TypeError("terminated"), { cause: new Error("other side closed") });
    };
    for (const [step, status] of [
      [{ text: "half", error: inPart }, 529],
      [{ text: "half", isCut: true }, undefined],
      [{ text: broken() }, undefined],
    ] as const satisfies [ScriptedStep, number | undefined][]) {
      const setting = setUp([step, "never"]);
      const seen: string[] = [];
      const error = await failure(
        (async () => {
          for await (const { type } of streamedParts(setting.chosen, question, setting.call)) seen.push(type);
        })(),
      );
      expect(error).toMatchObject({ code: "MODEL_FAILED", details: { provider: "acme", model: "big" } });
      expect((error.details as { status?: number }).status).toBe(status);
      expect(seen).toContain("text-delta");
      expect(setting.model.requests).toHaveLength(1);
      expect(setting.clock.timers).toBe(0);
    }
  });

  test("is read no faster than it is asked for, and ends when nobody reads on", async () => {
    let said = 0;
    let isOver = false;
    const endless = async function* () {
      try {
        for (;;) yield `word ${++said} `;
      } finally {
        isOver = true;
      }
    };
    const setting = setUp([{ text: endless() }], { modelTimeoutMs: 1_000 });
    const parts = streamedParts(setting.chosen, question, setting.call);
    for (let index = 0; index < 5; index++) await parts.next();
    expect(said).toBeLessThan(6);
    // A slow reader is no silence.
    await setting.clock.advance(10_000);
    expect((await parts.next()).done).toBe(false);
    await parts.return(undefined);
    await setting.clock.advance(0);
    expect(isOver).toBe(true);
    expect(setting.clock.timers).toBe(0);
    expect(setting.controller.signal.aborted).toBe(false);
  });

  test("an abort in the middle ends it, even where the model ignores it", async () => {
    const setting = setUp([]);
    const deaf = { ...setting.chosen.model } as ScriptedModel;
    const silent = new ReadableStream<LanguageModelV4StreamPart>({
      start: (controller) => controller.enqueue({ type: "text-start", id: "1" }),
    });
    const model = Object.assign(deaf, { doStream: async () => ({ stream: silent }) });
    const parts = streamedParts({ ...setting.chosen, model }, question, setting.call);
    await parts.next();
    const next = rejection(parts.next());
    setting.controller.abort("enough");
    expect(await next).toBe("enough");
  });
});

describe("a key", () => {
  const key = "Zq81kLmNopQRstUvWx";
  const likeOne = "sk-ant-api03-AAAABBBBCCCC";

  afterEach(() => vi.unstubAllEnvs());

  /** As the packages of the AI SDK fail, with a key wherever one can stand. */
  function leaky(status: number): APICallError {
    const cause = Object.assign(new Error(`connect to https://user:${key}@host failed`), {
      code: "ECONNRESET",
      options: { headers: { authorization: `Bearer ${key}` } },
    });
    return new APICallError({
      message: `Incorrect API key provided: ${likeOne}, Bearer ${key}, {"x-api-key":"${key}"}`,
      url: `https://host/v1?key=${key}`,
      requestBodyValues: { messages: [key], apiKey: key },
      statusCode: status,
      responseHeaders: { "set-cookie": key },
      responseBody: `{"error":"${key}"}`,
      data: { error: { message: key } },
      cause,
    });
  }

  function modelThatSends(script: Script): ScriptedModel {
    return Object.assign(scriptedModel(script), { config: { headers: () => ({ Authorization: `Bearer ${key}` }) } });
  }

  verifies("A6", "never leaves with an error: not in its message, its details or its causes", async () => {
    const { call, chosen } = setUp([]);
    const model = modelThatSends([{ error: leaky(401) }, { text: "half", error: leaky(500) }]);
    const errors = [
      await failure(generate({ ...chosen, model }, question, call)),
      await failure(textOf(streamedParts({ ...chosen, model }, question, call))),
    ];
    for (const error of errors) {
      const everything = `${inspect(error, { depth: 20, showHidden: true })} ${JSON.stringify(error)} ${error.stack}`;
      expect(everything).not.toContain(key);
      expect(everything).not.toContain(likeOne);
      expect(error.message).toContain("Incorrect API key provided: ***");
      expect(error.cause).toMatchObject({ name: "AI_APICallError", cause: { code: "ECONNRESET" } });
      expect(Object.keys(error.cause as object)).not.toContain("requestBodyValues");
    }
  });

  verifies("A6", "of the environment is known too, whatever it looks like", async () => {
    vi.stubEnv("ACME_API_KEY", "blue bird on a wire");
    const { call, chosen } = setUp([{ error: new Error("The key 'blue bird on a wire' is not known") }]);
    expect((await failure(generate(chosen, question, call))).message).toContain("The key '***' is not known");
  });

  test("that is missing is UNAUTHORIZED, and the message says which", async () => {
    const missing = new LoadAPIKeyError({ message: "Acme API key is missing. Set ACME_API_KEY." });
    const { call, chosen } = setUp([{ error: missing }]);
    const error = await failure(generate(chosen, question, call));
    expect(error).toMatchObject({ code: "UNAUTHORIZED", details: { target: "acme" } });
    expect(error.message).toMatch(/Set ACME_API_KEY/);
  });

  test("what a provider says is told in a line, and not in full", async () => {
    const { call, chosen } = setUp([{ error: { status: 400, message: `<html>\n  ${"x".repeat(5_000)}` } }]);
    const { message } = await failure(generate(chosen, question, call));
    expect(message.length).toBeLessThan(600);
    expect(message).not.toContain("\n");
  });
});
