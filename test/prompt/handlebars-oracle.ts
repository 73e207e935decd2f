import { createRequire } from "node:module";
import type HandlebarsModule from "handlebars";

const require = createRequire(import.meta.url);
const Handlebars = (require("handlebars") as typeof HandlebarsModule).create();

const toText = (value: unknown): string => {
  if (value === null || value === undefined || typeof value === "function") return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};
const equals = (isNegated: boolean) =>
  function (this: unknown, left: unknown, right: unknown, options: Handlebars.HelperOptions) {
    return (left === right) === isNegated ? options.inverse(this) : options.fn(this);
  };
const helpers = {
  json: (value: unknown, { hash }: Handlebars.HelperOptions) => JSON.stringify(value, undefined, hash.indent) ?? "null",
  default: (fallback: unknown, value: unknown) =>
    value === undefined || value === null || value === "" ? fallback : value,
  join: (list: unknown, separator: unknown) =>
    Array.isArray(list) ? list.map(toText).join(toText(separator)) : toText(list),
  upper: (value: unknown) => toText(value).toUpperCase(),
  lower: (value: unknown) => toText(value).toLowerCase(),
  trim: (value: unknown) => toText(value).trim(),
  ifEquals: equals(false),
  unlessEquals: equals(true),
};
Handlebars.registerHelper({ ...helpers, show: toText });

/** The text that Handlebars itself renders, with the helpers of prompts. Each value is written as prompts write it. */
export function renderByHandlebars(
  template: string,
  input: unknown,
  partials: Readonly<Record<string, string>>,
): string {
  const compiled = Object.fromEntries(Object.entries(partials).map(([name, text]) => [name, compile(text)]));
  return compile(template)(input, { partials: compiled });
}

function compile(text: string): Handlebars.TemplateDelegate {
  const program = Handlebars.parse(text);
  showValues(program);
  const known = Object.fromEntries([...Object.keys(helpers), "show"].map((name) => [name, true]));
  return Handlebars.compile(program, { noEscape: true, knownHelpersOnly: true, knownHelpers: known });
}

function showValues(program: hbs.AST.Program): void {
  for (const node of program.body) {
    if (node.type === "BlockStatement") {
      const { program: body, inverse } = node as hbs.AST.BlockStatement;
      for (const inner of [body, inverse]) if (inner) showValues(inner);
    } else if (node.type === "MustacheStatement") showValue(node as hbs.AST.MustacheStatement);
  }
}

function showValue(node: hbs.AST.MustacheStatement): void {
  const { path, params, hash, loc } = node;
  const isCall = params.length > 0 || hash !== undefined;
  const value = isCall ? { type: "SubExpression", path, params, hash, loc } : path;
  const show = { type: "PathExpression", data: false, depth: 0, parts: ["show"], original: "show", loc };
  Object.assign(node, { path: show, params: [value], hash: undefined });
}
