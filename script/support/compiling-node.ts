import { chmod, glob, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { project } from "./project.ts";

/**
 * Makes a program in a folder that runs a Node for which the sources are compiled first. Every child process that it starts by
 * `process.execPath` runs so too: servers of tests are such children, and a connector passes no NODE_OPTIONS on to them.
 */
export async function compilingNode(node: string, folder: string): Promise<string> {
  const program = join(folder, "node");
  const preload = join(folder, "preload.cjs");
  const hooks = join(folder, "hooks.mjs");
  const compiled = join(folder, "compiled");
  await compileSources(compiled);
  await writeFile(hooks, loadHook(urlOf(join(project, "/")), urlOf(join(compiled, "/"))));
  await writeFile(
    preload,
    `process.execPath = ${JSON.stringify(program)};\nrequire("node:module").register(${urlOf(hooks)});\n`,
  );
  const command = [node, "--disable-warning=ExperimentalWarning", "--require", preload].map(quoted).join(" ");
  // A shell sets these, where the program is to get the environment it was given.
  await writeFile(program, `#!/bin/sh\nunset PWD OLDPWD SHLVL\nexec ${command} "$@"\n`);
  await chmod(program, 0o755);
  return program;
}

/** The URL of a file, as it is written in JavaScript. */
const urlOf = (file: string) => JSON.stringify(pathToFileURL(file).href);
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A module hook that gives the JavaScript of a source in its place, so that its imports lead to other sources. */
function loadHook(sources: string, compiled: string): string {
  return `import { readFile } from "node:fs/promises";
export async function load(url, context, next) {
  const [path] = url.split("?");
  if (!path.startsWith(${sources}) || !path.endsWith(".ts") || path.includes("/node_modules/")) return next(url, context);
  const source = await readFile(new URL(path.slice(${sources}.length), ${compiled}));
  return { format: "module", source, shortCircuit: true };
}
`;
}

async function compileSources(target: string): Promise<void> {
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    experimentalDecorators: true,
  };
  for await (const path of glob("{src,test,script,example}/**/*.ts", { cwd: project })) {
    const { outputText } = ts.transpileModule(await readFile(join(project, path), "utf8"), { compilerOptions });
    await mkdir(dirname(join(target, path)), { recursive: true });
    await writeFile(join(target, path), outputText);
  }
}
