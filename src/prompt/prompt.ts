import { messageOf, ToolkitError } from "../core/error.ts";
import type { CallContext, Prompt, RenderedPrompt } from "../core/item.ts";
import type { ModelSettings } from "../core/model-settings.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import { type Validator, validatorOf } from "../core/schema/validator.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import { digestTexts } from "../lib/canonical.ts";
import { topLevelDefaults } from "./defaults.ts";
import type { PromptFields } from "./front-matter/fields.ts";
import { messagesOf } from "./messages.ts";
import { type Place, promptProblem } from "./problem.ts";
import type { Template } from "./template/template.ts";

/** What a prompt was read from: for tools that check prompts, such as a linter. */
export interface PromptSource {
  readonly file: string | undefined;
  /** All of it, front matter included, with Unix line ends. */
  readonly text: string;
  /** The fields that are not known. */
  readonly unknown: readonly string[];
  readonly body: Template;
  readonly system: Template | undefined;
  readonly partials: ReadonlyMap<string, Template>;
  /** Where a field, or a value inside it, is written. */
  placeOf(path: readonly (string | number)[]): Place;
}

/** A prompt read from a markdown file. */
export class FilePrompt implements Prompt {
  readonly kind = "prompt";
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly system: string | undefined;
  readonly tools: readonly string[] | undefined;
  readonly thinking: boolean | undefined;
  readonly thinkingBudget: number | undefined;
  readonly settings: ModelSettings | undefined;
  /** A hash of its file and partials: a prompt that renders to something else is another prompt. */
  readonly version: string;
  readonly #source: PromptSource;
  readonly #defaults: Readonly<Record<string, unknown>> | undefined;
  #validate: Validator | undefined;

  constructor(fields: PromptFields, title: string | undefined, source: PromptSource) {
    this.name = fields.name;
    this.title = title;
    this.description = fields.description;
    this.meta = fields.unknown === undefined ? undefined : Object.freeze({ frontMatter: fields.unknown });
    this.input = fields.input;
    this.output = fields.output;
    this.model = fields.model;
    this.provider = fields.provider;
    this.system = fields.system;
    this.tools = fields.tools;
    this.thinking = fields.thinking;
    this.thinkingBudget = fields.thinkingBudget;
    this.settings = fields.settings;
    const partials = [...source.partials].flatMap(([name, partial]) => [name, partial.source.text]);
    this.version = digestTexts(source.text, ...partials);
    this.#source = source;
    this.#defaults = topLevelDefaults(fields.input);
  }

  /** Where a prompt of a file comes from; undefined for a prompt of another making. */
  static sourceOf(prompt: Prompt): PromptSource | undefined {
    return #source in prompt ? (prompt as FilePrompt).#source : undefined;
  }

  /**
   * Renders to one user message: the text, then the attachments in their order. A `.prompt` file may say more of roles and files.
   *
   * @throws ToolkitError `INVALID_INPUT` with every issue where the input does not fit the schema or cannot be shown,
   *   `INVALID_PROMPT` where the schema cannot be used
   */
  async render(input: unknown, context: CallContext): Promise<RenderedPrompt> {
    const given = input === undefined && takesObject(this.input) ? {} : input;
    const checked = this.#checked(given);
    // To wait for what is there already would cost a turn of the queue.
    const value = this.#withDefaults(checked instanceof Promise ? await checked : checked);
    const { body, system, partials } = this.#source;
    const above = system === undefined ? undefined : system.render(value, partials).trim();
    const rendered = body.render(value, partials);
    const { attachments } = context;
    return messagesOf(rendered, { name: this.name, file: this.#source.file, system: above, attachments });
  }

  #checked(input: unknown): unknown {
    if (this.input === undefined) return input;
    this.#validate ??= validatorOf(this.input);
    let result: unknown;
    try {
      result = this.#validate(input);
    } catch (cause) {
      throw this.#unusableSchema(cause);
    }
    if (!(result instanceof Promise)) return this.#accepted(result);
    return result.then(
      (value) => this.#accepted(value),
      (cause) => {
        throw this.#unusableSchema(cause);
      },
    );
  }

  #accepted(result: unknown): unknown {
    if (!(result instanceof Violation)) return result;
    const { issues } = result;
    throw new ToolkitError(
      "INVALID_INPUT",
      `The input of the prompt "${this.name}" does not fit: ${describeIssues(issues)}.`,
      {
        issues,
      },
    );
  }

  #unusableSchema(cause: unknown): Error {
    const { file } = this.#source;
    const what = `The schema in input cannot be used: ${messageOf(cause)}.`;
    return promptProblem(
      file,
      this.#source.placeOf(["input"]),
      what,
      "Correct it, or put what it refers to under $defs.",
      cause,
    );
  }

  #withDefaults(input: unknown): unknown {
    const defaults = this.#defaults;
    if (defaults === undefined || typeof input !== "object" || input === null || Array.isArray(input)) return input;
    const given = input as Record<string, unknown>;
    const missing = Object.keys(defaults).filter((name) => !Object.hasOwn(given, name) || given[name] === undefined);
    if (missing.length === 0) return input;
    return { ...given, ...Object.fromEntries(missing.map((name) => [name, defaults[name]])) };
  }
}

function takesObject(schema: JsonSchema | undefined): boolean {
  return schema?.type === undefined || schema.type === "object";
}
