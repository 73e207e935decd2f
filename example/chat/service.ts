// The part of docs/chat.md that is the same behind every server: an agent, and the answer to a request of `useChat`.
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { UIMessage } from "ai";
import { defineTool, parsePrompt, type Session, type Store, Toolkit } from "toolweave";
import { agent, recentHistory } from "toolweave/agent";
import { z } from "zod";

const forecast = defineTool({
  name: "forecast",
  description: "Tells the weather of a city.",
  input: z.object({ city: z.string() }),
  run: ({ city }) => ({ city, degrees: 21 }),
});
const pay = defineTool({
  name: "pay",
  description: "Pays a bill.",
  input: z.object({ cents: z.number() }),
  options: { needsApproval: true },
  run: ({ cents }) => `paid ${cents}`,
});

// #region prompt
const chat = parsePrompt(`---
name: chat
title: Chat with a customer
system_prompt: You are a kind assistant. Today is a good day.
tools: [forecast, pay]
input: { type: object, properties: { message: { type: string } }, required: [message] }
---
{{{message}}}`);
// #endregion prompt

// #region request
/** What `DefaultChatTransport` sends. */
export interface ChatRequest {
  readonly id: string;
  readonly messages: readonly UIMessage<{ run?: string }>[];
}
// #endregion request

/** A chat, and the toolkit that is to be closed with it. */
export function chatService(model: LanguageModelV4, store: Store) {
  // #region assistant
  const assistant = agent({ defaultModel: model, history: recentHistory({ maxTokens: 50_000 }) });
  const toolkit = new Toolkit({ items: [chat, forecast, pay], delegate: assistant, store });
  // #endregion assistant

  // #region answer
  /** Answers a request of `useChat`: its last message is a question, or a decision on a call that waits. */
  async function answer({ id, messages }: ChatRequest, session: Session): Promise<Response> {
    const last = messages.at(-1);
    if (last?.role === "assistant") return resume(last, session);
    const message = last?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
    const stream = assistant.stream({ prompt: "chat", input: { message } }, { conversation: id, session });
    return stream.toResponse({ format: "ai-sdk" });
  }
  // #endregion answer

  // #region approve
  async function resume({ parts, metadata }: ChatRequest["messages"][number], session: Session): Promise<Response> {
    for (const part of parts) {
      if (part.type !== "dynamic-tool" || part.state !== "approval-responded") continue;
      const { id, approved } = part.approval;
      // The id comes from a browser: only the caller's own call may be decided on.
      const { session: owner } = await toolkit.approvals.get(id);
      if (owner.principal !== session.principal) return new Response("Not found", { status: 404 });
      await toolkit.approvals.resolve(id, { approved, by: session.principal });
    }
    return assistant.stream({ resume: metadata?.run ?? "" }, { session }).toResponse({ format: "ai-sdk" });
  }
  // #endregion approve

  // #region reopen
  /** What `useChat({ id, messages })` begins with. */
  const messages = (id: string, session: Session): Promise<UIMessage[]> =>
    assistant.conversations.uiMessages(id, { session });
  // #endregion reopen

  return { assistant, toolkit, answer, messages };
}

export type ChatService = ReturnType<typeof chatService>;

// #region session
/** In place of authentication. Without a principal all who call share their conversations. */
export function sessionOf(headers: { get(name: string): string | null }): Session {
  const principal = headers.get("x-user") ?? "guest";
  return { id: principal, principal };
}
// #endregion session
