import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import ts from "typescript";
import { helpOf } from "../../src/cli/program.ts";
import { editorSchema } from "../../src/config/config-schema.ts";
import { errorCatalog } from "../../src/core/error-catalog.ts";
import { manifestEditorSchema } from "../../src/manifest/kinds.ts";
import { fieldTable } from "../../src/prompt/front-matter/prompt-fields.ts";
import { lintRules } from "../../src/prompt/lint/lint-findings.ts";
import { tapeLineSchema } from "../../src/tape/tape-format.ts";
import { describeFault, type FaultName, faultCatalog } from "../../src/testing/faulty/faults.ts";
import { workflowEditorSchema } from "../../src/workflow/workflow-definition.ts";
import { apiPageOf, apiPages } from "./api-pages.ts";
import { benchTables } from "./bench-tables.ts";
import { unreleasedChanges } from "./changes.ts";
import { exportedNames } from "./exports.ts";
import { home, withHome } from "./home.ts";
import { indexForModels } from "./llms.ts";

/** The parts that a page may have filled in between `<!-- generated: name -->` and `<!-- /generated -->`. */
const generators: Readonly<Record<string, (project: string) => Promise<string>>> = {
  benches: benchTables,
  changes: unreleasedChanges,
  commands: commandHelp,
  errors: errorTable,
  decisions: decisionTable,
  exports: exportTables,
  faults: faultTable,
  "lint-rules": ruleTable,
};

/** The text of each file that is generated whole, by its path in the project. A folder without a package.json has none. */
export async function generatedFiles(project: string): Promise<Readonly<Record<string, string>>> {
  const manifest = await readFile(join(project, "package.json"), "utf8").catch(() => undefined);
  if (manifest === undefined) return {};
  const api = await apiPages(project);
  return {
    "package.json": withHome(manifest, home),
    "prompts/front-matter.schema.json": `${JSON.stringify(frontMatterSchema(), undefined, 2)}\n`,
    "docs/reference/toolweave.schema.json": `${JSON.stringify(editorSchema(), undefined, 2)}\n`,
    "docs/reference/workflow.schema.json": `${JSON.stringify(workflowEditorSchema(), undefined, 2)}\n`,
    "docs/reference/manifest.schema.json": `${JSON.stringify(manifestEditorSchema(), undefined, 2)}\n`,
    "docs/reference/tape.schema.json": `${JSON.stringify(tapeLineSchema(), undefined, 2)}\n`,
    "llms.txt": await indexForModels(project, Object.keys(api)),
    ...api,
  };
}

/** The page with its generated parts made anew. @throws Error for a part nothing generates. */
export async function fillGenerated(project: string, page: string, text: string): Promise<string> {
  const parts = /(<!-- generated: ([\w-]+) -->\n)[\s\S]*?(<!-- \/generated -->)/g;
  const pieces: string[] = [];
  let at = 0;
  for (const match of text.matchAll(parts)) {
    const [whole, start = "", name = "", end = ""] = match;
    const generate = generators[name];
    if (generate === undefined) throw new Error(`${page}: nothing generates "${name}".`);
    pieces.push(text.slice(at, match.index), start, "\n", await generate(project), "\n\n", end);
    at = match.index + whole.length;
  }
  return pieces.join("") + text.slice(at);
}

/** The fields of each code's details, as `ErrorDetails` declares them. */
export async function errorDetailFields(project: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const shared = await interfacesIn(join(project, "src/core/file-mistake.ts"));
  const details = (await interfacesIn(join(project, "src/core/error-catalog.ts"))).get("ErrorDetails");
  const fields = new Map<string, readonly string[]>();
  for (const member of details?.members ?? []) {
    if (!ts.isPropertySignature(member) || member.type === undefined) continue;
    const parts = ts.isIntersectionTypeNode(member.type) ? member.type.types : [member.type];
    const members = parts.flatMap((part) => {
      if (ts.isTypeLiteralNode(part)) return [...part.members];
      const name = ts.isTypeReferenceNode(part) && ts.isIdentifier(part.typeName) ? part.typeName.text : "";
      return [...(shared.get(name)?.members ?? [])];
    });
    const names = members.map((field) => `${field.name?.getText()}${field.questionToken ? "?" : ""}`);
    if (names.length > 0) fields.set(member.name.getText(), names);
  }
  return fields;
}

async function interfacesIn(file: string): Promise<ReadonlyMap<string, ts.InterfaceDeclaration>> {
  const source = ts.createSourceFile(file, await readFile(file, "utf8"), ts.ScriptTarget.Latest, true);
  return new Map(
    source.statements.flatMap((each) => (ts.isInterfaceDeclaration(each) ? [[each.name.text, each]] : [])),
  );
}

async function errorTable(project: string): Promise<string> {
  const fields = await errorDetailFields(project);
  const rows = Object.entries(errorCatalog).map(([code, { status, summary, remedy }]) => {
    const details = (fields.get(code) ?? []).map((field) => `\`${field}\``).join(", ");
    return `| \`${code}\` | ${status} | ${summary} | ${remedy} | ${details} |`;
  });
  return ["| code | HTTP | what it means | what to do | details |", "| --- | --- | --- | --- | --- |", ...rows].join(
    "\n",
  );
}

/** A table for each entry point of the package. */
async function exportTables(project: string): Promise<string> {
  const tables = [...(await exportedNames(project))].map(([entry, names]) => {
    const rows = names.map(({ name, isType, summary }) => {
      const text = summary.replaceAll("|", "\\|").replace(/\{@link (\w+)\}/g, "`$1`");
      return `| \`${name}\` | ${isType ? "type" : "value"} | ${text} |`;
    });
    return [`## [\`${entry}\`](api/${apiPageOf(entry)})`, "", "| name | is a | |", "| --- | --- | --- |", ...rows].join(
      "\n",
    );
  });
  return tables.join("\n\n");
}

async function decisionTable(project: string): Promise<string> {
  const folder = join(project, "docs/decisions");
  const files = (await readdir(folder)).filter((file) => /^\d{4}-.*\.md$/.test(file)).sort();
  const rows: string[] = [];
  for (const file of files) {
    const [, title] = /^#\s+(?:\d+\.\s+)?(.*)$/m.exec(await readFile(join(folder, file), "utf8")) ?? [];
    if (title === undefined) throw new Error(`docs/decisions/${file} has no heading.`);
    rows.push(`| [${file.slice(0, 4)}](${file}) | ${title} |`);
  }
  return ["| no. | decision |", "| --- | --- |", ...rows].join("\n");
}

/** The help of the command and of each of its subcommands, as a terminal of 100 columns shows it. */
async function commandHelp(): Promise<string> {
  return helpOf()
    .map(({ name, text }) => [`## ${name}`, "", "```text", text.trimEnd(), "```"].join("\n"))
    .join("\n\n");
}

async function faultTable(): Promise<string> {
  const rows = (Object.keys(faultCatalog) as FaultName[]).map((name) => {
    const { summary, time, transports, options = [] } = describeFault(name);
    const where = transports.length === 3 ? "all" : transports.join(", ");
    return `| \`${name}\` | ${summary} | ${where} | ${time} | ${options.map((option) => `\`${option}\``).join(", ")} |`;
  });
  return [
    "| fault | what the server does | where | one time is a | options |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

async function ruleTable(): Promise<string> {
  const rows = Object.entries(lintRules).map(
    ([code, { severity, summary }]) => `| \`${code}\` | ${severity} | ${summary} |`,
  );
  return ["| rule | severity | what it finds |", "| --- | --- | --- |", ...rows].join("\n");
}

/** The front matter of a prompt, for editors. */
function frontMatterSchema(): object {
  const properties = Object.entries(fieldTable).map(([name, { description, schema }]) => [
    name,
    { description, ...schema },
  ]);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "The front matter of a prompt",
    type: "object",
    properties: Object.fromEntries(properties),
    patternProperties: { "^x-": { description: "A field of your own." } },
    additionalProperties: false,
  };
}
