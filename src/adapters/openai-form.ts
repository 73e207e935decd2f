import type { ToolAnswer, ToolCall } from "../toolset/toolset-types.ts";
import type { AdapterOptions, ToolLoss } from "./offered-tools.ts";

/** Which API of OpenAI: Chat Completions or Responses. */
export type OpenAIApi = "chat" | "responses";

/** How tools are told to OpenAI. */
export interface OpenAIOptions<A extends OpenAIApi = OpenAIApi> extends AdapterOptions {
  readonly api: A;
  /** Default true: each tool is told in strict mode whose schema can be. With false none is. */
  readonly strict?: boolean | undefined;
}

/** A function, as both APIs tell it. */
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

/** A piece of a result for the Responses API. */
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
  /** What OpenAI is not told, and which tools are not in strict mode, and why. */
  readonly lost: readonly ToolLoss[];
  /**
   * The calls in what a model gave: its message in Chat Completions, the response or its `output` in the Responses API.
   */
  calls(given: unknown): readonly ToolCall[];
  /** What to send back, in the order of the answers. */
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
