import { egressOf } from "../core/egress.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { CallContext, Prompt, RenderedPrompt } from "../core/item.ts";
import type { ModelSettings } from "../core/model-settings.ts";
import type { ReadPromptLimits } from "../core/prompt-limits.ts";
import { markForeign } from "../core/schema/foreign-schema.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import { type Validator, validatorOf } from "../core/schema/validator.ts";
import { describeIssues, Violation } from "../core/schema/violation.ts";
import { digestTexts } from "../lib/canonical.ts";
import { Turns } from "../lib/turns.ts";
import { type FieldPath, isRecord } from "../lib/value.ts";
import type { PromptFields } from "./front-matter/prompt-fields.ts";
import { renderedMessages } from "./prompt-messages.ts";
import { type Place, promptProblem } from "./prompt-problem.ts";
import type { Partials } from "./template/partials.ts";
import type { Template } from "./template/prompt-template.ts";
import { Rendering, type TextOf } from "./template/rendering.ts";

/** The source of a prompt, for programs that inspect prompts. */
export interface PromptSource {
  readonly file: string | undefined;
  /** The whole file, front matter included, with Unix line ends. */
  readonly text: string;
  /** The names of unknown fields. */
  readonly unknown: readonly string[];
  readonly body: Template;
  readonly system: Template | undefined;
  readonly partials: ReadonlyMap<string, Template>;
  readonly limits: ReadPromptLimits;
  /** The place of a field, or of a value inside it. */
  placeOf(path: FieldPath): Place;
}

/** A prompt that was parsed from a file. */
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
  /** A hash of its file and partials: it changes when the prompt may render to something else. */
  readonly version: string;
  readonly #fields: PromptFields;
  readonly #source: PromptSource;
  readonly #defaults: Readonly<Record<string, unknown>> | undefined;
  readonly #partial: (name: string) => TextOf;
  #validate: Validator | undefined;
  /** False for templates that are to be compiled first; others are where a rendering meets them. */
  #isCompiled: boolean;

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
    for (const schema of [fields.input, fields.output]) markForeign(schema);
    this.#fields = fields;
    this.#source = source;
    this.#partial = (name) => source.partials.get(name)?.compiled() ?? (() => "");
    this.#defaults = topLevelDefaults(fields.input);
    const length = templatesOf(source).reduce((sum, template) => sum + template.source.text.length, 0);
    this.#isCompiled = length <= maxCompiledAtOnce;
  }

  /** The source of a prompt; undefined for one that was not parsed from a file. */
  static sourceOf(prompt: Prompt): PromptSource | undefined {
    return #source in prompt ? (prompt as FilePrompt).#source : undefined;
  }

  /**
   * The prompt with the partials as they are now; undefined for one that was not parsed from a file. Its own text is not parsed again: a
   * change of a partial that many large prompts use would take as long as all of them.
   *
   * @throws ToolkitError `INVALID_PROMPT` for a partial that is missing or wrong, or uses itself
   */
  static withPartials(prompt: Prompt, folder: Partials): FilePrompt | undefined {
    if (!(#source in prompt)) return undefined;
    const { title } = prompt;
    const [fields, source] = [prompt.#fields, prompt.#source];
    return new FilePrompt(fields, title, { ...source, partials: folder.neededBy(source.body, source.system) });
  }

  /**
   * Renders to one user message: the text, then the attachments in their order. A `.prompt` file may say more of roles and files.
   *
   * @throws ToolkitError `INVALID_INPUT` with every issue where the input does not fit the schema or cannot be shown,
   *   `LIMIT_EXCEEDED` where it would take more than the limits of the prompt allow, `INVALID_PROMPT` where the schema cannot be used
   */
  async render(input: unknown, context: CallContext): Promise<RenderedPrompt> {
    const given = input === undefined && takesObject(this.input) ? {} : input;
    const checked = this.#checked(given);
    // Awaiting a value that is no promise would cost a turn of the microtask queue.
    const value = this.#withDefaults(checked instanceof Promise ? await checked : checked);
    if (!this.#isCompiled) await this.#compile(context);
    const { file, body, system, limits } = this.#source;
    const run = new Rendering(limits, this.#partial);
    const systemText = system?.render(value, run).trim();
    const pieces = run.piecesOf(body.render(value, run));
    const { attachments } = context;
    const egress = egressOf(context);
    return renderedMessages(pieces, { name: this.name, file, system: systemText, attachments, egress });
  }

  /** Compiles large templates before they are rendered: a rendering that meets hundreds of them would keep all others waiting. */
  async #compile({ signal }: CallContext): Promise<void> {
    const turns = new Turns();
    for (const template of templatesOf(this.#source)) {
      template.compiled();
      if (!turns.isOver) continue;
      await turns.next();
      signal?.throwIfAborted();
    }
    this.#isCompiled = true;
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
    const message = `The input of the prompt "${this.name}" does not fit: ${describeIssues(issues)}.`;
    throw new ToolkitError("INVALID_INPUT", message, { issues });
  }

  #unusableSchema(cause: unknown): Error {
    const { file, placeOf } = this.#source;
    const what = `The schema in input cannot be used: ${messageOf(cause)}.`;
    return promptProblem(file, placeOf(["input"]), what, "Correct it, or put what it refers to under $defs.", cause);
  }

  #withDefaults(input: unknown): unknown {
    const defaults = this.#defaults;
    if (defaults === undefined || !isRecord(input)) return input;
    const missing = Object.keys(defaults).filter((name) => !Object.hasOwn(input, name) || input[name] === undefined);
    if (missing.length === 0) return input;
    return { ...input, ...Object.fromEntries(missing.map((name) => [name, defaults[name]])) };
  }
}

/** Templates with more text together are compiled in turns, in characters. */
const maxCompiledAtOnce = 32 * 1024;

function templatesOf({ body, system, partials }: PromptSource): readonly Template[] {
  return system === undefined ? [body, ...partials.values()] : [body, system, ...partials.values()];
}

/** The defaults of the top-level properties of a schema; undefined for none. */
function topLevelDefaults(schema: JsonSchema | undefined): Readonly<Record<string, unknown>> | undefined {
  const properties = (schema?.properties ?? {}) as Record<string, unknown>;
  const defaults = Object.entries(properties).flatMap(([name, property]) =>
    isRecord(property) && Object.hasOwn(property, "default") ? [[name, property.default] as const] : [],
  );
  return defaults.length === 0 ? undefined : Object.fromEntries(defaults);
}

function takesObject(schema: JsonSchema | undefined): boolean {
  return schema?.type === undefined || schema.type === "object";
}
