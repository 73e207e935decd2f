import { definitionOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import type { SampleContent } from "../core/interaction.ts";
import type { CallContext, Prompt } from "../core/item.ts";
import type { Content } from "../core/resource.ts";
import { isSafeToRepeat } from "../core/tool-options.ts";
import { textContent } from "../resource/content.ts";
import { resource } from "../resource/resource-factory.ts";
import { attachmentOf } from "./step-result.ts";
import type { OuterAction } from "./workflow-plan.ts";

/** A call that a step makes. */
export interface PreparedCall {
  /** It may be made again where it is not known whether it was made. */
  readonly isRepeatable: boolean;
  make(): Promise<Content>;
}

/** The step that makes a call. */
export interface CallingStep {
  readonly id: string;
  readonly action: OuterAction;
  readonly signal: AbortSignal;
  /** The results of the steps before it, by id. */
  readonly earlier: Readonly<Record<string, unknown>>;
}

type ModelAction = Extract<OuterAction, { readonly kind: "model" }>;

/** The longest answer of a caller's own model, in tokens. */
const maxSampleTokens = 4_096;

/**
 * The call of a step.
 *
 * @throws ToolkitError `NOT_FOUND` for a tool or prompt that there is not; `UNAVAILABLE` where its connector is away
 */
export async function stepCall(step: CallingStep, input: unknown, context: CallContext): Promise<PreparedCall> {
  const { action, signal } = step;
  const { toolbox } = context;
  switch (action.kind) {
    case "tool": {
      const entry = await toolbox.lookup(action.target, { kind: "tool", signal });
      const isRepeatable = isSafeToRepeat(definitionOf(entry).annotations);
      return { isRepeatable, make: () => toolbox.call(entry, input, { signal }) };
    }
    case "run": {
      const entry = await toolbox.lookup(action.target, { kind: "prompt", signal });
      // A model that has tools may have changed something with them.
      const { tools = [] } = entry.item;
      return { isRepeatable: tools.length === 0, make: () => toolbox.call(entry, input, { signal }) };
    }
    default:
      return { isRepeatable: true, make: () => ask(step, action, String(input ?? ""), context) };
  }
}

/** Asks the model of an agent; without one the model of the caller, where no model is named. */
async function ask(
  { id, signal, earlier }: CallingStep,
  { model, schema, hasReferences }: ModelAction,
  text: string,
  context: CallContext,
): Promise<Content> {
  const known = Object.entries(earlier).filter(([, result]) => result !== null);
  const attachments = hasReferences ? [] : known.map(([name, result]) => attachmentOf(name, result));
  const prompt: Prompt = {
    kind: "prompt",
    name: id,
    output: schema,
    render: async (_input, { attachments: attached }) => ({
      messages: [{ role: "user", content: [resource.text("prompt", text), ...attached] }],
    }),
  };
  const isAny = model === "default";
  try {
    return await context.toolbox.call(prompt, {}, { signal, attachments, ...(isAny ? {} : { model }) });
  } catch (error) {
    if (!ToolkitError.is(error, "NO_DELEGATE") || !isAny || schema !== undefined) throw error;
    return sampled(text, attachments, context.derive({ signal }), error);
  }
}

async function sampled(
  text: string,
  attachments: readonly Content[],
  context: CallContext,
  unasked: ToolkitError,
): Promise<Content> {
  const lines = await Promise.all(attachments.map(async (each) => `${each.name}: ${await each.text()}`));
  const content: SampleContent = { type: "text", text: [text, ...lines].join("\n\n") };
  try {
    const answer = await context.sample({ messages: [{ role: "user", content }], maxTokens: maxSampleTokens });
    const texts = [answer.content].flat().flatMap((block) => (block.type === "text" ? [block.text] : []));
    return textContent(texts.join("\n"), { name: "answer" });
  } catch (error) {
    throw ToolkitError.is(error, "NO_DELEGATE") ? unasked : error;
  }
}
