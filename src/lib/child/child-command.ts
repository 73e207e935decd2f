import { stat } from "node:fs/promises";
import { delimiter, resolve } from "node:path";
import { glob, isGlob } from "../glob.ts";
import { isCredential, withoutTokens } from "../token-shape.ts";

/** A program with its arguments, ready for `spawn` without a shell. */
export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
  /** Windows: the arguments are quoted already. */
  readonly verbatim: boolean;
}

/**
 * The program to spawn for a command. On Windows one that is no `.exe` or `.com` (such as `npx`, which is a `.cmd`) can only be started
 * through `cmd.exe`.
 *
 * @see https://nodejs.org/api/child_process.html#spawning-bat-and-cmd-files-on-windows
 */
export function commandLine(
  command: string,
  args: readonly string[],
  { platform, shell }: { readonly platform: NodeJS.Platform; readonly shell: string | undefined },
): CommandLine {
  if (platform !== "win32" || /\.(?:exe|com)$/i.test(command)) return { file: command, args, verbatim: false };
  const line = [escapeMeta(command), ...args.map((argument) => escapeMeta(quote(argument)))].join(" ");
  return { file: shell ?? "cmd.exe", args: ["/d", "/s", "/c", `"${line}"`], verbatim: true };
}

/** As the C runtime of Windows reads arguments: backslashes count only before a quote. */
function quote(argument: string): string {
  return `"${argument.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, "$1$1")}"`;
}

/** So that cmd.exe takes none of it for itself. */
function escapeMeta(text: string): string {
  return text.replace(/[()\][%!^"`<>&|;, *?]/g, "^$&");
}

const windowsNames = [
  "APPDATA",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATH",
  "PROCESSOR_ARCHITECTURE",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "USERNAME",
  "USERPROFILE",
  "PROGRAMFILES",
];
export const posixNames = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

// In lower case: these are read in upper and lower case alike.
export const machineNames: ReadonlySet<string> = new Set(
  [
    ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "node_use_env_proxy"],
    [
      "node_extra_ca_certs",
      "node_use_system_ca",
      "ssl_cert_file",
      "ssl_cert_dir",
      "requests_ca_bundle",
      "curl_ca_bundle",
    ],
    ["pip_cert", "git_ssl_cainfo", "aws_ca_bundle", "deno_cert", "deno_tls_ca_store", "uv_native_tls"],
    ["npm_config_registry", "npm_config_proxy", "npm_config_https_proxy", "npm_config_noproxy", "npm_config_cafile"],
    ["npm_config_cache", "npm_config_userconfig", "npm_config_globalconfig", "npm_config_strict_ssl"],
    ["npm_config_offline", "npm_config_prefer_offline", "pip_index_url", "uv_index_url", "uv_default_index"],
    ["lang", "language", "lc_all", "lc_ctype", "lc_messages", "tz", "tmpdir", "tmp", "temp"],
  ].flat(),
);

/** The variables a child inherits. */
export interface InheritedEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** The names of those it would inherit if their values did not seem to hold a credential. */
  readonly withheld: readonly string[];
  /** The values of those that were named and may be credentials. */
  readonly secrets: readonly string[];
}

/** The choice of what a child inherits. */
export interface InheritOptions {
  /** Names and globs to add, with a `!` before those to leave out; false for as little as a program needs to start. */
  readonly inheritEnv?: readonly string[] | false | undefined;
  /** A child of an untrusted server inherits as little as a program needs to start, and what is named. */
  readonly trust?: "standard" | "untrusted" | undefined;
}

/**
 * The environment a child inherits: a short list in which there are no secrets. It has the variables that the MCP SDK passes on (which
 * takes them from sudo), and those that a machine needs to reach its registries through its proxy: proxies, certificates, registries,
 * language and temporary folder. A proxy or registry whose URL has a user, a password or a key is left out, and so is everything that a
 * glob fits and that may be a credential: these are inherited by name only.
 */
export function inheritedEnvironment(
  environment: NodeJS.ProcessEnv = process.env,
  { inheritEnv = [], trust }: InheritOptions = {},
): InheritedEnvironment {
  const inherited = new Map<string, string>();
  const withheld = new Set<string>();
  const secrets: string[] = [];
  const isLeast = inheritEnv === false || trust === "untrusted";
  for (const name of isLeast ? leastNames : usualNames(environment)) {
    const value = environment[name];
    // A shell function is code.
    if (value === undefined || value.startsWith("()")) continue;
    if (machineNames.has(name.toLowerCase()) && hasCredential(name, value)) withheld.add(name);
    else inherited.set(name, value);
  }
  for (const pattern of inheritEnv === false ? [] : inheritEnv) {
    const isLeftOut = pattern.startsWith("!");
    const fits = glob(isLeftOut ? pattern.slice(1) : pattern);
    for (const [name, value = ""] of Object.entries(environment)) {
      if (!fits(name)) continue;
      const isSecret = hasCredential(name, value) || isCredential(name, value);
      if (isLeftOut) inherited.delete(name);
      else if (isSecret && isGlob(pattern)) continue;
      else inherited.set(name, value);
      if (!isLeftOut && isSecret) secrets.push(value);
      // It was named: in either case there is nothing to report.
      if (!isGlob(pattern) || isLeftOut) withheld.delete(name);
    }
  }
  return { variables: Object.fromEntries(inherited), withheld: [...withheld], secrets };
}

const leastNames = process.platform === "win32" ? ["PATH", "SYSTEMDRIVE", "SYSTEMROOT"] : ["PATH"];

function usualNames(environment: NodeJS.ProcessEnv): readonly string[] {
  const ofMachine = Object.keys(environment).filter((name) => machineNames.has(name.toLowerCase()));
  return [...(process.platform === "win32" ? windowsNames : posixNames), ...ofMachine];
}

/** The most names that are shown of those a child did not inherit. */
const maxShown = 8;

/** The names of variables of this process that a child may need to reach a registry and does not have, for people. */
export function likelyMissing(
  variables: Readonly<Record<string, string>>,
  environment: NodeJS.ProcessEnv = process.env,
): readonly string[] {
  const isWanted = (name: string) => /proxy|registry|index_url|cert|_ca_|token|_auth/i.test(name);
  return Object.keys(environment)
    .filter((name) => isWanted(name) && variables[name] === undefined)
    .slice(0, maxShown);
}

/** True for the URL, or the host alone, of a proxy or registry with user info, a query, or a path that has a key. */
function hasCredential(name: string, value: string): boolean {
  if (!/proxy|registry|index/i.test(name)) return false;
  return (
    /^(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/)?[^/]*@/.test(value) || value.includes("?") || withoutTokens(value) !== value
  );
}

/** A command, and where it is looked up. */
interface CommandPlace {
  readonly command: string;
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}

/** A bare name that no folder of PATH has is EACCES, and not ENOENT, where one of them may not be searched. */
export async function isNowhere({ command, cwd = "", env }: CommandPlace): Promise<boolean> {
  if (command.includes("/")) return false;
  const files = (env.PATH ?? "").split(delimiter).map((folder) => resolve(cwd, folder, command));
  const found = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  return !found.some((one) => one?.isFile());
}

/** True for the path of a folder. */
export async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
