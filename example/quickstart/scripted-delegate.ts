import { type CallContext, type Delegate, type Entry, type Resource, resource } from "toolweave";

/** Stands for a language model: the same text gives the same answer. */
type Model = (prompt: string) => string;

/**
 * The least a delegate can be: it renders the prompt, asks a model, and gives its answer back. JSON is asked for where the prompt
 * has an output schema; the Toolkit validates it.
 */
export class ScriptedDelegate implements Delegate {
  readonly #model: Model;

  constructor(model: Model) {
    this.#model = model;
  }

  async runPrompt(prompt: Entry<"prompt">, input: unknown, context: CallContext): Promise<Resource> {
    const { messages } = await context.toolbox.render(prompt, input);
    const texts = await Promise.all(messages.flatMap(({ content }) => content).map((part) => part.text(context)));
    const answer = this.#model(texts.join("\n"));
    return prompt.item.output === undefined
      ? resource.text("answer", answer)
      : resource.json("answer", JSON.parse(answer));
  }
}
