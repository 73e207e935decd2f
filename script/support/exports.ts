import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { readManifest } from "./project.ts";

/** An exported name of an entry point of the package. */
export interface ExportedName {
  readonly name: string;
  readonly isType: boolean;
  /** The first sentence of its docstring. */
  readonly summary: string;
  /** The file that declares it, relative to the project. */
  readonly file: string;
}

/** The exported names of each entry point, by the specifier it is imported by. */
export async function exportedNames(project: string): Promise<ReadonlyMap<string, readonly ExportedName[]>> {
  const { name, exports } = await readManifest();
  const entries = new Map<string, readonly ExportedName[]>();
  for (const [subpath, target] of Object.entries(exports)) {
    if (typeof target === "string") continue;
    const file = join(project, (target.default ?? "").replace("./dist/", "src/").replace(/\.js$/, ".ts"));
    entries.set(`${name}${subpath.slice(1)}`, await namesOf(project, file));
  }
  return entries;
}

async function namesOf(project: string, entry: string): Promise<readonly ExportedName[]> {
  const names: ExportedName[] = [];
  for (const statement of (await parsed(entry)).statements) {
    if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined) continue;
    if (!ts.isNamedExports(statement.exportClause) || statement.moduleSpecifier === undefined) continue;
    const file = join(dirname(entry), (statement.moduleSpecifier as ts.StringLiteral).text);
    const summaries = summariesOf(await parsed(file));
    for (const { name, isTypeOnly } of statement.exportClause.elements) {
      const isType = isTypeOnly || statement.isTypeOnly;
      const summary = summaries.get(name.text);
      if (summary === undefined) throw new Error(`${relative(project, file)}: ${name.text} has no docstring.`);
      names.push({ name: name.text, isType, summary, file: relative(project, file) });
    }
  }
  return names.sort((one, other) => (one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1));
}

async function parsed(file: string): Promise<ts.SourceFile> {
  return ts.createSourceFile(file, await readFile(file, "utf8"), ts.ScriptTarget.Latest, true);
}

/** The first sentence of the docstring of each top-level declaration that has one. */
function summariesOf(source: ts.SourceFile): ReadonlyMap<string, string> {
  const summaries = new Map<string, string>();
  for (const statement of source.statements) {
    const names = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.map(({ name }) => name.getText(source))
      : [(statement as { readonly name?: ts.Node }).name?.getText(source)];
    const [documented] = ts.getJSDocCommentsAndTags(statement).filter(ts.isJSDoc);
    const text = ts.getTextOfJSDocComment(documented?.comment)?.replace(/\s+/g, " ");
    if (text === undefined) continue;
    const [sentence = text] = /^.*?\.(?= |$)/.exec(text) ?? [];
    for (const name of names) if (name !== undefined && !summaries.has(name)) summaries.set(name, sentence);
  }
  return summaries;
}
