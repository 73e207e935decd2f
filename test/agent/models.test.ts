import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { NoSuchModelError } from "@ai-sdk/provider";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Models, type ModelsOptions } from "../../src/agent/model/models.ts";
import { isLanguageModel } from "../../src/agent/model/providers.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "MISTRAL_API_KEY"] as const;
const big = scriptedModel([], { provider: "acme.chat", modelId: "big" });
const small = scriptedModel([], { provider: "acme.chat", modelId: "small" });
const otherSmall = scriptedModel([], { provider: "other.chat", modelId: "small" });

/** A provider, as those of the AI SDK are: a function with functions. */
function provider(name: string) {
  const languageModel = (modelId: string) => scriptedModel([], { provider: `${name}.chat`, modelId });
  return Object.assign(languageModel, { languageModel });
}

beforeEach(() => {
  for (const key of keys) vi.stubEnv(key, undefined);
});
afterEach(() => vi.unstubAllEnvs());

describe("what is chosen", () => {
  const registered = { "acme/big": big, "acme/small": small, "other/small": otherSmall, hub: provider("hub") };
  const options: ModelsOptions = { models: registered, defaultModel: "acme/small" };

  const chosen: readonly (readonly [wanted: { provider?: string; model?: string }, ref: string])[] = [
    [{ provider: "acme", model: "big" }, "acme/big"],
    [{ model: "acme/big" }, "acme/big"],
    [{ model: "big" }, "acme/big"],
    [{ provider: "other", model: "small" }, "other/small"],
    [{ provider: "other" }, "other/small"],
    [{ provider: "acme" }, "acme/small"],
    [{ provider: "hub", model: "anything" }, "hub/anything"],
    [{ model: "hub/meta-llama/llama-4" }, "hub/meta-llama/llama-4"],
    [{ model: "anything" }, "hub/anything"],
    [{}, "acme/small"],
  ];
  for (const [wanted, ref] of chosen) {
    verifies("A1", `${JSON.stringify(wanted)} is ${ref}`, async () => {
      const { model, provider: name, modelId } = await new Models(options).choose(wanted);
      expect(`${name}/${modelId}`).toBe(ref);
      expect(isLanguageModel(model)).toBe(true);
      expect(model.modelId).toBe(modelId);
      if (ref in registered) expect(model).toBe(registered[ref as "acme/big"]);
    });
  }

  verifies("A1", "a name that several have is refused, naming them", async () => {
    const error = await failure(new Models(options).choose({ model: "small" }));
    expect(error).toMatchObject({ code: "INVALID_INPUT", details: { issues: [{ pointer: "/model" }] } });
    expect(error.message).toBe('The model "small" may be one of several: write `acme/small` or `other/small`.');
    const open = new Models({ models: { a: provider("a"), b: provider("b") } });
    expect((await failure(open.choose({ model: "m" }))).message).toMatch(/write `a\/m` or `b\/m`/);
    expect((await failure(open.choose({ provider: "a" }))).message).toMatch(/provider a has several models: name one/);
  });

  verifies("A1", "what is not registered is not found, with what there is and what is near", async () => {
    const models = new Models(options);
    const error = await failure(models.choose({ model: "acme/bug" }));
    expect(error).toMatchObject({ code: "NOT_FOUND", details: { key: "acme/bug", suggestions: ["acme/big"] } });
    expect(error.message).toMatch(/Did you mean "acme\/big"\? There are acme\/big, acme\/small, anthropic\/\*, google/);
    const typo = await failure(models.choose({ provider: "antropic", model: "claude-x" }));
    expect(typo.details).toMatchObject({ suggestions: ["anthropic/claude-x"] });
    for (const wanted of [{ provider: "nobody" }, { model: "nobody/x" }, { provider: "toString", model: "x" }]) {
      expect((await failure(models.choose(wanted))).code).toBe("NOT_FOUND");
    }
    expect((await failure(new Models({}).choose({ model: "big" }))).code).toBe("NOT_FOUND");
  });

  verifies("A1", "a provider that does not have the model says so", async () => {
    const strict = {
      languageModel: (modelId: string): LanguageModelV4 => {
        throw new NoSuchModelError({ modelId, modelType: "languageModel" });
      },
    };
    const error = await failure(new Models({ models: { strict } }).choose({ model: "strict/x" }));
    expect(error).toMatchObject({ code: "NOT_FOUND", cause: expect.any(NoSuchModelError) });
  });

  verifies("A1", "the default may be a model, which is found by its name too", async () => {
    const models = new Models({ defaultModel: big });
    for (const wanted of [{}, { model: "big" }, { model: "acme/big" }, { provider: "acme" }]) {
      expect(await models.choose(wanted)).toEqual({ model: big, provider: "acme", modelId: "big" });
    }
    expect(models.known).toEqual(["acme/big"]);
    const impostor = scriptedModel([], { provider: "acme", modelId: "big" });
    const both = new Models({ models: { "acme/big": big }, defaultModel: impostor });
    expect((await both.choose({})).model).toBe(impostor);
    expect((await both.choose({ model: "acme/big" })).model).toBe(big);
  });

  test("without a default, a model must be named", async () => {
    const error = await failure(new Models({ models: registered }).choose({}));
    expect(error).toMatchObject({ code: "INVALID_INPUT" });
    expect(error.message).toMatch(/give the option defaultModel/);
    expect(new Models(options).known).toEqual(["acme/big", "acme/small", "hub/*", "other/small"]);
  });
});

describe("options that are refused", () => {
  const old = { specificationVersion: "v2", provider: "acme", modelId: "big", doGenerate() {}, doStream() {} };
  const cases: readonly (readonly [title: string, options: unknown, message: RegExp])[] = [
    ["models that are no object", { models: [big] }, /models must be an object/],
    ["a model under the name of a provider", { models: { acme: big } }, /must be provider\/name, such as "acme\/big"/],
    [
      "a provider under the name of a model",
      { models: { "acme/big": provider("x") } },
      /must be a model of the AI SDK/,
    ],
    ["a name that is none", { models: { "/big": big } }, /models must be by provider or provider\/name/],
    ["what is nothing", { models: { acme: 7 } }, /must be a provider of the AI SDK, a model, or \{ url \}/],
    ["a model of another version", { models: { "acme/big": old } }, /version v2 .* must be of v4: install a version 4/],
    ["a server without a URL", { models: { acme: { url: "localhost" } } }, /url must be an http\(s\) URL/],
    [
      "a server with a password in its URL",
      { models: { acme: { url: "http://me:s3cr3t@x/v1" } } },
      /^(?!.*s3cr3t).*without a user name and a password/,
    ],
    ["a server with a slip", { models: { acme: { url: "http://x", apikey: "k" } } }, /Did you mean "apiKey"/],
    [
      "a default there is not",
      { defaultModel: "nobody/x" },
      /defaultModel cannot be used: There is no model "nobody\/x"/,
    ],
    ["a default that is nothing", { defaultModel: 7 }, /defaultModel must be a model of the AI SDK/],
  ];
  test.each(cases)("%s", (_, options, message) => {
    expect(() => Reflect.construct(Models, [options])).toThrow(message);
  });

  test("a key in the wrong place is not shown", () => {
    const models = { acme: { url: "http://x", apiKey: { secret: "s3cr3t-key" } } };
    expect(() => Reflect.construct(Models, [{ models }])).toThrow(/^(?!.*s3cr3t)/s);
  });

  test("a provider whose models are of another version is found out when one is named", async () => {
    const models: ModelsOptions["models"] = { acme: { languageModel: () => old as unknown as LanguageModelV4 } };
    expect(await failure(new Models({ models }).choose({ model: "acme/x" }))).toMatchObject({ code: "INVALID_CONFIG" });
  });
});

describe("providers that are known", () => {
  const real = [
    ["anthropic", "ANTHROPIC_API_KEY", "anthropic.messages"],
    ["google", "GOOGLE_GENERATIVE_AI_API_KEY", "google.generative-ai"],
    ["mistral", "MISTRAL_API_KEY", "mistral.chat"],
    ["openai", "OPENAI_API_KEY", "openai.responses"],
  ] as const;
  for (const [name, variable, sdkName] of real) {
    verifies("A1", `${name} is loaded when it is named, with its key from the environment`, async () => {
      const models = new Models({ defaultModel: `${name}/some-model` });
      const error = await failure(models.choose({}));
      expect(error).toMatchObject({ code: "UNAUTHORIZED", details: { target: name } });
      expect(error.message).toContain(`set ${variable} in the environment`);
      vi.stubEnv(variable, "a-key-for-tests");
      const [{ model }, again] = await Promise.all([models.choose({}), models.choose({ provider: name, model: "b" })]);
      expect(model).toMatchObject({ provider: sdkName, modelId: "some-model" });
      expect(again.modelId).toBe("b");
    });
  }

  verifies("A1", "ollama and servers of OpenAI's form need a URL and no key", async () => {
    const models = new Models({
      models: { vllm: { url: "http://gpu:8000/v1/", apiKey: "k" } },
      defaultModel: "ollama/qwen3",
    });
    expect((await models.choose({})).model).toMatchObject({ provider: "ollama.chat", modelId: "qwen3" });
    expect((await models.choose({ model: "vllm/glm" })).model.provider).toBe("vllm.chat");
    vi.stubEnv("OLLAMA_BASE_URL", "not a url");
    const error = await failure(new Models({}).choose({ model: "ollama/qwen3" }));
    expect(error).toMatchObject({ code: "INVALID_CONFIG", details: { path: "OLLAMA_BASE_URL" } });
  });

  verifies("A1", "a model that a provider made is made once, and of a thousand names few are kept", async () => {
    let made = 0;
    const hub = { languageModel: (modelId: string) => scriptedModel([], { modelId: `${modelId}-${++made}` }) };
    const models = new Models({ models: { hub } });
    const [{ model }, atOnce] = await Promise.all([
      models.choose({ model: "hub/a" }),
      models.choose({ model: "hub/a" }),
    ]);
    expect(atOnce.model).toBe(model);
    expect((await models.choose({ model: "hub/a" })).model).toBe(model);
    for (let at = 0; at < 1_000; at++) await models.choose({ model: `hub/${at}` });
    expect((await models.choose({ model: "hub/999" })).model.modelId).toBe("999-1001");
    expect((await models.choose({ model: "hub/a" })).model).not.toBe(model);
  });

  verifies("A1", "a package that is not installed is MISSING_PEER, with the command to install it", async () => {
    const fixture = fileURLToPath(new URL("fixture/without-peers.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [fixture]);
    const errors = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const packages = ["google", "mistral", "openai"];
    // Those of Chat Completions and of Anthropic's Messages need none.
    const unpackaged = ["anthropic.messages", "ollama.chat", "local.chat"];
    expect(errors.splice(3)).toEqual(unpackaged.map((provider) => ({ provider })));
    expect(errors.map(({ code, details }) => ({ code, details }))).toEqual(
      packages.map((name) => ({
        code: "MISSING_PEER",
        details: { package: `@ai-sdk/${name}`, install: `npm install @ai-sdk/${name}` },
      })),
    );
    expect(errors[0].message).toBe(
      "The provider google needs the package @ai-sdk/google, which is not installed: npm install @ai-sdk/google.",
    );
  });
});
