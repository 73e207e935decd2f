import type { LanguageModelV4 } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import { defaultFetch } from "../../lib/fetch/node-fetch.ts";
import { isRecord } from "../../lib/value.ts";
import { ChatModel, MessagesModel } from "./server-models.ts";

/** A provider of the AI SDK, such as `google` of `@ai-sdk/google`. */
export interface ModelProvider {
  /** The model of that id. It sends no request yet. */
  languageModel(modelId: string): LanguageModelV4;
}

/** A server that speaks OpenAI's Chat Completions, such as OpenAI, Ollama, vLLM, LM Studio or OpenRouter, or Anthropic's Messages. No package is needed. */
export interface ModelServer {
  /** Such as `http://localhost:8000/v1`: requests go to `/chat/completions` in it, or to `/messages`. */
  readonly url: string;
  /** The API of the server: Chat Completions (`chat`, the default) or Anthropic's Messages. */
  readonly api?: "chat" | "anthropic" | undefined;
  /** Sent as a bearer token; to Anthropic's Messages as `x-api-key`. Default: none. */
  readonly apiKey?: string | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A provider that needs no entry in `models`, and comes from a package. */
interface PackagedProvider {
  readonly package: string;
  /** The environment variable from which its package reads the key. */
  readonly variable: string;
  /** Imports the package and makes the provider with the defaults of the package. */
  load(): Promise<ModelProvider>;
}

/** Esbuild bundles a service without the packages that it does not use: it leaves an import alone whose failure is handled. */
const fail = (error: unknown): never => {
  throw error;
};

/** The platform's `fetch` is slower, and times out after five minutes without a byte, whatever `modelTimeoutMs` is. */
const sending = { fetch: defaultFetch };

const packaged: Readonly<Record<string, PackagedProvider>> = {
  google: {
    package: "@ai-sdk/google",
    variable: "GOOGLE_GENERATIVE_AI_API_KEY",
    load: async () => (await import("@ai-sdk/google").catch(fail)).createGoogle(sending),
  },
  mistral: {
    package: "@ai-sdk/mistral",
    variable: "MISTRAL_API_KEY",
    load: async () => (await import("@ai-sdk/mistral").catch(fail)).createMistral(sending),
  },
  openai: {
    package: "@ai-sdk/openai",
    variable: "OPENAI_API_KEY",
    load: async () => (await import("@ai-sdk/openai").catch(fail)).createOpenAI(sending),
  },
};

/** The names of the providers that need no entry. */
export const knownProviders: readonly string[] = [...Object.keys(packaged), "anthropic", "ollama"].sort();

/**
 * Loads one of those providers, with its key from the environment; undefined for another name. This imports its package, if it has one.
 *
 * @throws ToolkitError `MISSING_PEER` where the package is not installed, `UNAUTHORIZED` where the variable is not set,
 * `INVALID_CONFIG` for an invalid base URL in the environment
 */
export async function loadProvider(name: string): Promise<ModelProvider | undefined> {
  if (name === "ollama") return serverProvider(name, { url: ollamaUrl(process.env.OLLAMA_BASE_URL) });
  if (name === "anthropic") return anthropicProvider(name);
  const provider = Object.hasOwn(packaged, name) ? packaged[name] : undefined;
  if (provider === undefined) return undefined;
  const loaded = await imported(provider.package, name, provider.load);
  keyIn(provider.variable, name);
  return loaded;
}

/** @throws ToolkitError `UNAUTHORIZED` where the variable is not set */
function keyIn(variable: string, name: string): string {
  const key = process.env[variable];
  if (key) return key;
  const message = `There is no key for the provider ${name}: set ${variable} in the environment, or give the provider in \`models\`.`;
  throw new ToolkitError("UNAUTHORIZED", message, { target: name });
}

/** The provider for a server, by its API. */
export function serverProvider(name: string, { api = "chat", ...server }: ModelServer): ModelProvider {
  const Model = api === "anthropic" ? MessagesModel : ChatModel;
  return { languageModel: (modelId) => new Model(modelId, { name, ...server }) };
}

function anthropicProvider(name: string): ModelProvider {
  const apiKey = keyIn("ANTHROPIC_API_KEY", name);
  const given = readServerUrl(process.env.ANTHROPIC_BASE_URL || "https://api.anthropic.com", "ANTHROPIC_BASE_URL");
  // Anthropic's own clients append the version; the package of the AI SDK expects it in the variable.
  const url = /\/v\d+$/.test(given) ? given : `${given}/v1`;
  return serverProvider(name, { url, apiKey, api: "anthropic" });
}

/** Ollama's own variable lacks the path of the Chat Completions API. */
function ollamaUrl(given: string | undefined): string {
  const url = readServerUrl(given || "http://localhost:11434", "OLLAMA_BASE_URL");
  return new URL(url).pathname === "/" ? `${url}/v1` : url;
}

async function imported(name: string, owner: string, load: () => Promise<ModelProvider>): Promise<ModelProvider> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const install = `npm install ${name}`;
    const message = `The provider ${owner} needs the package ${name}, which is not installed: ${install}.`;
    throw new ToolkitError("MISSING_PEER", message, { package: name, install }, { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && (error as { readonly code?: unknown }).code === "ERR_MODULE_NOT_FOUND";
}

const serverNames: OptionNames<ModelServer> = { url: true, api: true, apiKey: true, headers: true };

/**
 * Parses the description of a server.
 *
 * @param path - the option that gave it, for the message
 * @throws ToolkitError `INVALID_CONFIG`, which never shows a key
 */
export function readModelServer(given: Readonly<Record<string, unknown>>, path: string): ModelServer {
  assertOptionNames<ModelServer>(given, serverNames, "of a model server", path);
  const { url, api = "chat", apiKey, headers } = given;
  if (typeof url !== "string") throw invalidOption(`${path}.url`, "an http(s) URL", url);
  if (api !== "chat" && api !== "anthropic") throw invalidOption(`${path}.api`, '"chat" or "anthropic"', api);
  // The value may be a key in the wrong place, so the message has its type alone.
  if (apiKey !== undefined && typeof apiKey !== "string")
    throw invalidOption(`${path}.apiKey`, "a text", typeof apiKey);
  if (
    headers !== undefined &&
    !(isRecord(headers) && Object.values(headers).every((value) => typeof value === "string"))
  )
    throw invalidOption(`${path}.headers`, "an object of texts", typeof headers);
  return { url: readServerUrl(url, `${path}.url`), api, apiKey, headers: headers as ModelServer["headers"] };
}

/**
 * Parses the URL of a server; paths can be appended to the result.
 *
 * @param path - the option or variable that gave it, for the message
 * @throws ToolkitError `INVALID_CONFIG`
 */
function readServerUrl(text: string, path: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalidOption(path, "an http(s) URL", text);
  if (url.username !== "" || url.password !== "") {
    // The message must not show them.
    throw invalidOption(path, "a URL without a user name and a password, which go into headers", url.origin);
  }
  return text.replace(/\/+$/, "");
}

/** True for a model of the AI SDK in the version of the port, `LanguageModelV4`. */
export function isLanguageModel(value: unknown): value is LanguageModelV4 {
  return looksLikeModel(value) && value.specificationVersion === "v4";
}

/**
 * Refuses a value that is no such model.
 *
 * @param path - the option that gave it, for the message
 * @throws ToolkitError `INVALID_CONFIG`, which names the version of a model of another one
 */
export function assertLanguageModel(value: unknown, path: string): asserts value is LanguageModelV4 {
  if (isLanguageModel(value)) return;
  if (!looksLikeModel(value)) throw invalidOption(path, "a model of the AI SDK (LanguageModelV4)", value);
  const version = String(value.specificationVersion);
  const message = `The option ${path} is a model of version ${version} of the AI SDK's interface, and must be of v4: install a version 4 of its package.`;
  throw new ToolkitError("INVALID_CONFIG", message, { path });
}

function looksLikeModel(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    isRecord(value) &&
    typeof value.doGenerate === "function" &&
    typeof value.doStream === "function" &&
    typeof value.modelId === "string" &&
    typeof value.provider === "string"
  );
}
