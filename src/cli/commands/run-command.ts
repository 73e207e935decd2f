import { resolve } from "node:path";
import type { ModelsOptions } from "../../agent/index.ts";
import type { AgentEvent } from "../../core/agent-event.ts";
import { visible } from "../../lib/visible-text.ts";
import { readPrompt } from "../../prompt/read-prompts.ts";
import { resource } from "../../resource/resource-factory.ts";
import { readCallInput } from "../call-input.ts";
import { exitCodes } from "../exit-code.ts";
import { showContent } from "../show-content.ts";
import type { Terminal } from "../terminal.ts";
import { openWorkspace, recordTo } from "../workspace.ts";
import { type CallCommandOptions, callOptions, completeInput } from "./call-command.ts";

/** The options of `run`. */
export interface RunCommandOptions extends CallCommandOptions {
  readonly model?: string | undefined;
  readonly attach?: readonly string[] | undefined;
  readonly record?: string | undefined;
}

/** Runs a prompt by name or from a file, and prints the answer as it comes. @returns the exit code */
export async function run(
  target: string,
  args: readonly string[],
  options: RunCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { cwd } = terminal.streams;
  const written = await readCallInput(args, terminal.streams);
  const attachments = await Promise.all(
    (options.attach ?? []).map((file) => resource.read(resolve(cwd, file), { signal })),
  );
  const file = /\.(?:md|prompt)$/.test(target) ? await readPrompt(resolve(cwd, target), { signal }) : undefined;
  const { model, models } = await chosenModel(options.model);
  const use = { lazy: true, isOptional: file !== undefined, models, signal };
  await using workspace = await openWorkspace(options, terminal, use);
  const { toolkit } = workspace;
  if (file !== undefined) toolkit.add(file);
  const name = file === undefined ? target : `builtin.${file.name}`;
  const input = await completeInput(workspace, name, written, terminal, signal);
  if (input === undefined) return exitCodes.interrupted;
  await using _tape = await recordTo(options.record, toolkit, terminal);
  const isShown = options.json !== true && options.output === undefined;
  const answer = new StreamedAnswer(terminal, isShown);
  const content = await toolkit.call(name, input, {
    ...callOptions(workspace, { ...written, isLoose: true }, options, terminal, signal),
    model,
    attachments,
    onEvent: (event) => answer.show(event),
  });
  // A structured answer does not come as text, or comes with repairs between.
  if (isShown && answer.isWhole(await content.text())) terminal.print("");
  else await showContent(content, options, terminal);
  return exitCodes.ok;
}

/** `stand-in` names a model that makes its answers up: no key is needed to try a prompt. */
async function chosenModel(name: string | undefined): Promise<Pick<ModelsOptions, "models"> & { model?: string }> {
  if (name !== "stand-in") return name === undefined ? {} : { model: name };
  const { standIn } = await import("../stand-in-model.ts");
  const model = standIn();
  const ref = `${model.provider}/${model.modelId}`;
  return { model: ref, models: { [ref]: model } };
}

/** The text of the last step as it comes, and the tool calls before it. */
class StreamedAnswer {
  readonly #terminal: Terminal;
  readonly #isShown: boolean;
  #text = "";

  constructor(terminal: Terminal, isShown: boolean) {
    this.#terminal = terminal;
    this.#isShown = isShown;
  }

  show(event: AgentEvent): void {
    if (event.depth > 0) return;
    if (event.type === "textDelta" && this.#isShown) {
      this.#text += event.delta;
      this.#terminal.write(event.delta);
    }
    if (event.type !== "toolCall") return;
    if (this.#text !== "") this.#terminal.print("");
    this.#text = "";
    this.#terminal.note(visible(`> ${event.name} ${JSON.stringify(event.input)}`).slice(0, 500), "dim");
  }

  /** Whether all of the answer was shown. */
  isWhole(answer: string): boolean {
    return this.#text !== "" && this.#text.trim() === answer.trim();
  }
}
