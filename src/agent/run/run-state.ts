import { randomUUID } from "node:crypto";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { AgentStep, AgentToolCall, TokenUsage } from "../../core/agent-event.ts";
import type { Conversation } from "../conversation.ts";
import { noUsage } from "./usage.ts";

/** How far a run is: a plain value, which JSON holds. */
export interface RunState {
  readonly id: string;
  /** What was said, without the system prompt. */
  readonly messages: LanguageModelV4Prompt;
  readonly steps: AgentStep[];
  readonly calls: AgentToolCall[];
  /** How many calls the conversation has made, those before this run included. */
  toolCalls: number;
  usage: TokenUsage;
  /** What the runs inside it have used, by their ids: all of it is in `usage`. */
  readonly inner: Record<string, TokenUsage>;
  repairs: number;
  /** The aliases of tools whose results the model knows how to read. */
  readonly guided: string[];
}

/** A run that is about to begin. */
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

/** What was said in a run until now. */
export function conversationIn({ messages, toolCalls }: RunState): Conversation {
  return { messages: [...messages], toolCalls };
}
