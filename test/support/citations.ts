import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import ts from "typescript";
import type { Requirement } from "../requirements.ts";

/** One `verifies(...)` call, or one type test whose title starts with `[id]`. */
export interface Citation {
  readonly ids: readonly string[];
  readonly title: string;
  /** Relative to the project, with `/`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** The tests that prove one requirement. */
export interface Proof {
  readonly requirement: Requirement;
  readonly tests: number;
  readonly files: readonly string[];
}

/**
 * Every citation in the tests under a folder that `npm test` runs, in the order of files and lines.
 *
 * @throws Error for a citation whose ids are not written out: what a reader cannot see cannot be counted.
 */
export async function readCitations(project: string): Promise<readonly Citation[]> {
  const files = (await readdir(join(project, "test"), { recursive: true }))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".long.test.ts"))
    .map((file) => join("test", file))
    .sort();
  const citations: Citation[] = [];
  for (const file of files) {
    const name = relative(project, join(project, file)).split(sep).join("/");
    citations.push(...citationsIn(name, await readFile(join(project, file), "utf8")));
  }
  return citations;
}

/** The citations of one file. */
export function citationsIn(file: string, text: string): readonly Citation[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const isTypeTest = file.endsWith(".test-d.ts");
  const citations: Citation[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      const found = node.expression.text === "verifies" ? cited(node, `${file}:${line}`) : isTypeTest && titled(node);
      if (found) citations.push({ ...found, file, line });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return citations;
}

/** For each requirement what cites it, in the order of the requirements. */
export function proofsOf(requirements: readonly Requirement[], citations: readonly Citation[]): readonly Proof[] {
  return requirements.map((requirement) => {
    const proving = citations.filter((citation) => citation.ids.includes(requirement.id));
    return { requirement, tests: proving.length, files: [...new Set(proving.map((citation) => citation.file))] };
  });
}

function cited(call: ts.CallExpression, where: string): Pick<Citation, "ids" | "title"> {
  const [id, title] = call.arguments;
  const listed = id !== undefined && ts.isArrayLiteralExpression(id) ? id.elements : [id];
  const ids = listed.map((one) => {
    if (one !== undefined && ts.isStringLiteralLike(one)) return one.text;
    throw new Error(`${where}: write the ids of verifies() out as string literals.`);
  });
  return { ids, title: textOf(title) };
}

/** vitest reads type tests without running them and knows only `test` and `it`, so their titles carry the ids. */
function titled(call: ts.CallExpression): Pick<Citation, "ids" | "title"> | undefined {
  const title = textOf(call.arguments[0]);
  const [, ids, rest] = /^\[([A-Z][A-Z0-9 ]*)\] (.*)$/s.exec(title) ?? [];
  return ids === undefined ? undefined : { ids: ids.split(" "), title: rest ?? "" };
}

/** A title may be computed, for a table of cases; then it is shown as the source says it. */
function textOf(node: ts.Expression | undefined): string {
  if (node === undefined) return "";
  return ts.isStringLiteralLike(node) ? node.text : "(computed)";
}
