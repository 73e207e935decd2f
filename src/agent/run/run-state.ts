import { randomUUID } from "node:crypto";
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { AgentStep, AgentToolCall, TokenUsage } from "../../core/agent-event.ts";
import { noUsage } from "./usage.ts";

/** The messages between a user, a model and its tools: a plain JSON value from which a later run goes on. */
export interface Conversation {
  /** In the form of the model port, without the system prompt. */
  readonly messages: LanguageModelV4Prompt;
  /** Tool calls made so far. */
  readonly toolCalls: number;
}

/** The progress of a run: a plain JSON value. */
export interface RunState {
  readonly id: string;
  /** The conversation so far, without the system prompt. */
  readonly messages: LanguageModelV4Prompt;
  readonly steps: AgentStep[];
  readonly calls: AgentToolCall[];
  /** Tool calls of the conversation, also those before this run. */
  toolCalls: number;
  usage: TokenUsage;
  /** The usage of runs inside this one, by their ids. It is included in `usage`. */
  readonly inner: Record<string, TokenUsage>;
  repairs: number;
  /** The aliases of tools whose format guidance the model has got. */
  readonly guided: string[];
}

/** The state of a run before its first step. */
export function newRunState(messages: LanguageModelV4Prompt, toolCalls: number): RunState {
  return {
    id: randomUUID(),
    messages: [...messages],
    steps: [],
    calls: [],
    toolCalls,
    usage: noUsage,
    inner: {},
    repairs: 0,
    guided: [],
  };
}

/** The conversation of a run so far. */
export function conversationIn({ messages, toolCalls }: RunState): Conversation {
  return { messages: [...messages], toolCalls };
}

/** A text as a message of the user. */
export function userText(text: string): LanguageModelV4Message {
  return { role: "user", content: [{ type: "text", text }] };
}
