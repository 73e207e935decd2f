import type { LanguageModelV4 } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import { defaultFetch } from "../../lib/fetch/node-fetch.ts";
import { present } from "../../lib/value.ts";
import { type ModelServer, readServerUrl } from "./model-server.ts";

/** A provider of the AI SDK, such as `anthropic` of `@ai-sdk/anthropic`. */
export interface ModelProvider {
  /** The model of that id. Nothing is asked of the provider yet. */
  languageModel(modelId: string): LanguageModelV4;
}

/** A provider that needs no entry. */
interface KnownProvider {
  readonly package: string;
  /** The variable its key is read from, by its package; undefined where it needs none. */
  readonly variable: string | undefined;
  /** Imports the package, and makes the provider as it makes itself. */
  load(): Promise<ModelProvider>;
}

const compatiblePackage = "@ai-sdk/openai-compatible";

/** The platform's `fetch` costs more, and ends a model that thinks for longer than five minutes, whatever `modelTimeoutMs` is. */
const sending = { fetch: defaultFetch };

const known: Readonly<Record<string, KnownProvider>> = {
  anthropic: {
    package: "@ai-sdk/anthropic",
    variable: "ANTHROPIC_API_KEY",
    load: async () => (await import("@ai-sdk/anthropic")).createAnthropic(sending),
  },
  google: {
    package: "@ai-sdk/google",
    variable: "GOOGLE_GENERATIVE_AI_API_KEY",
    load: async () => (await import("@ai-sdk/google")).createGoogle(sending),
  },
  mistral: {
    package: "@ai-sdk/mistral",
    variable: "MISTRAL_API_KEY",
    load: async () => (await import("@ai-sdk/mistral")).createMistral(sending),
  },
  ollama: {
    package: compatiblePackage,
    variable: undefined,
    load: () => compatible("ollama", { url: ollamaUrl(process.env.OLLAMA_BASE_URL) }),
  },
  openai: {
    package: "@ai-sdk/openai",
    variable: "OPENAI_API_KEY",
    load: async () => (await import("@ai-sdk/openai")).createOpenAI(sending),
  },
};

/** The providers that need no entry, by name. */
export const knownProviders: readonly string[] = Object.keys(known);

/**
 * One of those providers, with its key from the environment. Its package is imported when this is called, not sooner.
 *
 * @throws ToolkitError `MISSING_PEER` where the package is not installed, `UNAUTHORIZED` where the variable is not set,
 * `INVALID_CONFIG` for a base URL in the environment that is none
 */
export async function loadProvider(name: string): Promise<ModelProvider | undefined> {
  const provider = Object.hasOwn(known, name) ? known[name] : undefined;
  if (provider === undefined) return undefined;
  const loaded = await imported(provider.package, name, provider.load);
  const { variable } = provider;
  if (variable === undefined || process.env[variable]) return loaded;
  const message = `There is no key for the provider ${name}: set ${variable} in the environment, or give the provider in \`models\`.`;
  throw new ToolkitError("UNAUTHORIZED", message, { target: name });
}

/**
 * The provider of a server that speaks OpenAI's form.
 *
 * @throws ToolkitError `MISSING_PEER` where `@ai-sdk/openai-compatible` is not installed
 */
export function serverProvider(name: string, server: ModelServer): Promise<ModelProvider> {
  return imported(compatiblePackage, name, () => compatible(name, server));
}

async function compatible(name: string, { url, apiKey, headers }: ModelServer): Promise<ModelProvider> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const options = present({ apiKey, headers: headers === undefined ? undefined : { ...headers } });
  // Without includeUsage a stream says nothing of tokens.
  return createOpenAICompatible({
    name,
    baseURL: url,
    includeUsage: true,
    supportsStructuredOutputs: true,
    ...sending,
    ...options,
  });
}

/** Ollama's own variables leave out the path under which it speaks OpenAI's form. */
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
