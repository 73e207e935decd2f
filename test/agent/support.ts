import type { LanguageModelV4Message, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import { type Agent, type AgentOptions, agent } from "../../src/agent/index.ts";
import { type Item, Toolkit, type ToolkitOptions } from "../../src/index.ts";
import { type ModelRequest, type Script, type ScriptedModel, scriptedModel } from "../../src/testing/index.ts";

/** An agent with a scripted model, and the toolkit it serves. */
export interface Served extends AsyncDisposable {
  readonly model: ScriptedModel;
  readonly assistant: Agent;
  readonly toolkit: Toolkit;
}

/** The options of an agent and its toolkit. */
export interface ServedOptions {
  readonly agent?: AgentOptions;
  readonly toolkit?: ToolkitOptions;
}

/** A toolkit whose prompts are executed by an agent whose model follows a script. */
export function serve(script: Script, items: readonly Item[] = [], options: ServedOptions = {}): Served {
  const model = scriptedModel(script);
  const assistant = agent({ defaultModel: model, ...options.agent });
  const toolkit = new Toolkit({ items: [...items], delegate: assistant, ...options.toolkit });
  return { model, assistant, toolkit, [Symbol.asyncDispose]: () => toolkit[Symbol.asyncDispose]() };
}

/** The results a model was told last, in order. */
export function resultsIn(request: ModelRequest | undefined): readonly LanguageModelV4ToolResultPart[] {
  const last = request?.prompt.at(-1);
  return last?.role === "tool" ? last.content.filter((part) => part.type === "tool-result") : [];
}

/** The last prompt of a model as one text. */
export function toldIn(request: ModelRequest | undefined): string {
  return resultsIn(request).map(textOf).join("\n");
}

function textOf({ output }: LanguageModelV4ToolResultPart): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "execution-denied":
      return output.reason ?? "";
    case "content":
      return output.value.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
    default:
      return JSON.stringify(output.value);
  }
}

/** The faults of messages for a provider; none where they are as all providers require. */
export function faultsOf(messages: readonly LanguageModelV4Message[]): readonly string[] {
  const faults: string[] = [];
  let open: readonly string[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    if (role === "system" || typeof content === "string") {
      if (index > 0) faults.push(`message ${index}: a system message is not the first`);
      continue;
    }
    if (content.length === 0) faults.push(`message ${index}: has no content`);
    if (content.some((part) => part.type === "text" && part.text === ""))
      faults.push(`message ${index}: an empty text`);
    const answered = content.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : []));
    if (role === "tool" || open.length > 0) {
      if (JSON.stringify(answered) !== JSON.stringify(open))
        faults.push(`message ${index}: answers [${answered}], and [${open}] were called`);
      open = [];
    }
    const called = content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
    if (new Set(called).size < called.length) faults.push(`message ${index}: an id twice`);
    if (called.length > 0) open = called;
  }
  if (open.length > 0) faults.push(`[${open}] are not answered`);
  return faults;
}
