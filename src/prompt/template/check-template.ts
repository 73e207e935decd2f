import { ToolkitError } from "../../core/error.ts";
import { lineStarts, type Place, promptProblem, type ReportProblem, throwProblem } from "../prompt-problem.ts";
import { isBlock, isCall, isMustache, isPath } from "./handlebars-parser.ts";
import { dotpromptHelperForms, type HelperForm, helperForms } from "./helper-forms.ts";
import { parseTemplate } from "./parse-template.ts";
import type { TemplateSource } from "./template-source.ts";
import {
  eachEntry,
  extendPath,
  type PartialUse,
  Scopes,
  type TemplateUses,
  type ValuePath,
  type ValueUse,
} from "./template-uses.ts";
import { FormatMistake, type FormattedKind, formatterOf } from "./value-formats.ts";

/** The role of a template: the text of a prompt, or a partial, which does not know where it is used. */
export type TemplateRole = "prompt" | "partial";

/**
 * Checks a template and reports mistakes and unsafe tags, as INVALID_PROMPT with the place in the file. Nothing is compiled.
 *
 * @throws ToolkitError `INVALID_PROMPT`, unless `report` does something else
 */
export function checkTemplate(
  source: TemplateSource,
  role: TemplateRole,
  report: ReportProblem = throwProblem,
): TemplateUses {
  // Without a tag there is nothing to parse.
  if (!/\{[{%]/.test(source.text)) return { values: [], partials: [] };
  const check = new TemplateCheck(source, role, report);
  attempt(report, () => check.program(parseTemplate(source)));
  return check;
}

/** Checks a part of a template; a problem inside is reported, and ends that part alone. */
function attempt(report: ReportProblem, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!ToolkitError.is(error)) throw error;
    report(error, "template");
  }
}

const dataNames = new Set(["index", "key", "first", "last", "root"]);
const partialName = /^[A-Za-z0-9_][A-Za-z0-9_-]*$/;

class TemplateCheck implements TemplateUses {
  readonly values: ValueUse[] = [];
  readonly partials: PartialUse[] = [];
  readonly #source: TemplateSource;
  readonly #role: TemplateRole;
  readonly #report: ReportProblem;
  readonly #helpers: ReadonlyMap<string, HelperForm>;
  readonly #scopes = new Scopes();
  #lineStarts: readonly number[] | undefined;

  constructor(source: TemplateSource, role: TemplateRole, report: ReportProblem) {
    this.#source = source;
    this.#role = role;
    this.#report = report;
    this.#helpers = source.isDotprompt === true ? dotpromptHelperForms : helperForms;
  }

  program(program: hbs.AST.Program): void {
    for (const node of program.body) attempt(this.#report, () => this.#statement(node));
  }

  #statement(node: hbs.AST.Statement): void {
    if (isMustache(node)) this.#mustache(node);
    else if (isBlock(node)) this.#block(node);
    else if (node.type === "PartialStatement") this.#partial(node as hbs.AST.PartialStatement);
    else if (node.type === "PartialBlockStatement") {
      throw this.#problem(node, "A partial cannot be used as a block.", "Write {{> name}} without the #.");
    } else if (node.type.startsWith("Decorator")) {
      throw this.#problem(
        node,
        "Decorators and inline partials ({{* ...}} and {{#*inline ...}}) are not available.",
        "Put the text in a file _name.md of the same folder and write {{> name}}.",
      );
    }
  }

  #mustache(node: hbs.AST.MustacheStatement): void {
    const { path, params } = node;
    this.#refuseBlanks(node);
    if (!isPath(path)) {
      throw this.#problem(node, "This tag holds a value and no field.", "Write the text without {{ and }}.");
    }
    if (/^el(?:se?)?_?if$/i.test(path.original)) {
      const hint = "Write {{else if field}} inside the block {{#if ...}}.";
      throw this.#problem(path, `There is no {{${path.original}}}.`, hint);
    }
    if (/^(?:break|continue)$/.test(path.original) && !this.#scopes.isParam(path.original)) {
      const hint = `Pass the entries that are wanted, or take the first ones with {{#each (slice items 0 3)}}. A field named ${path.original} is written {{this.${path.original}}}.`;
      throw this.#problem(path, `There is no {{${path.original}}}: a loop goes through all entries.`, hint);
    }
    const form = this.#helper(path);
    const isAlone = params.length === 0 && node.hash === undefined;
    if (isAlone && (form === undefined || form.aloneIsField === true)) this.#value(path);
    else this.#call(node, path, form, "inline");
  }

  #block(node: hbs.AST.BlockStatement): void {
    const { path, program, inverse } = node;
    this.#refuseBlanks(node);
    const form = isPath(path) ? this.#helper(path) : undefined;
    if (form === undefined && node.params.length === 0) {
      const name = isPath(path) ? path.original : "name";
      const hint = `Write {{#if ${name}}} ... {{/if}} for text under a condition, {{#each ${name}}} ... {{/each}} for a list.`;
      throw this.#problem(node, `There is no block {{#${name}}}.`, hint);
    }
    this.#call(node, path, form, "block");
    if (program) this.#inside(node, program);
    if (inverse) this.program(inverse);
  }

  #inside({ path, params }: hbs.AST.BlockStatement, program: hbs.AST.Program): void {
    const isLoop = path.original === "each";
    if (!isLoop && path.original !== "with") {
      this.program(program);
      return;
    }
    const [value] = params;
    const outer = value === undefined ? undefined : this.#pathOf(value);
    const inner = isLoop && outer !== undefined ? extendPath(outer, [eachEntry]) : outer;
    const [first, ...others] = program.blockParams ?? [];
    const named =
      first === undefined ? [] : [[first, inner] as const, ...others.map((name) => [name, undefined] as const)];
    this.#scopes.enter(inner, named);
    this.program(program);
    this.#scopes.leave();
  }

  /** The path to the value of an expression; a part of a list is one of its entries. Undefined for one that is computed. */
  #pathOf(value: hbs.AST.Expression): ValuePath | undefined {
    if (isPath(value)) return this.#scopes.pathOf(value);
    const isSlice =
      isCall(value) && isPath(value.path) && this.#helper(value.path) !== undefined && value.path.original === "slice";
    const [sliced] = isSlice ? value.params : [];
    return sliced === undefined ? undefined : this.#pathOf(sliced);
  }

  /** A helper with its arguments. */
  #call(
    node: hbs.AST.MustacheStatement | hbs.AST.BlockStatement | hbs.AST.SubExpression,
    path: hbs.AST.PathExpression,
    form: HelperForm | undefined,
    usedAs: "inline" | "block",
  ): void {
    const name = path.original;
    if (form === undefined) {
      throw this.#problem(path, `There is no helper ${JSON.stringify(name)}.`, this.#helperHint(name));
    }
    if (form.refusal !== undefined) throw this.#problem(path, form.refusal.what, form.refusal.hint);
    const example = `Write it as in ${form.example}.`;
    if (form.block !== (usedAs === "block")) {
      throw this.#problem(path, form.block ? `${name} is a block.` : `${name} is no block.`, example);
    }
    const [least, most] = form.arguments;
    const { params, hash } = node;
    if (params.length < least || params.length > most) {
      const variable = params.length === 0 ? ` A field named ${name} is written {{this.${name}}}.` : "";
      const wanted = least === 1 ? "one value" : `${least} values`;
      throw this.#problem(path, `${name} takes ${wanted} and has ${params.length}.`, `${example}${variable}`);
    }
    this.#assertArguments(node, path, form);
    for (const pair of hash?.pairs ?? []) {
      if (!form.named.includes(pair.key)) {
        throw this.#problem(pair, `${name} takes no ${pair.key}=.`, example);
      }
      this.#expression(pair.value);
    }
    for (const param of params) this.#expression(param, name === "each");
    if (form.format !== undefined) this.#assertFormat(form.format, node);
  }

  /** Checks a format, as far as it is written out. */
  #assertFormat(kind: FormattedKind, { params, hash }: Pick<hbs.AST.MustacheStatement, "params" | "hash">): void {
    const written = (node: hbs.AST.Expression | undefined) =>
      node?.type === "StringLiteral" ? (node as hbs.AST.StringLiteral).value : undefined;
    const named = (hash?.pairs ?? []).map(({ key, value }) => [key, written(value)] as const);
    try {
      formatterOf(kind, { format: written(params[1]), ...Object.fromEntries(named) }, () => {});
    } catch (error) {
      if (!(error instanceof FormatMistake)) throw error;
      throw this.#problem(params[1] ?? (params[0] as hbs.AST.Node), error.message, error.hint);
    }
  }

  /** Checks the arguments that are required, and those that must be constants. */
  #assertArguments(
    { params, hash }: Pick<hbs.AST.MustacheStatement, "params" | "hash">,
    path: hbs.AST.PathExpression,
    { needed = [], choices, example }: HelperForm,
  ): void {
    const name = path.original;
    const missing = needed.find((key) => !hash?.pairs.some((pair) => pair.key === key));
    if (missing !== undefined) throw this.#problem(path, `${name} needs ${missing}=.`, `Write it as in ${example}.`);
    const [given] = params;
    if (choices === undefined || given === undefined) return;
    const value = given.type === "StringLiteral" ? (given as hbs.AST.StringLiteral).value : undefined;
    if (value !== undefined && choices.includes(value)) return;
    const what =
      value === undefined ? `The ${name} is not written out.` : `There is no ${name} ${JSON.stringify(value)}.`;
    throw this.#problem(given, what, `Write one of ${choices.map((choice) => `{{${name} "${choice}"}}`).join(", ")}.`);
  }

  #expression(node: hbs.AST.Expression, isList = false): void {
    if (isPath(node)) this.#value(node, isList);
    else if (node.type === "SubExpression") {
      const { path } = node as hbs.AST.SubExpression;
      this.#call(node as hbs.AST.SubExpression, path, isPath(path) ? this.#helper(path) : undefined, "inline");
    }
  }

  #partial(node: hbs.AST.PartialStatement): void {
    const { name, params, hash } = node;
    const text = name.type === "SubExpression" ? "" : String((name as hbs.AST.PathExpression).original);
    if (!partialName.test(text)) {
      throw this.#problem(
        node,
        text === "" ? "The name of a partial cannot be computed." : `${JSON.stringify(text)} is no name of a partial.`,
        "A partial is a file of the same folder: write {{> name}}, without folders, dots and extension.",
      );
    }
    if (params.length > 1) {
      throw this.#problem(node, "A partial takes one value at most.", `Write {{> ${text}}} or {{> ${text} author}}.`);
    }
    for (const param of params) this.#expression(param);
    for (const pair of hash?.pairs ?? []) this.#expression(pair.value);
    const [shown] = params;
    const path = shown === undefined ? this.#scopes.current : isPath(shown) ? this.#scopes.pathOf(shown) : undefined;
    const added = (hash?.pairs ?? []).map(({ key }) => key);
    this.partials.push({ name: text, place: this.#placeOf(node), path, added });
  }

  /** A use of a field, `this` or `@index`. */
  #value(path: hbs.AST.PathExpression, isList = false): void {
    const [head = ""] = path.parts;
    if (path.data && !dataNames.has(head)) {
      const known = [...dataNames].map((name) => `@${name}`).join(", ");
      throw this.#problem(path, `There is no @${head}.`, `There are ${known}.`);
    }
    if (path.depth >= this.#scopes.depth && this.#role === "prompt") {
      const hint = "Remove one ../: only {{#each}} and {{#with}} lead into a value, {{#if}} does not.";
      throw this.#problem(path, `${path.original} leads out of the input.`, hint);
    }
    const resolved = this.#scopes.resolve(path);
    if (resolved === undefined) return;
    this.values.push({ written: path.original, place: this.#placeOf(path), ...resolved, isList });
  }

  #helper(path: hbs.AST.PathExpression): HelperForm | undefined {
    const { original, depth, data, parts } = path;
    if (data || depth > 0 || parts.length !== 1 || original !== parts[0] || this.#scopes.isParam(original))
      return undefined;
    return this.#helpers.get(original);
  }

  #helperHint(name: string): string {
    if (dotpromptHelperForms.has(name)) return `${name} is of dotprompt: name the file *.prompt to use it.`;
    return `The helpers are ${[...this.#helpers.keys()].join(", ")}.`;
  }

  /** Refuses `{{author .name}}`: Handlebars parses it as `author.name`, so that only the source shows the blank. */
  #refuseBlanks(node: hbs.AST.MustacheStatement | hbs.AST.BlockStatement): void {
    const { path, params } = node;
    if (!isPath(path) || params.length > 0 || path.loc.end.column - path.loc.start.column === path.original.length)
      return;
    const inner = /^\{\{\{?~?([\s\S]*?)~?\}\}/.exec(this.#sourceOf(node))?.[1] ?? "";
    if (!/\s[./]|[./]\s/.test(inner) || /["'[]/.test(inner)) return;
    throw this.#problem(node, `{{${inner}}} has a blank inside a name.`, `Write {{${path.original}}}.`);
  }

  /** The source of a tag, from its first brace to the first end of a tag. */
  #sourceOf(node: hbs.AST.Node): string {
    const { text } = this.#source;
    this.#lineStarts ??= lineStarts(text);
    const start = (this.#lineStarts[node.loc.start.line - 1] ?? 0) + node.loc.start.column;
    const end = text.indexOf("}}", start);
    return text.slice(start, end === -1 ? undefined : end + 2);
  }

  #placeOf(node: hbs.AST.Node): Place {
    const { line, column } = node.loc.start;
    return this.#source.placeAt(line, column + 1);
  }

  #problem(node: hbs.AST.Node, what: string, hint: string): Error {
    return promptProblem(this.#source.file, this.#placeOf(node), what, hint);
  }
}
