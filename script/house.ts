/**
 * Checks the rules of CONTRIBUTING.md that no linter knows: names of files and of exported types are unique in src, no file is longer than 300
 * lines or so small that it belongs into its one importer, and comments, in tests and scripts too, name the thing they describe.
 */
import { glob, readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, normalize } from "node:path";
import ts from "typescript";
import { project } from "./support/project.ts";

const maxLines = 300;
const minLines = 60;
const riddle = /^ *(?:\/\*\*|\*|\/\/) ?(?:What|Whoever|Whose|Somebody|Who|How) /;

interface SourceFile {
  readonly path: string;
  readonly lines: readonly string[];
  readonly types: readonly string[];
  /** The files that it imports as it is loaded. */
  readonly imports: readonly string[];
  /** The files that it imports when they are needed: such a module is a file for that reason. */
  readonly lazy: readonly string[];
}

const files = await readSources();
const problems = [...repeatedNames(), ...repeatedTypes(), ...sizes(), ...(await comments())];
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
} else console.log(`${files.length} files of src keep the rules of the house.`);

async function readSources(): Promise<readonly SourceFile[]> {
  const paths = await readdir(join(project, "src"), { recursive: true });
  return Promise.all(
    paths
      .filter((path) => /\.tsx?$/.test(path))
      .sort()
      .map(async (path) => {
        const text = await readFile(join(project, "src", path), "utf8");
        const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
        return {
          path,
          lines: text.split("\n").slice(0, -1),
          types: typesOf(source),
          imports: importsOf(source, path),
          lazy: lazyImportsOf(text, path),
        };
      }),
  );
}

/** The names of the interfaces, type aliases and classes a file exports. */
function typesOf(source: ts.SourceFile): readonly string[] {
  return source.statements.flatMap((statement) => {
    const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
    if (!isType && !ts.isClassDeclaration(statement)) return [];
    const isExported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
    return isExported && statement.name !== undefined ? [statement.name.text] : [];
  });
}

function lazyImportsOf(text: string, path: string): readonly string[] {
  return [...text.matchAll(/\bimport\("(\.[^"]+)"\)/g)].map(([, file = ""]) => normalize(join(dirname(path), file)));
}

function importsOf(source: ts.SourceFile, path: string): readonly string[] {
  return source.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const specifier = statement.moduleSpecifier;
    if (specifier === undefined || !ts.isStringLiteral(specifier) || !specifier.text.startsWith(".")) return [];
    return [normalize(join(dirname(path), specifier.text))];
  });
}

function repeatedNames(): readonly string[] {
  const byName = Map.groupBy(files, ({ path }) => basename(path));
  return [...byName]
    .filter(([name, same]) => same.length > 1 && name !== "index.ts")
    .map(([name, same]) => `${name} is the name of ${same.length} files: ${same.map(({ path }) => path).join(", ")}.`);
}

function repeatedTypes(): readonly string[] {
  const all = files.flatMap(({ path, types }) => types.map((type) => ({ path, type })));
  return [...Map.groupBy(all, ({ type }) => type)]
    .filter(([, same]) => same.length > 1)
    .map(([type, same]) => `${type} is exported by ${same.map(({ path }) => path).join(" and ")}.`);
}

function sizes(): readonly string[] {
  const long = files.filter(({ lines }) => lines.length > maxLines);
  const small = files.flatMap(({ path, lines }) => {
    if (lines.length >= minLines || basename(path) === "index.ts") return [];
    const [importer, ...others] = files.filter(({ imports }) => imports.includes(path));
    const isLazy = files.some(({ lazy }) => lazy.includes(path));
    const isLonely = !isLazy && importer !== undefined && others.length === 0 && basename(importer.path) !== "index.ts";
    return isLonely && !isPort(path) ? [{ path, importer: importer.path, count: lines.length }] : [];
  });
  return [
    ...long.map(({ path, lines }) => `${path} has ${lines.length} lines; the most are ${maxLines}.`),
    ...small.map(
      ({ path, importer, count }) => `${path} has ${count} lines, and only ${importer} imports it: join them.`,
    ),
  ];
}

/** The vocabulary of core and the steps of the pipeline stand alone, whatever their size. */
function isPort(path: string): boolean {
  return /^(?:core|call)\/[^/]+\.ts$/.test(path);
}

async function comments(): Promise<readonly string[]> {
  const riddles: string[] = [];
  for await (const path of glob("{src,test,script}/**/*.{ts,tsx,mjs}", { cwd: project })) {
    const lines = (await readFile(join(project, path), "utf8")).split("\n");
    riddles.push(...lines.flatMap((line, at) => (riddle.test(line) ? [`  ${path}:${at + 1} ${line.trim()}`] : [])));
  }
  return riddles.length === 0 ? [] : ["Comments begin with What, Who or How; name the thing instead:", ...riddles];
}
