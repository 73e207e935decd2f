/**
 * Packs the package as npm would publish it and looks at the result: publint, are-the-types-wrong, every export imported by
 * this Node from a folder that holds the package and the dependencies it declares, and nothing of this machine inside.
 */
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { packedDocProblems } from "./support/packed-docs.ts";
import { commandOf, type Manifest, project, readManifest } from "./support/project.ts";
import { run } from "./support/run.ts";

const node = process.execPath;
const manifest = await readManifest();
const folder = await mkdtemp(join(await realpath(tmpdir()), "toolweave-package-"));
try {
  const tarball = await pack();
  const installed = await install(tarball, manifest);
  const checks: readonly (readonly [string, () => Promise<string | undefined>])[] = [
    ["publint", async () => lint(tarball)],
    ["are the types wrong", async () => resolveTypes(tarball)],
    ["every export imports", async () => importExports(manifest)],
    ["public types need no MCP SDK", async () => publicTypes(installed, manifest)],
    ["a strict user of the types compiles", async () => compileUser()],
    ["its documents need nothing else", async () => documents(installed)],
    ["every export is required from CommonJS", async () => requireExports(manifest)],
    ["a user of the types in CommonJS compiles and runs", async () => compileCommonJs()],
    ["a server that starts slowly is called", async () => slowStart()],
    ["the page is served", async () => servedPage(installed, manifest)],
    ["the command looks at that server", async () => installedCommand(installed, manifest)],
    ["nothing of this machine", async () => foreignText(installed)],
  ];
  for (const [name, check] of checks) {
    const problem = await check();
    console.log(`${problem === undefined ? "ok    " : "failed"}  ${name}`);
    if (problem === undefined) continue;
    console.error(problem);
    process.exitCode = 1;
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function pack(): Promise<string> {
  const args = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
  const packed = await run(process.platform === "win32" ? "npm.cmd" : "npm", args, { cwd: project });
  const [tarball] = (await readdir(folder)).filter((file) => file.endsWith(".tgz"));
  if (packed.failure === undefined && tarball !== undefined) return join(folder, tarball);
  throw new Error(`npm pack ${packed.failure ?? "made no file"}\n${packed.output}`);
}

/** As after `npm install`, without the network: what the package does not declare it cannot import. */
async function install(tarball: string, { name, dependencies }: Manifest): Promise<string> {
  const modules = join(folder, "node_modules");
  const target = join(modules, name);
  await mkdir(target, { recursive: true });
  const unpacked = await run("tar", ["-xzf", tarball, "-C", target, "--strip-components", "1"]);
  if (unpacked.failure !== undefined) throw new Error(`tar ${unpacked.failure}\n${unpacked.output}`);
  for (const dependency of Object.keys(dependencies)) {
    await mkdir(dirname(join(modules, dependency)), { recursive: true });
    await symlink(join(project, "node_modules", dependency), join(modules, dependency), "junction");
  }
  return target;
}

async function command(args: readonly string[]): Promise<string | undefined> {
  const result = await run(node, args, {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1", XDG_CACHE_HOME: join(folder, "cache") },
  });
  return result.failure === undefined ? undefined : `${result.failure}\n${result.output}`;
}

async function lint(tarball: string): Promise<string | undefined> {
  const bytes = new Uint8Array(await readFile(tarball)).buffer;
  const { messages, pkg } = await publint({ pack: { tarball: bytes }, strict: true });
  const problems = messages.map((message) => formatMessage(message, pkg, { color: false }));
  return problems.length === 0 ? undefined : problems.join("\n");
}

async function resolveTypes(tarball: string): Promise<string | undefined> {
  const attw = await commandOf(import.meta.resolve("@arethetypeswrong/cli/package.json"), "attw");
  return command([attw, tarball, "--profile", "esm-only", "--no-definitely-typed"]);
}

async function importExports({ name, exports }: Manifest): Promise<string | undefined> {
  const problems: string[] = [];
  for (const [subpath, target] of Object.entries(exports)) {
    const specifier = JSON.stringify(join(name, subpath).replaceAll("\\", "/"));
    const isJson = typeof target === "string" && target.endsWith(".json");
    const code = isJson
      ? `import value from ${specifier} with { type: "json" }; if (!value.name) process.exit(3);`
      : `import * as module from ${specifier}; if (Object.keys(module).length === 0 && !${await hasTypes(target)}) process.exit(3);`;
    const problem = await command(["--input-type=module", "--eval", code]);
    if (problem !== undefined) problems.push(`import ${specifier}: ${problem}`);
  }
  return problems.length === 0 ? undefined : problems.join("\n");
}

async function requireExports({ name, exports }: Manifest): Promise<string | undefined> {
  const specifiers = Object.keys(exports).map((subpath) => join(name, subpath).replaceAll("\\", "/"));
  return command([
    "--input-type=commonjs",
    "--eval",
    `for (const each of ${JSON.stringify(specifiers)}) require(each);`,
  ]);
}

/** As `npm init -y` makes a project: of type CommonJS. Each way of TypeScript that writes `require` for an import is tried. */
async function compileCommonJs(): Promise<string | undefined> {
  const source = `
import { defineTool, Toolkit } from "toolweave";
import { agent } from "toolweave/agent";
import { sqliteStore } from "toolweave/stores/sqlite";
const toolkit = new Toolkit({ delegate: agent(), store: sqliteStore({ file: ":memory:" }) });
toolkit.add(defineTool({ name: "greet", run: () => "hello" }));
const text: Promise<string> = toolkit.call("greet").then((content) => content.text());
void text.then((said) => (said === "hello" ? toolkit.close() : process.exit(3)));
`;
  const user = join(folder, "common");
  await mkdir(user);
  await writeFile(join(user, "package.json"), JSON.stringify({ name: "common", type: "commonjs" }));
  await writeFile(join(user, "user.ts"), source);
  const ways = [
    { compiler: "typescript-7", way: ["--module", "commonjs"] },
    // No later version resolves so.
    {
      compiler: "typescript",
      way: ["--module", "commonjs", "--moduleResolution", "node10", "--ignoreDeprecations", "6.0"],
    },
    { compiler: "typescript-7", way: ["--module", "nodenext"] },
  ] as const;
  for (const { compiler, way } of ways) {
    const problem =
      (await compile(compiler, [...way, "--skipLibCheck", "common/user.ts"])) ?? (await command(["common/user.js"]));
    if (problem !== undefined) return `${compiler} ${way.join(" ")}: ${problem}`;
  }
  return undefined;
}

/** The way of the README in an empty folder, with a server that needs longer than \`start\` waits, as one that npx downloads first. */
async function slowStart(): Promise<string | undefined> {
  const server = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const answers = {
  initialize: (params) => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "slow", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
  "tools/call": (params) => ({ content: [{ type: "text", text: params.arguments.message }] }),
};
const begin = () => require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) send({ id, result: answers[method]?.(params) ?? {} });
});
setTimeout(begin, 1_500);
`;
  const user = `
import { ToolkitError, Toolkit } from "toolweave";
const logged = [];
const log = (level) => (message) => logged.push(level + " " + message);
const logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
const toolkit = new Toolkit({ startTimeoutMs: 100, logger });
const server = { command: process.execPath, args: ["server.cjs"] };
toolkit.addConnector(server, { namespace: "slow" });
await toolkit.start();
const fails = async (run, code, status) => {
  const error = await run().then(() => undefined, (thrown) => thrown);
  if (!ToolkitError.is(error, code) || error.status !== status) throw new Error("not " + code, { cause: error });
};
await fails(() => toolkit.lookup("echo"), "NOT_FOUND", 404);
await fails(() => toolkit.call("slow.echo", {}, { timeoutMs: 50 }), "UNAVAILABLE", 503);
const said = await Promise.all(["slow.echo", "echo"].map(async (key) => (await toolkit.call(key, { message: key })).text()));
if (said.join() !== "slow.echo,echo") throw new Error("It said " + said);
await fails(() => toolkit.call("fast.echo"), "NOT_FOUND", 404);
if (!logged.some((line) => line.startsWith("warn The call of fast.echo failed: NOT_FOUND"))) throw new Error(logged.join("\\n"));
console.table(toolkit.connections);
console.log(toolkit);
await toolkit.close();
`;
  await writeFile(join(folder, "server.cjs"), server);
  await writeFile(join(folder, "user.mjs"), user);
  return command(["user.mjs"]);
}

/** The server of `slowStart` is there already. The help that is packed is that of the command. */
async function installedCommand(installed: string, { bin = {} }: Manifest): Promise<string | undefined> {
  for (const script of Object.values(bin)) {
    const path = join(installed, script);
    for (const args of [["--help"], ["init"], ["call", "echo", "message=hi", "--server", `${node} server.cjs`]]) {
      const problem = await command([path, ...args]);
      if (problem !== undefined) return `${args.join(" ")}: ${problem}`;
    }
  }
  return undefined;
}

/** The page with its files, from the package and from the command: `serve --ui` ends when its client closes stdin. */
async function servedPage(installed: string, { bin = {} }: Manifest): Promise<string | undefined> {
  const script = `
import assert from "node:assert/strict";
import { Toolkit } from "toolweave";
import { inspect } from "toolweave/inspect";
const page = await inspect(new Toolkit());
const { origin } = new URL(page.url);
const [cookie] = (await fetch(page.url)).headers.get("set-cookie").split(";");
for (const path of ["/", "/page.js", "/page.css", "/icon.svg", "/api/status"])
  assert.equal((await fetch(origin + path, { headers: { cookie } })).status, 200, path);
await page.close();
`;
  await writeFile(join(folder, "page.mjs"), script);
  const problem = await command(["page.mjs"]);
  if (problem !== undefined) return problem;
  const args = [join(installed, bin.toolweave ?? ""), "serve", "--ui", "--server", `${node} server.cjs`];
  const served = await run(node, args, {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1", XDG_CACHE_HOME: join(folder, "cache") },
  });
  if (served.failure === undefined && served.output.includes("Look at it, once with this link: http://127.0.0.1:"))
    return undefined;
  return `serve --ui: ${served.failure ?? "it prints no link"}\n${served.output}`;
}

/** True for an entry whose declarations export something: one for those who write a part may have types alone. */
async function hasTypes(target: Manifest["exports"][string]): Promise<boolean> {
  return typeof target !== "string" && /^export /m.test(await readFile(join(project, target.types ?? ""), "utf8"));
}

/** The errors of a user's compiler, without skipLibCheck: the declarations themselves are checked, and must tell tools apart. */
async function compileUser(): Promise<string | undefined> {
  const user = `
import { defineTool, Toolkit, type Tool } from "toolweave";
import { mcpConnector } from "toolweave/mcp";
import { agent, type AgentOptions } from "toolweave/agent";
import { a2a, type A2aOptions } from "toolweave/a2a";
import { postgresStore, type PostgresStoreOptions } from "toolweave/stores/postgres";
import { sqliteStore } from "toolweave/stores/sqlite";
import { type FaultName, faultyServer, testContext, type ToolweaveMatchers, toolweaveMatchers } from "toolweave/testing";
const text = defineTool<{ text: string }, number>({ name: "text", run: ({ text }) => text.length });
const toolkit = new Toolkit({ items: [text], store: sqliteStore({ file: ":memory:" }) });
toolkit.addConnector(mcpConnector("https://example.com/mcp"));
toolkit.addConnector(a2a("https://example.com", { signature: { keys: [{ kty: "EC" }] } } satisfies A2aOptions));
export const right: Promise<number> = toolkit.call(text, { text: "a" }).then((content) => content.json());
export const context = testContext();
export const fault = faultyServer().fault("hang", { times: 1 });
// @ts-expect-error there is no such fault
export const unknownFault: FaultName = "hnag";
export const stored = postgresStore({ connectionString: "postgresql://localhost/toolweave" } satisfies PostgresStoreOptions);
export type Matchers = ToolweaveMatchers;
export const result = toolweaveMatchers.toBeConnected(toolkit.connections[0]).pass;
// @ts-expect-error the input is of another type
export const wrong = toolkit.call(text, { text: 1 });
// @ts-expect-error so is the tool
export const other: Tool<{ number: number }> = text;
`;
  await writeFile(join(folder, "user.mts"), user);
  for (const compiler of ["typescript", "typescript-7"] as const) {
    const args = ["--noEmit", "--module", "nodenext", "--exactOptionalPropertyTypes", "user.mts"];
    const problem = await compile(compiler, args);
    if (problem !== undefined) return `${compiler}: ${problem}`;
  }
  return undefined;
}

async function compile(compiler: "typescript" | "typescript-7", args: readonly string[]): Promise<string | undefined> {
  const tsc = await commandOf(import.meta.resolve(`${compiler}/package.json`), "tsc");
  const types = ["--typeRoots", join(project, "node_modules", "@types"), "--types", "node"];
  return command([tsc, "--strict", "--target", "es2023", "--lib", "es2024,esnext.disposable", ...types, ...args]);
}

/** Follows the declarations a user sees from each export; one that names the SDK would tie users to its version. */
async function publicTypes(installed: string, { exports }: Manifest): Promise<string | undefined> {
  const queue = Object.values(exports).flatMap((target) =>
    typeof target !== "string" && target.types !== undefined ? [join(installed, target.types)] : [],
  );
  const seen = new Set<string>();
  const problems: string[] = [];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    const text = await readFile(file, "utf8");
    if (text.includes("@modelcontextprotocol/sdk"))
      problems.push(`${file.slice(installed.length + 1)} names the MCP SDK`);
    for (const [, specifier = ""] of text.matchAll(/(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g)) {
      queue.push(join(dirname(file), specifier.replace(/\.[jt]s$/, ".d.ts")));
    }
  }
  return problems.length === 0 ? undefined : problems.join("\n");
}

async function documents(installed: string): Promise<string | undefined> {
  const problems = await packedDocProblems(installed);
  return problems.length === 0 ? undefined : problems.join("\n");
}

async function foreignText(installed: string): Promise<string | undefined> {
  const registry = /\bregistry(\.[\w-]+)+\.(org|com|net|io|dev|internal)\b|\bnpm\.pkg\.github\.com\b/;
  const paths = [project, join(homedir(), "/")].filter((path) => path.length > 2);
  const problems: string[] = [];
  for (const entry of await readdir(installed, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const text = await readFile(file, "utf8");
    const host = registry.exec(text)?.[0];
    for (const found of [...paths.filter((path) => text.includes(path)), ...(host === undefined ? [] : [host])]) {
      problems.push(`${file.slice(installed.length + 1)} contains ${JSON.stringify(found)}`);
    }
  }
  return problems.length === 0 ? undefined : problems.join("\n");
}
