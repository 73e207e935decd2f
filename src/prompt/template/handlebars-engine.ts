// For the global namespace hbs, in the published declarations too.
/// <reference types="handlebars" preserve="true" />
import { loadHandlebars } from "../lazy-libraries.ts";
import { dotpromptHelperForms, ownHelpers, toText, writtenMedia } from "./template-helpers.ts";

/** A compiled template. */
export type CompiledTemplate = (context: unknown, options: object) => string;

type Handlebars = ReturnType<typeof loadHandlebars>;
type Node = hbs.AST.Node;

// No template can spell this name, so that none can call or replace the helper.
const showHelper = "~show";
const compileOptions = {
  noEscape: true,
  knownHelpersOnly: true,
  knownHelpers: {
    [showHelper]: true,
    [writtenMedia]: true,
    ...Object.fromEntries([...dotpromptHelperForms.keys()].map((name) => [name, true])),
  },
};

/** Options of each render. They repeat the defaults: else Handlebars writes a refused property to the console. */
export const renderOptions = { allowProtoPropertiesByDefault: false, allowProtoMethodsByDefault: false };

let instance: Handlebars | undefined;

/** Our own instance of Handlebars, which shares no helpers and partials with other users of the library. */
function engine(): Handlebars {
  if (instance === undefined) {
    instance = loadHandlebars().create();
    for (const name of ["log", "helperMissing", "blockHelperMissing"]) instance.unregisterHelper(name);
    instance.registerHelper({ ...ownHelpers, [showHelper]: toText });
  }
  return instance;
}

/** The syntax tree of a template as it is written, for checks. @throws Error of Handlebars, see `toParseFailure` */
export function parseHandlebars(text: string): hbs.AST.Program {
  return engine().parseWithoutProcessing(text);
}

/** The reason why Handlebars cannot parse a template, and the place; line and column from 1. */
export interface ParseFailure {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** Converts the error that `parseHandlebars` has just thrown. */
export function toParseFailure(error: unknown): ParseFailure {
  const {
    message = String(error),
    lineNumber,
    column,
  } = error as { message?: string; lineNumber?: number; column?: number };
  if (typeof lineNumber === "number" && typeof column === "number")
    return { message, line: lineNumber, column: column + 1 };
  // A syntax error carries no column, but the lexer still stands at it.
  const { Parser } = loadHandlebars() as {
    Parser?: { lexer?: { yylloc?: { first_line: number; first_column: number } } };
  };
  const at = Parser?.lexer?.yylloc;
  const line = Number(/^Parse error on line (\d+)/.exec(message)?.[1] ?? at?.first_line ?? 1);
  return { message, line, column: at?.first_line === line ? at.first_column + 1 : 1 };
}

/** Compiles a template that was checked. */
export function compileTemplate(text: string): CompiledTemplate {
  const program = engine().parse(text);
  wrapValues(program);
  return engine().compile(program, compileOptions) as CompiledTemplate;
}

/** Passes every written value through `toText`: Handlebars itself writes a list as `a,b` and an object as [object Object]. */
function wrapValues(program: hbs.AST.Program): void {
  for (const node of program.body) {
    if (isBlock(node)) {
      for (const inner of [node.program, node.inverse]) if (inner) wrapValues(inner);
    } else if (isMustache(node)) wrapValue(node);
  }
}

function wrapValue(node: hbs.AST.MustacheStatement): void {
  const { path, params, hash, loc } = node;
  const isWritten = hash?.pairs.every(({ key, value }) => key !== "url" || value.type === "StringLiteral");
  if (isWritten === true && (path as hbs.AST.PathExpression).original === "media") {
    Object.assign(path, { parts: [writtenMedia], original: writtenMedia });
    return;
  }
  const isCall = params.length > 0 || hash !== undefined;
  if (isCall && dotpromptHelperForms.get((path as hbs.AST.PathExpression).original)?.givesText) return;
  const value = isCall ? { type: "SubExpression", path, params, hash, loc } : path;
  const show = { type: "PathExpression", data: false, depth: 0, parts: [showHelper], original: showHelper, loc };
  Object.assign(node, { path: show, params: [value], hash: undefined });
}

/** True for `{{#x}}...{{/x}}`. */
export const isBlock = (node: Node): node is hbs.AST.BlockStatement => node.type === "BlockStatement";
/** True for `{{x}}`. */
export const isMustache = (node: Node): node is hbs.AST.MustacheStatement => node.type === "MustacheStatement";
/** True for a name or path. */
export const isPath = (node: Node): node is hbs.AST.PathExpression => node.type === "PathExpression";
