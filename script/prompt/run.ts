import { agent } from "../../src/agent/index.ts";
import { standIn } from "../../src/cli/stand-in-model.ts";
import { ToolkitError } from "../../src/core/error.ts";
import type { Prompt } from "../../src/core/item.ts";
import type { Content } from "../../src/core/resource.ts";
import type { JsonSchema } from "../../src/core/schema/types.ts";
import { isRecord } from "../../src/lib/value.ts";
import { coerceArguments } from "../../src/prompt/prompt-arguments.ts";
import { readPrompt } from "../../src/prompt/read-prompts.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type RunCommand, UsageError } from "./command.ts";
import { addNeighbours } from "./folder.ts";
import { connectServers } from "./servers.ts";

/** The variables in which providers expect their keys. */
const keys = [
  "ANTHROPIC_API_KEY",
  "GOOGLE_GENERATIVE_AI_API_KEY",
  "MISTRAL_API_KEY",
  "OPENAI_API_KEY",
  "OLLAMA_BASE_URL",
];

/** Runs a prompt and prints its result, which fits its `output`. @returns the exit code */
export async function run(command: RunCommand, signal: AbortSignal): Promise<number> {
  const prompt = await readPrompt(command.file, { signal });
  const input = inputOf(prompt, command);
  const attachments = await Promise.all(command.attachments.map((file) => resource.read(file, { signal })));
  const hasKey = keys.some((key) => process.env[key]);
  const isOffline = command.model === undefined && !hasKey;
  if (isOffline) {
    process.stderr.write(
      "No model is asked: there is no --model, and no key in the environment. The result is made up.\n",
    );
  }
  // A model the prompt names is not asked either.
  const target = isOffline || command.model !== undefined ? withoutModel(prompt) : prompt;
  const delegate = agent({ defaultModel: isOffline ? standIn() : command.model });
  await using toolkit = new Toolkit({ delegate });
  toolkit.add(target);
  await addNeighbours(toolkit, command.file, signal);
  if (command.mcp !== undefined) await connectServers(toolkit, command.mcp, signal);
  const isLive = process.stdout.isTTY === true && !command.json && prompt.output === undefined;
  const called = toolkit.call(target, input, {
    signal,
    attachments,
    onEvent: (event) => {
      if (isLive && event.depth === 0 && event.type === "textDelta") process.stdout.write(event.delta);
    },
  });
  const result = await (isOffline ? called.catch(rejectMadeUp) : called);
  process.stdout.write(isLive ? "\n" : `${await written(result, prompt, command.json)}\n`);
  return 0;
}

/** Explains that the prompt is not at fault: from some schemas, such as a pattern, no value can be made up. */
function rejectMadeUp(error: unknown): never {
  if (!ToolkitError.is(error, "INVALID_OUTPUT")) throw error;
  const issues = error.details.issues.map(({ pointer, message }) => `${pointer} ${message}`.trim()).join("; ");
  const message = `No result could be made up that fits output: ${issues}. That is no mistake of the prompt: give such a value an example, as in \`examples: [...]\`, or name a model with --model.`;
  throw new ToolkitError("INVALID_OUTPUT", message, error.details, { cause: error });
}

function inputOf(prompt: Prompt, { input, values }: RunCommand): unknown {
  if (Object.keys(values).length === 0) return input ?? {};
  if (input !== undefined && !isRecord(input))
    throw new UsageError("name=value goes with an --input that is an object alone.");
  const given = coerceArguments(prompt.input as JsonSchema | undefined, values);
  return isRecord(given) ? { ...(input ?? {}), ...given } : given;
}

/** The prompt, executed with the default model. */
function withoutModel(prompt: Prompt): Prompt {
  const { kind, name, title, description, input, output, system, tools, thinking, thinkingBudget, settings } = prompt;
  const fields = { kind, name, title, description, input, output, system, tools, thinking, thinkingBudget, settings };
  return { ...fields, render: (given, context) => prompt.render(given, context) };
}

async function written(result: Content, prompt: Prompt, isJson: boolean): Promise<string> {
  const value = prompt.output === undefined ? await result.text() : await result.json();
  const { usage, model, finishReason, steps } = result.meta ?? {};
  if (isJson) return JSON.stringify({ result: value, model, finishReason, steps, usage }, undefined, 2);
  return typeof value === "string" ? value.trimEnd() : JSON.stringify(value, undefined, 2);
}
