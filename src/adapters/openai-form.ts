import type { ToolAnswer, ToolCall } from "../toolset/toolset-types.ts";
import type { AdapterOptions, ToolLoss } from "./tool-writer.ts";

/** An API of OpenAI: Chat Completions or Responses. */
export type OpenAIApi = "chat" | "responses";

/** Options of the adapter for OpenAI. */
export interface OpenAIOptions<A extends OpenAIApi = OpenAIApi> extends AdapterOptions {
  readonly api: A;
  /** Default true: every tool whose schema allows it is in strict mode. With false none is. */
  readonly strict?: boolean | undefined;
}

/** A function, in the form that both APIs share. */
export interface OpenAIFunction {
  name: string;
  description?: string;
  parameters: { [keyword: string]: unknown };
  strict: boolean;
}

/** A tool of Chat Completions. */
export interface OpenAIChatTool {
  type: "function";
  function: OpenAIFunction;
}

/** A tool of the Responses API. */
export interface OpenAIResponsesTool extends OpenAIFunction {
  type: "function";
}

/** The tool choice of Chat Completions. */
export type OpenAIChatToolChoice = "auto" | "required" | "none" | { type: "function"; function: { name: string } };

/** The tool choice of the Responses API. */
export type OpenAIResponsesToolChoice = "auto" | "required" | "none" | { type: "function"; name: string };

/** The result of a call, as a message of Chat Completions. */
export interface OpenAIToolMessage {
  role: "tool";
  tool_call_id: string;
  content: string;
}

/** A part of a result for the Responses API. */
export type OpenAIOutputPart =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: "auto" }
  | { type: "input_file"; filename: string; file_data: string };

/** The result of a call, as an item of the Responses API. */
export interface OpenAICallOutput {
  type: "function_call_output";
  call_id: string;
  output: string | OpenAIOutputPart[];
}

/** Tools for one of the APIs, and back. */
export interface OpenAIAdapter<Tool, Choice, Result> {
  /** Undefined for none. */
  readonly tools: Tool[] | undefined;
  /** Undefined where there are no tools. */
  readonly toolChoice: Choice | undefined;
  /** The parts of schemas that OpenAI does not get, and the reasons why tools are not in strict mode. */
  readonly lost: readonly ToolLoss[];
  /** The calls of a model: in its message in Chat Completions, in the response or its `output` in the Responses API. */
  calls(given: unknown): readonly ToolCall[];
  /** The messages or items to send back, in the order of the answers. */
  results(answers: readonly ToolAnswer[]): Promise<Result[]>;
}

/** Tools for Chat Completions and back. */
export type OpenAIChatAdapter = OpenAIAdapter<OpenAIChatTool, OpenAIChatToolChoice, OpenAIToolMessage>;

/** Tools for the Responses API and back. */
export type OpenAIResponsesAdapter = OpenAIAdapter<OpenAIResponsesTool, OpenAIResponsesToolChoice, OpenAICallOutput>;

/** The adapter of each API. */
export interface OpenAIAdapters {
  chat: OpenAIChatAdapter;
  responses: OpenAIResponsesAdapter;
}
