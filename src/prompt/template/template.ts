import { messageOf, ToolkitError } from "../../core/error.ts";
import { placeOf, promptProblem } from "../problem.ts";
import { checkTemplate, type TemplateRole } from "./check.ts";
import { type Compiled, compileTemplate, renderOptions } from "./engine.ts";
import { type PlainPartial, plainPartials } from "./plain.ts";
import type { TemplateSource } from "./source.ts";
import type { PartialUse, TemplateUses } from "./uses.ts";

/** A partial by its name. */
export type NamedPartial = Pick<PartialUse, "name" | "place">;

/** A checked template, compiled when it is first needed and never again. */
export class Template {
  readonly source: TemplateSource;
  readonly partials: readonly NamedPartial[];
  readonly #role: TemplateRole;
  #uses: TemplateUses | undefined;
  #compiled: Compiled | undefined;

  /** @throws ToolkitError `INVALID_PROMPT` */
  constructor(source: TemplateSource, role: TemplateRole) {
    this.source = source;
    this.#role = role;
    // Files of dotprompt have words of their own.
    const plain = source.isDotprompt === true ? undefined : plainPartials(source.text);
    this.partials = plain === undefined ? this.uses.partials : plain.map((partial) => placed(partial, source));
  }

  /** What it needs, in full. */
  get uses(): TemplateUses {
    this.#uses ??= checkTemplate(this.source, this.#role);
    return this.#uses;
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

/** Its place is found when somebody asks: only what is wrong is told with it. */
function placed({ name, offset }: PlainPartial, source: TemplateSource): NamedPartial {
  return {
    name,
    get place() {
      const { line, column } = placeOf(source.text, offset);
      return source.placeAt(line, column);
    },
  };
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
