import { access, constants } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { manifestPlaces } from "../../config/config-parts.ts";
import { plannedConnectors } from "../../config/planned-connectors.ts";
import { findConfig, type ReadConfig, readConfig } from "../../config/read-config.ts";
import type { Connection } from "../../core/connection.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { isFolder } from "../../lib/child/child-command.ts";
import { visible, visibleLines } from "../../lib/visible-text.ts";
import { lintPrompts } from "../../prompt/lint/lint-prompts.ts";
import { exitCodes } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace, withoutStderr } from "../workspace.ts";
import { type Finding, manifestFindings, modelFindings, patternFindings } from "./config-findings.ts";

/** Checks the machine, the configuration and every server. @returns the exit code: `failed` where something is wrong */
export async function doctor(options: GlobalOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  const findings: Finding[] = [];
  const tell = (found: readonly Finding[]) => {
    findings.push(...found);
    if (options.json !== true) for (const finding of found) terminal.print(lineOf(finding, terminal));
  };
  tell([nodeVersion()]);
  const { cwd, env } = terminal.streams;
  const file = options.config === undefined ? await findConfig(cwd) : resolve(cwd, options.config);
  const config = options.server === undefined ? await configFinding(file, tell) : undefined;
  if (config !== undefined) {
    tell(await commandFindings(config, env));
    tell(variableFindings(config, env));
    tell(await promptFindings(config, signal));
    tell(await packFindings(config));
    tell(await storeFindings(config));
    tell(await modelFindings(config, signal));
  }
  if (config !== undefined || options.server !== undefined) {
    // A command that is not found is one problem, although its connection fails too; so is a variable that is not set.
    const reported = new Set([
      ...findings.map(({ namespace }) => namespace),
      ...(config === undefined ? [] : withoutVariables(config, env)),
    ]);
    const found = await connectionFindings(options, config, terminal, signal);
    tell(found.filter(({ namespace }) => namespace === undefined || !reported.has(namespace)));
  }
  if (options.json === true) terminal.printJson(findings);
  const wrong = findings.filter(({ problem }) => problem !== undefined).length;
  if (options.json !== true)
    terminal.print(wrong === 0 ? "Nothing is wrong." : `${wrong} ${wrong === 1 ? "thing is" : "things are"} wrong.`);
  return wrong === 0 ? exitCodes.ok : exitCodes.failed;
}

function lineOf({ what, problem, mend }: Finding, terminal: Terminal): string {
  if (problem === undefined) return `${terminal.style("green", "ok")}    ${visible(what)}`;
  const how = mend === undefined ? "" : `\n      ${terminal.style("cyan", visible(mend))}`;
  return `${terminal.style("red", "wrong")} ${visibleLines(`${what}: ${problem}`).replaceAll("\n", "\n      ")}${how}`;
}

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const what = `Node ${process.versions.node}`;
  const isNew = major > 22 || (major === 22 && minor >= 13);
  return isNew
    ? { what }
    : { what, problem: "22.13 or later is needed", mend: "npx node@24 --version, or https://nodejs.org" };
}

async function configFinding(
  file: string | undefined,
  tell: (found: readonly Finding[]) => void,
): Promise<ReadConfig | undefined> {
  if (file === undefined) {
    tell([{ what: "configuration", problem: "there is no toolweave.yaml here or above", mend: "toolweave init" }]);
    return undefined;
  }
  try {
    const config = await readConfig(file);
    plannedConnectors(config, {});
    manifestPlaces(config);
    tell([{ what: file }]);
    return config;
  } catch (error) {
    if (!ToolkitError.is(error)) throw error;
    tell([{ what: file, problem: messageOf(error) }]);
    return undefined;
  }
}

const installs: Readonly<Record<string, string>> = {
  npx: "install Node: https://nodejs.org",
  uvx: "install uv: curl -LsSf https://astral.sh/uv/install.sh | sh",
  uv: "install uv: curl -LsSf https://astral.sh/uv/install.sh | sh",
  docker: "install Docker: https://docs.docker.com/get-docker/",
  python: "install Python: https://www.python.org",
};

async function commandFindings(config: ReadConfig, { PATH = "" }: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  const findings = plannedConnectors(config, {}).map(async ({ namespace, target }): Promise<readonly Finding[]> => {
    if (!("command" in target) || target.command.includes("${")) return [];
    const { command, cwd = "." } = target;
    const isPath = isAbsolute(command) || /[\\/]/.test(command);
    const places = isPath ? [resolve(cwd, command)] : PATH.split(delimiter).map((folder) => join(folder, command));
    const endings = process.platform === "win32" ? ["", ".cmd", ".exe", ".bat"] : [""];
    const found = await Promise.all(places.flatMap((place) => endings.map((ending) => isProgram(place + ending))));
    if (found.includes(true)) return [];
    return [
      {
        what: namespace,
        namespace,
        problem: `the command ${command} is not found`,
        mend: /\s/.test(command)
          ? `write the program alone under command, and its arguments under args`
          : (installs[command] ?? `install ${command}, or correct the command`),
      },
    ];
  });
  return (await Promise.all(findings)).flat();
}

async function isProgram(path: string): Promise<boolean> {
  const mode = process.platform === "win32" ? constants.F_OK : constants.X_OK;
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

function variableFindings(config: ReadConfig, env: NodeJS.ProcessEnv): readonly Finding[] {
  return unsetVariables(config.written, env).map((name) => ({
    what: `the variable ${name}`,
    problem: "it is not set",
    mend: `export ${name}=...`,
  }));
}

/** Names of the variables without a default that a part of the configuration reads and that are not set. */
function unsetVariables(part: unknown, env: NodeJS.ProcessEnv): readonly string[] {
  const found = (JSON.stringify(part) ?? "").matchAll(/\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g);
  return [...new Set([...found].map(([, name = ""]) => name))].filter((name) => env[name] === undefined);
}

/** The namespaces of connectors that cannot connect, since a variable of theirs is not set. */
function withoutVariables(config: ReadConfig, env: NodeJS.ProcessEnv): readonly string[] {
  return plannedConnectors(config, {}).flatMap(({ namespace, target }) =>
    unsetVariables(target, env).length === 0 ? [] : [namespace],
  );
}

async function promptFindings({ written, folder }: ReadConfig, signal: AbortSignal): Promise<readonly Finding[]> {
  const findings = (written.prompts ?? []).map(async (each): Promise<Finding> => {
    const { folder: given, recursive = false } = typeof each === "string" ? { folder: each } : each;
    const path = resolve(folder, given);
    if (!(await isFolder(path))) {
      return { what: given, problem: "there is no such folder", mend: `mkdir -p ${given}` };
    }
    const { problems, files } = await lintPrompts(path, { recursive, signal });
    const errors = problems.filter(({ severity }) => severity === "error").length;
    const what = `${given} (${files.length} ${files.length === 1 ? "prompt" : "prompts"})`;
    return errors === 0
      ? { what }
      : {
          what,
          problem: `${errors} ${errors === 1 ? "mistake" : "mistakes"}`,
          mend: `toolweave lint ${recursive ? "--recursive " : ""}${given}`,
        };
  });
  return Promise.all(findings);
}

async function packFindings({ written: { packs = {} }, folder }: ReadConfig): Promise<readonly Finding[]> {
  const roots = Object.entries({ fs: packs.fs?.root, code: packs.code?.root });
  const findings = roots.map(async ([name, root]): Promise<readonly Finding[]> => {
    if (root === undefined || root.includes("${")) return [];
    const what = `packs.${name} ${root}`;
    const isThere = await isFolder(resolve(folder, root));
    return [isThere ? { what } : { what, problem: "there is no such folder", mend: `mkdir -p ${root}` }];
  });
  return (await Promise.all(findings)).flat();
}

async function storeFindings({ written: { store }, folder }: ReadConfig): Promise<readonly Finding[]> {
  if (store === undefined || /^[a-z]+:\/\/|\$\{/i.test(store)) return [];
  const place = dirname(resolve(folder, store));
  const isWritable = await access(place, constants.W_OK).then(
    () => true,
    () => false,
  );
  return [
    isWritable
      ? { what: `store ${store}` }
      : { what: `store ${store}`, problem: `${place} cannot be written to`, mend: `mkdir -p ${place}` },
  ];
}

async function connectionFindings(
  options: GlobalOptions,
  config: ReadConfig | undefined,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  try {
    await using workspace = await openWorkspace(options, terminal, { signal });
    const { toolkit } = workspace;
    const patterns = config === undefined ? [] : await patternFindings(config, toolkit, signal);
    const manifests = config === undefined ? [] : await manifestFindings(config, toolkit, signal);
    const findings = toolkit.connections.map((each) => connectionFinding(each, options.json === true));
    return [...manifests, ...findings, ...patterns];
  } catch (error) {
    signal.throwIfAborted();
    if (!ToolkitError.is(error)) throw error;
    return [{ what: "servers", problem: messageOf(error) }];
  }
}

/** @param withStderr - with what the process printed, which a person has seen already */
function connectionFinding(
  { namespace, state, lastError, label, counts, stderr }: Connection,
  withStderr: boolean,
): Finding {
  const what = `${namespace} (${label})`;
  if (state === "connected" || state === "idle") return { namespace, what: `${what}: ${counts.tool} tools` };
  const said =
    !withStderr || stderr === undefined || stderr.trim() === "" ? "" : ` It printed: ${stderr.trim().slice(-500)}`;
  const isLogin = ToolkitError.is(lastError, "UNAUTHORIZED");
  const mend = isLogin
    ? `write auth: oauth for ${namespace}, or its headers; then run toolweave list in a terminal`
    : undefined;
  return {
    namespace,
    what,
    problem: `${lastError === undefined ? state : withoutStderr(lastError.message)}${said}`,
    mend,
  };
}
