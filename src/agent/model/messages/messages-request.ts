import type { LanguageModelV4CallOptions, SharedV4Warning } from "@ai-sdk/provider";
import { isRecord, present } from "../../../lib/value.ts";
import type { Fields } from "../wire/wire-fields.ts";
import type { WireRequest } from "../wire/wire-model.ts";
import { type ClaudeTraits, claudeTraits } from "./claude-traits.ts";
import { closedSchema } from "./closed-schema.ts";
import { CacheMarks, messagesPrompt, optionsOf } from "./messages-prompt.ts";
import { type ClaudeThinking, claudeThinking } from "./messages-thinking.ts";

/** A request, and how its answer is to be read. */
export interface MessagesRequest extends WireRequest {
  /** The tool whose arguments are the text of the answer. */
  readonly answerTool: string | undefined;
}

/** Options of a call that are not sent under their own name. */
const ownOptions: ReadonlySet<string> = new Set([
  "anthropicBeta",
  "toolStreaming",
  "includePings",
  "cacheControl",
  "disableParallelToolUse",
  "effort",
  "metadata",
  "sendReasoning",
  "serviceTier",
  "structuredOutputMode",
  "thinking",
]);

/** The structured answer of a request: in the form of a schema, or as the arguments of a tool. */
interface Structure {
  readonly format?: Fields | undefined;
  readonly tool?: Fields | undefined;
}

const answerTool = "json";

/** Files of Anthropic's storage are behind a header. */
const filesBeta = "files-api-2025-04-14";

/**
 * The request of a call. Options under `anthropic` that have no meaning here are added to it as they are.
 *
 * @throws UnsupportedFunctionalityError for a file that the API refuses
 */
export function messagesRequest(
  options: LanguageModelV4CallOptions,
  modelId: string,
  stream: boolean,
): MessagesRequest {
  const warnings = unsupportedSettings(options);
  const traits = claudeTraits(modelId);
  const given = optionsOf(options);
  const marks = new CacheMarks(warnings);
  const { system, messages } = messagesPrompt(options.prompt, {
    marks,
    warnings,
    sendsThoughts: given.sendReasoning !== false,
  });
  const thinking = claudeThinking(options, given, traits, warnings);
  const structure = structureOf(options, given, traits, warnings);
  const { userId } = isRecord(given.metadata) ? given.metadata : {};
  const config = present({ effort: thinking.effort, format: structure.format });
  const fields = {
    ...Object.fromEntries(Object.entries(given).filter(([name]) => !ownOptions.has(name))),
    model: modelId,
    max_tokens: maxTokensOf(options, thinking, traits, warnings),
    ...samplingOf(options, thinking, traits, warnings),
    stop_sequences: options.stopSequences,
    thinking: thinking.thinking,
    output_config: Object.keys(config).length === 0 ? undefined : config,
    service_tier: given.serviceTier,
    cache_control: given.cacheControl,
    metadata: userId === undefined ? given.metadata : { user_id: userId },
    system: system.length === 0 ? undefined : system,
    messages,
    ...toolsOf(options, { structure, traits, thinking, marks, warnings, given }),
    stream: stream ? true : undefined,
  };
  const betas = betasOf(options, given);
  return {
    body: JSON.stringify(fields),
    warnings,
    answerTool: structure.tool === undefined ? undefined : answerTool,
    ...(betas.length === 0 ? {} : { headers: { "anthropic-beta": betas.join(",") } }),
  };
}

function unsupportedSettings(options: LanguageModelV4CallOptions): SharedV4Warning[] {
  const { frequencyPenalty, presencePenalty, seed, responseFormat } = options;
  const features = Object.entries({ frequencyPenalty, presencePenalty, seed }).filter(
    ([, value]) => value !== undefined,
  );
  const warnings: SharedV4Warning[] = features.map(([feature]) => ({ type: "unsupported", feature }));
  if (responseFormat?.type === "json" && responseFormat.schema === undefined) {
    warnings.push({ type: "unsupported", feature: "responseFormat", details: "JSON needs a schema here." });
  }
  return warnings;
}

/** The API wants a limit, and refuses one that the model does not reach. */
function maxTokensOf(
  { maxOutputTokens }: LanguageModelV4CallOptions,
  { budget }: ClaudeThinking,
  { maxTokens, isKnown }: ClaudeTraits,
  warnings: SharedV4Warning[],
): number {
  const wanted = (maxOutputTokens ?? maxTokens) + budget;
  if (!isKnown) {
    const details = `The model is not known: its answers are limited to ${maxTokens} tokens.`;
    if (maxOutputTokens === undefined) warnings.push({ type: "compatibility", feature: "maxOutputTokens", details });
    return wanted;
  }
  if (maxOutputTokens !== undefined && wanted > maxTokens) {
    const details = `The answers of the model are limited to ${maxTokens} tokens.`;
    warnings.push({ type: "unsupported", feature: "maxOutputTokens", details });
  }
  return Math.min(wanted, maxTokens);
}

/** Models that think refuse all of these; the others refuse temperature and top P at once. */
function samplingOf(
  { temperature, topP, topK }: LanguageModelV4CallOptions,
  { isOn }: ClaudeThinking,
  { takesSampling }: ClaudeTraits,
  warnings: SharedV4Warning[],
): Fields {
  const drop = (feature: string, details: string) => void warnings.push({ type: "unsupported", feature, details });
  if (!takesSampling || isOn) {
    const why = takesSampling ? "A model that thinks has no such setting." : "The model has no such setting.";
    for (const [name, value] of Object.entries({ temperature, topP, topK })) if (value !== undefined) drop(name, why);
    return {};
  }
  const hasBoth = temperature !== undefined && topP !== undefined;
  if (hasBoth) drop("topP", "The API takes it in place of a temperature alone.");
  if (temperature !== undefined && temperature > 1) drop("temperature", "It is at most 1, which is sent.");
  return {
    temperature: temperature === undefined ? undefined : Math.min(1, Math.max(0, temperature)),
    top_p: hasBoth ? undefined : topP,
    top_k: topK,
  };
}

/** The form of a schema, where model and API can keep to it, else a tool. `structuredOutputMode` chooses. */
function structureOf(
  { responseFormat }: LanguageModelV4CallOptions,
  { structuredOutputMode: mode = "auto" }: Fields,
  { hasFormats, takesForcedTool }: ClaudeTraits,
  warnings: SharedV4Warning[],
): Structure {
  if (responseFormat?.type !== "json" || responseFormat.schema === undefined) return {};
  const { schema, description = "Gives the answer." } = responseFormat;
  const closed = mode === "outputFormat" || hasFormats ? closedSchema(schema) : undefined;
  const wantsTool = mode === "jsonTool" && (takesForcedTool || closed === undefined);
  if (closed !== undefined && !wantsTool) return { format: { type: "json_schema", schema: closed } };
  if (mode === "outputFormat") {
    const details = "The schema has no form that the API keeps answers to: a tool is used.";
    warnings.push({ type: "unsupported", feature: "structuredOutputMode", details });
  }
  return { tool: { name: answerTool, description, input_schema: schema } };
}

interface ToolsContext {
  readonly structure: Structure;
  readonly traits: ClaudeTraits;
  readonly thinking: ClaudeThinking;
  readonly marks: CacheMarks;
  readonly warnings: SharedV4Warning[];
  readonly given: Fields;
}

function toolsOf(options: LanguageModelV4CallOptions, context: ToolsContext): Fields {
  const { structure, warnings } = context;
  const isClosed = structure.tool !== undefined && options.toolChoice?.type === "none";
  const tools = (isClosed ? [] : (options.tools ?? [])).flatMap((tool): Fields[] => {
    if (tool.type === "function") return [toolOf(tool, context)];
    warnings.push({ type: "unsupported", feature: `provider-defined tool ${tool.id}` });
    return [];
  });
  const all = structure.tool === undefined ? tools : [...tools, structure.tool];
  // The API refuses an empty list, and a choice without one.
  return all.length === 0 ? {} : { tools: all, tool_choice: choiceOf(options, context) };
}

function toolOf(
  tool: Extract<NonNullable<LanguageModelV4CallOptions["tools"]>[number], { type: "function" }>,
  { marks, traits }: ToolsContext,
): Fields {
  const { name, description, inputSchema: input_schema, inputExamples } = tool;
  const { eagerInputStreaming: eager_input_streaming } = optionsOf(tool);
  const strict = traits.hasFormats && tool.strict === true ? true : undefined;
  const input_examples = inputExamples?.map(({ input }) => input);
  const fields = { name, description, input_schema, strict, eager_input_streaming, input_examples };
  return marks.mark(fields, tool);
}

function choiceOf({ toolChoice }: LanguageModelV4CallOptions, context: ToolsContext): Fields | undefined {
  const { structure, traits, thinking, warnings, given } = context;
  const isParallel = structure.tool === undefined && given.disableParallelToolUse !== true;
  const parallel = isParallel ? {} : { disable_parallel_tool_use: true };
  // The tool of the answer is one more that the model may call.
  const wanted = structure.tool === undefined ? toolChoice : ({ type: "required" } as const);
  if (wanted === undefined) return isParallel ? undefined : { type: "auto", ...parallel };
  if (wanted.type === "none") return { type: "none" };
  if (wanted.type === "auto") return { type: "auto", ...parallel };
  if (traits.takesForcedTool && thinking.thinking?.type !== "enabled") {
    return { ...(wanted.type === "required" ? { type: "any" } : { type: "tool", name: wanted.toolName }), ...parallel };
  }
  const details = "The model cannot be made to call a tool, and may answer without.";
  warnings.push({ type: "unsupported", feature: "toolChoice", details });
  return { type: "auto", ...parallel };
}

function betasOf({ prompt }: LanguageModelV4CallOptions, { anthropicBeta }: Fields): readonly string[] {
  const betas = new Set(Array.isArray(anthropicBeta) ? anthropicBeta.map(String) : []);
  const hasFile = prompt.some(
    ({ content }) =>
      typeof content !== "string" && content.some((part) => part.type === "file" && part.data.type === "reference"),
  );
  if (hasFile) betas.add(filesBeta);
  return [...betas];
}
