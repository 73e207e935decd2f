import { messageOf, ToolkitError } from "../../core/error.ts";
import { promptProblem } from "../problem.ts";
import { checkTemplate, type TemplateRole } from "./check.ts";
import { type Compiled, compileTemplate, renderOptions } from "./engine.ts";
import type { TemplateSource } from "./source.ts";
import type { TemplateUses } from "./uses.ts";

/** A checked template, compiled when it is first needed and never again. */
export class Template {
  readonly source: TemplateSource;
  readonly uses: TemplateUses;
  #compiled: Compiled | undefined;

  /** @throws ToolkitError `INVALID_PROMPT` */
  constructor(source: TemplateSource, role: TemplateRole) {
    this.source = source;
    this.uses = checkTemplate(source, role);
  }

  compiled(): Compiled {
    if (this.#compiled === undefined) {
      const { text } = this.source;
      this.#compiled = text.includes("{{") ? compileTemplate(text) : () => text;
    }
    return this.#compiled;
  }

  /**
   * The text for an input.
   *
   * @throws ToolkitError `INVALID_INPUT` for a value that cannot be shown, `INVALID_PROMPT` for any other failure
   */
  render(input: unknown, partials: ReadonlyMap<string, Template>): string {
    try {
      return this.compiled()(input, partials.size === 0 ? renderOptions : withPartials(partials));
    } catch (error) {
      if (ToolkitError.is(error)) throw error;
      const { file } = this.source;
      const what = `The template cannot be rendered: ${messageOf(error)}.`;
      throw promptProblem(file, this.source.placeAt(1, 1), what, "Look at what it does with this input.", error);
    }
  }
}

const optionsOf = new WeakMap<ReadonlyMap<string, Template>, object>();

function withPartials(partials: ReadonlyMap<string, Template>): object {
  let options = optionsOf.get(partials);
  if (options === undefined) {
    const compiled = Object.fromEntries([...partials].map(([name, partial]) => [name, partial.compiled()]));
    options = { ...renderOptions, partials: compiled };
    optionsOf.set(partials, options);
  }
  return options;
}
