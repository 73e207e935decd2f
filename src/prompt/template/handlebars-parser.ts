// For the global namespace hbs, in the published declarations too.
/// <reference types="handlebars" preserve="true" />
import { loadHandlebars } from "../../lib/lazy-libraries.ts";

type Node = hbs.AST.Node;

/** The syntax tree of a template as it is written, for checks. @throws Error of Handlebars, see `toParseFailure` */
export function parseHandlebars(text: string): hbs.AST.Program {
  return loadHandlebars().parseWithoutProcessing(text);
}

/** The syntax tree of a template that was checked, with the blank space removed that its tags remove. */
export function parseForRendering(text: string): hbs.AST.Program {
  return loadHandlebars().parse(text);
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

/** True for `{{#x}}...{{/x}}`. */
export const isBlock = (node: Node): node is hbs.AST.BlockStatement => node.type === "BlockStatement";
/** True for `{{x}}`. */
export const isMustache = (node: Node): node is hbs.AST.MustacheStatement => node.type === "MustacheStatement";
/** True for `{{> x}}`. */
export const isPartial = (node: Node): node is hbs.AST.PartialStatement => node.type === "PartialStatement";
/** True for text between tags. */
export const isContent = (node: Node): node is hbs.AST.ContentStatement => node.type === "ContentStatement";
/** True for a name or path. */
export const isPath = (node: Node): node is hbs.AST.PathExpression => node.type === "PathExpression";
/** True for a helper with its arguments in parentheses. */
export const isCall = (node: Node): node is hbs.AST.SubExpression => node.type === "SubExpression";
