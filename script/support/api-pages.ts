/** The API reference: a page for each entry point, with the declarations and docstrings of all that it exports. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import ts from "typescript";
import { type ExportedName, exportedNames } from "./exports.ts";

/** The folder of the pages, relative to the project. */
export const apiFolder = "docs/reference/api";

/** The page of an entry point: `toolweave/stores/sqlite` is in `stores-sqlite.md`. */
export function apiPageOf(entry: string): string {
  return `${entry.split("/").slice(1).join("-") || entry}.md`;
}

/** The text of each page, by its path in the project. */
export async function apiPages(project: string): Promise<Readonly<Record<string, string>>> {
  const pages: Record<string, string> = {};
  for (const [entry, names] of await exportedNames(project)) {
    const parts = await Promise.all(names.map((name) => partOf(project, name)));
    const text = [
      `# \`${entry}\``,
      "Generated from the docstrings. The [list of all exports](../exports.md) has one line for each name.",
      ...parts,
    ];
    pages[`${apiFolder}/${apiPageOf(entry)}`] = `${text.join("\n\n")}\n`;
  }
  return pages;
}

async function partOf(project: string, { name, file }: ExportedName): Promise<string> {
  const text = await readFile(join(project, file), "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const named = source.statements.filter((statement) => namesOf(statement).includes(name));
  const overloads = named.filter((statement) => ts.isFunctionDeclaration(statement) && statement.body === undefined);
  const declarations = overloads.length > 0 ? overloads : named;
  const prose = declarations.flatMap(docstringOf).join("\n\n");
  const code = declarations.map((declaration) => declarationText(source, declaration)).join("\n\n");
  return [`## \`${name}\``, prose, `\`\`\`ts\n${code}\n\`\`\``].filter((part) => part !== "").join("\n\n");
}

function namesOf(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const { name } = statement as { readonly name?: ts.Node };
  return name === undefined ? [] : [name.getText()];
}

/** The docstring as paragraphs, its tags as a list. */
function docstringOf(statement: ts.Statement): readonly string[] {
  return ts
    .getJSDocCommentsAndTags(statement)
    .filter(ts.isJSDoc)
    .flatMap(({ comment, tags = [] }) => {
      const isExample = (tag: ts.JSDocTag): boolean => tag.tagName.text === "example";
      const items = tags.filter((tag) => !isExample(tag)).map(itemOf);
      const examples = tags.filter(isExample).map((tag) => commentText(tag.comment));
      return [commentText(comment), items.join("\n"), ...examples].filter((part) => part !== "");
    });
}

function itemOf(tag: ts.JSDocTag): string {
  const parameter = ts.isJSDocParameterTag(tag) ? ` \`${tag.name.getText()}\`` : "";
  const text = commentText(tag.comment).replace(/^- /, "").replace(/\n/g, "\n  ");
  return `- **${tag.tagName.text}**${parameter} ${text}`;
}

function commentText(comment: string | ts.NodeArray<ts.JSDocComment> | undefined): string {
  return (ts.getTextOfJSDocComment(comment) ?? "").replace(/\{@link ([\w.]+)\}/g, "`$1`").trim();
}

/** A declaration as a user of the package sees it: without bodies, private members, initial values and its own docstring. */
function declarationText(source: ts.SourceFile, statement: ts.Statement): string {
  const cuts: (readonly [from: number, to: number, instead: string])[] = [];
  const cut = (node: ts.Node): void => {
    if (isHidden(node)) cuts.push([node.getFullStart(), node.end, ""]);
    else if (node.kind === ts.SyntaxKind.AsyncKeyword) cuts.push([node.getStart(), node.end + 1, ""]);
    else if (ts.isFunctionLike(node) && bodyOf(node) !== undefined) {
      if (ts.canHaveModifiers(node)) ts.getModifiers(node)?.forEach(cut);
      node.parameters.forEach(cut);
      const before = source.text.slice(0, bodyOf(node)?.getStart());
      cuts.push([before.trimEnd().length, node.end, ";"]);
    } else if (ts.isVariableDeclaration(node) && node.initializer !== undefined) {
      cuts.push([(node.type ?? node.name).end, node.end, ""]);
    } else if (ts.isParameter(node) && node.initializer !== undefined && node.type !== undefined) {
      cuts.push([node.name.end, node.end, `?: ${node.type.getText()}`]);
    } else if (ts.isPropertyDeclaration(node) && node.initializer !== undefined) {
      cuts.push([(node.type ?? node.name).end, node.end, node.type === undefined ? `: ${literalType(node)};` : ";"]);
    } else ts.forEachChild(node, cut);
  };
  cut(statement);
  let text = source.text;
  for (const [from, to, instead] of cuts.toReversed()) text = text.slice(0, from) + instead + text.slice(to);
  const removed = source.text.length - text.length;
  return text
    .slice(statement.getStart(), statement.end - removed)
    .replace(/^export /, "")
    .replace(/\{\n\n/g, "{\n");
}

/** True for private and internal members, a brand, and the implementation behind overloads. */
function isHidden(node: ts.Node): boolean {
  if (!ts.isClassElement(node)) return false;
  const { name } = node;
  if (name === undefined) return ts.isClassStaticBlockDeclaration(node);
  if (ts.isPrivateIdentifier(name) || (ts.isComputedPropertyName(name) && ts.isIdentifier(name.expression)))
    return true;
  if (ts.getJSDocTags(node).some((tag) => tag.tagName.text === "internal")) return true;
  const isOverload = (other: ts.ClassElement): boolean =>
    ts.isMethodDeclaration(other) && other.body === undefined && other.name.getText() === name.getText();
  return (
    ts.isMethodDeclaration(node) &&
    node.body !== undefined &&
    ts.isClassLike(node.parent) &&
    node.parent.members.some(isOverload)
  );
}

function bodyOf(node: ts.SignatureDeclaration): ts.Node | undefined {
  return (node as { readonly body?: ts.Node }).body;
}

function literalType({ initializer }: ts.PropertyDeclaration): string {
  return initializer !== undefined && ts.isStringLiteralLike(initializer) ? initializer.getText() : "unknown";
}
