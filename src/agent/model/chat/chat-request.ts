import type { LanguageModelV4CallOptions, SharedV4Warning } from "@ai-sdk/provider";
import type { Fields } from "../wire/wire-fields.ts";
import type { WireRequest } from "../wire/wire-model.ts";
import { chatMessages } from "./chat-messages.ts";

/** The model that a request is for. */
export interface RequestTarget {
  readonly modelId: string;
  /** The name of the server. */
  readonly provider: string;
  /** Of the limit of tokens. */
  readonly limitField: "max_tokens" | "max_completion_tokens";
}

/** The reasoning models of OpenAI refuse `max_tokens`, and other servers do not know its successor. */
export function limitFieldOf({ hostname }: URL): RequestTarget["limitField"] {
  return hostname === "api.openai.com" ? "max_completion_tokens" : "max_tokens";
}

/** Options of a call that are not sent under their own name. */
const ownOptions: ReadonlySet<string> = new Set(["user", "reasoningEffort", "textVerbosity", "strictJsonSchema"]);

/**
 * The request of a call. Options under the name of the server are added to it as they are.
 *
 * @throws UnsupportedFunctionalityError for a file that the form cannot hold
 */
export function chatRequest(options: LanguageModelV4CallOptions, target: RequestTarget, stream: boolean): WireRequest {
  const { maxOutputTokens, prompt, temperature, topP, topK, frequencyPenalty, presencePenalty } = options;
  const { provider, modelId: model, limitField } = target;
  const warnings: SharedV4Warning[] = [];
  if (topK !== undefined) warnings.push({ type: "unsupported", feature: "topK" });
  const given = givenOptions(options, provider);
  const { user, reasoningEffort = reasoningOf(options), textVerbosity: verbosity } = given;
  const fields = {
    model,
    user,
    [limitField]: maxOutputTokens,
    temperature,
    top_p: topP,
    frequency_penalty: frequencyPenalty,
    presence_penalty: presencePenalty,
    response_format: formatOf(options, given.strictJsonSchema !== false),
    stop: options.stopSequences,
    seed: options.seed,
    ...rawOptions(options, provider),
    ...defined({ reasoning_effort: reasoningEffort, verbosity }),
    messages: chatMessages(prompt, provider),
    ...toolsOf(options, warnings),
    // Without the option a stream reports no tokens.
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  return { body: JSON.stringify(fields), warnings };
}

function toolsOf({ tools = [], toolChoice }: LanguageModelV4CallOptions, warnings: SharedV4Warning[]): Fields {
  const listed = tools.flatMap((tool) => {
    if (tool.type === "provider") {
      warnings.push({ type: "unsupported", feature: `provider-defined tool ${tool.id}` });
      return [];
    }
    const { name, description, inputSchema: parameters, strict } = tool;
    return [{ type: "function", function: { name, description, parameters, strict } }];
  });
  // Servers refuse an empty list, and a choice without one.
  if (listed.length === 0) return {};
  if (toolChoice === undefined) return { tools: listed };
  const choice =
    toolChoice.type === "tool" ? { type: "function", function: { name: toolChoice.toolName } } : toolChoice.type;
  return { tools: listed, tool_choice: choice };
}

function formatOf({ responseFormat }: LanguageModelV4CallOptions, strict: boolean): Fields | undefined {
  if (responseFormat?.type !== "json") return undefined;
  const { schema, name = "response", description } = responseFormat;
  if (schema === undefined) return { type: "json_object" };
  return { type: "json_schema", json_schema: { schema, strict, name, description } };
}

function reasoningOf({ reasoning }: LanguageModelV4CallOptions): string | undefined {
  return reasoning === "provider-default" ? undefined : reasoning;
}

/** The options that have a meaning here, under the name that all servers share or under that of this one. */
function givenOptions({ providerOptions = {} }: LanguageModelV4CallOptions, provider: string): Fields {
  return { ...providerOptions.openaiCompatible, ...providerOptions[provider], ...providerOptions[camelCase(provider)] };
}

function rawOptions({ providerOptions = {} }: LanguageModelV4CallOptions, provider: string): Fields {
  const raw = { ...providerOptions[provider], ...providerOptions[camelCase(provider)] };
  return Object.fromEntries(Object.entries(raw).filter(([name]) => !ownOptions.has(name)));
}

function camelCase(name: string): string {
  return name.replace(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** An option that is not given must not replace a raw one. */
function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
