import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { definitionOf } from "../../core/entry.ts";
import { ToolkitError } from "../../core/error.ts";
import type { CallContext, Entry, Tool } from "../../core/item.ts";
import type { ModelSettings } from "../../core/model-settings.ts";
import type { SchemaLike } from "../../core/schema/types.ts";
import { modelMessages } from "./model-message.ts";

/** Who is to answer, and in which form. */
export interface ModelWish {
  /** What the model is told of its role. */
  readonly system?: string | undefined;
  /** The form of the answer. Default: text. */
  readonly output?: SchemaLike | undefined;
  /** Its name, or `provider/name`. Default: the agent's. */
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly thinking?: boolean | undefined;
  /** In tokens. */
  readonly thinkingBudget?: number | undefined;
  readonly settings?: ModelSettings | undefined;
}

/** What one run of an agent is to do. */
export interface Task extends ModelWish {
  /** Of the prompt. */
  readonly ref: string;
  readonly name: string;
  /** What was said so far. */
  readonly messages: LanguageModelV4Prompt;
  /** Names and globs of what the model may use. Default: none. */
  readonly tools?: readonly string[] | undefined;
  /** Tools that are handed over, beside those that are named. */
  readonly ownTools?: readonly Tool[] | undefined;
}

/**
 * What a prompt asks for: rendered, its attachments read.
 *
 * @throws ToolkitError `INVALID_INPUT` where that is nothing; whatever rendering or reading an attachment throws
 */
export async function taskOf(entry: Entry<"prompt">, input: unknown, context: CallContext): Promise<Task> {
  const { item, ref, name } = entry;
  const { system, messages } = await item.render(input, context);
  const { attachments, signal } = context;
  const said = await modelMessages(messages, { attachments, signal });
  const asked = said.filter(({ content }) => content.length > 0);
  if (asked.length === 0) throw nothingAsked(`What ${ref} renders to`);
  return {
    ref,
    name,
    system,
    messages: asked,
    tools: item.tools,
    output: definitionOf(entry).outputSchema,
    model: item.model,
    provider: item.provider,
    thinking: item.thinking,
    thinkingBudget: item.thinkingBudget,
    settings: item.settings,
  };
}

/** The error of a request that says nothing: providers refuse it, each in words of its own. */
export function nothingAsked(what: string): ToolkitError<"INVALID_INPUT"> {
  const message = `${what} is empty: there is nothing to ask a model.`;
  return new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "", message }] });
}
