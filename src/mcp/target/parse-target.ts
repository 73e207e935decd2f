import type { HeadersOption, HttpAuth } from "../../core/http-auth.ts";
import { assertOptionNames, type OptionNames } from "../../core/options.ts";
import type { ConnectorTarget, HttpTarget, StdioTarget } from "../../core/target.ts";
import { isPlainObject } from "../../lib/value.ts";
import type { Environment } from "../../lib/variables.ts";
import { expand, invalidTarget, type MaskedUrl, maskedUrl, parseUrl } from "./target-values.ts";

/** A server reached over HTTP, checked and expanded. */
export interface CheckedHttpTarget {
  readonly kind: "http";
  /** Without user info: that is among the headers. */
  readonly url: URL;
  /** As it is shown, where variables put credentials in it. */
  readonly masked?: MaskedUrl | undefined;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** `auto` tries Streamable HTTP, then SSE. */
  readonly protocol: "auto" | "streamable-http" | "sse";
}

/** A server that is a child process, checked and expanded. */
export interface CheckedStdioTarget {
  readonly kind: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  /** In addition to the inherited ones. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** The command that starts it, with its arguments; empty for none. */
  readonly wrap: readonly string[];
  /** The variables it inherits beside the usual ones, or false for the least. */
  readonly inheritEnv: readonly string[] | false;
  /** The command and its arguments as they were written, variables not expanded. */
  readonly written: string;
  readonly writtenArgs: readonly string[];
}

/** The options of parsing a target. */
export interface TargetOptions {
  /** Where variables come from. Default: `process.env`. */
  readonly env?: Environment | undefined;
  /** Headers beside the target's own, which they replace. Those of a function are not known before it is called. */
  readonly headers?: HeadersOption | undefined;
  readonly auth?: HttpAuth | undefined;
}

/** The server of a connector. */
export type CheckedTarget = CheckedHttpTarget | CheckedStdioTarget;

const httpTypes: Readonly<Record<string, CheckedHttpTarget["protocol"]>> = {
  http: "streamable-http",
  "streamable-http": "streamable-http",
  streamableHttp: "streamable-http",
  sse: "sse",
};
const knownTypes = ["stdio", ...Object.keys(httpTypes)];

/**
 * Checks a target, and expands `${VAR}` and `${VAR:-default}` in it.
 *
 * @throws ToolkitError `INVALID_TARGET` saying what to write; never with a header, a variable's value, user info or a query in it;
 *   `INVALID_CONFIG` for a field there is not
 */
export function parseTarget(target: ConnectorTarget, options: TargetOptions = {}): CheckedTarget {
  const { env = process.env } = options;
  if (typeof target === "string" || target instanceof URL) return httpTarget({ url: target }, env, options);
  if (typeof target !== "object" || target === null || Array.isArray(target)) {
    throw invalidTarget("A connector target is a URL, { url } or { command, args }.", String(target));
  }
  const config: Readonly<Record<string, unknown>> = { ...target };
  assertOptionNames(config, fieldsOf(config), "of a connector target");
  checkType(config.type);
  if (config.url !== undefined && config.command !== undefined) {
    throw invalidTarget('A connector target has both "url" and "command": give one of them.', "url, command");
  }
  if (config.url !== undefined) return httpTarget(config, env, options);
  if (config.command !== undefined) {
    if (options.auth !== undefined) {
      throw invalidTarget('"auth" is for a URL: give a child process its secrets in "env".', "auth");
    }
    if ((config.headers ?? options.headers) !== undefined) {
      throw invalidTarget('"headers" are for a URL: give a child process its secrets in "env".', "headers");
    }
    return stdioTarget(config, env);
  }
  const needed = config.type === "stdio" ? '"command"' : config.type === undefined ? '"url" or "command"' : '"url"';
  throw invalidTarget(
    `A connector target needs ${needed}, such as { url: "https://host/mcp" } or { command: "npx" }.`,
    "{}",
  );
}

const httpFields: OptionNames<HttpTarget> = { url: true, headers: true, type: true };
const stdioFields: OptionNames<StdioTarget> = {
  command: true,
  args: true,
  env: true,
  inheritEnv: true,
  cwd: true,
  wrap: true,
  type: true,
};

/** The fields a target may have. Those of the other kind have errors of their own, or are none of this one. */
function fieldsOf({ url, command }: Readonly<Record<string, unknown>>): object {
  if (command !== undefined) return { ...stdioFields, url: true, headers: true };
  return url === undefined ? { ...httpFields, ...stdioFields } : httpFields;
}

function checkType(type: unknown): void {
  if (type === undefined || (typeof type === "string" && knownTypes.includes(type))) return;
  throw invalidTarget(
    `The type ${JSON.stringify(type)} of a connector target is unknown: write one of ${knownTypes.join(", ")}.`,
    String(type),
  );
}

function httpTarget(
  config: Readonly<Record<string, unknown>>,
  env: Environment,
  { headers: more, auth }: TargetOptions,
): CheckedHttpTarget {
  const { url: given, type } = config;
  if (type === "stdio") throw invalidTarget('A connector target of type "stdio" needs "command", not "url".', "type");
  if (typeof given !== "string" && !(given instanceof URL))
    throw invalidTarget('"url" must be a string or a URL.', "url");
  // A URL object may have escaped the braces of a variable; there is nothing to expand in one.
  const isText = typeof given === "string";
  const masked = isText ? maskedUrl(given, env) : undefined;
  const url = parseUrl(isText ? expand(given, env, "url") : given, masked?.text);
  const headers = new Headers(credentialsOf(url));
  setHeaders(headers, expandValues(headersOf(config.headers), env, "headers"));
  if (typeof more !== "function") setHeaders(headers, valuesOf(headersOf(more), "headers"));
  if (auth !== undefined && typeof auth?.open !== "function") {
    throw invalidTarget(
      '"auth" must be what oauth() or clientCredentials() gives, or an HttpAuth of your own.',
      "auth",
    );
  }
  if (auth !== undefined && headers.has("authorization")) {
    throw invalidTarget('There is an "Authorization" header and "auth" beside it: give one of them.', "auth");
  }
  return {
    kind: "http",
    url: withoutCredentials(url),
    ...(masked === undefined ? {} : { masked }),
    headers: Object.fromEntries(headers),
    protocol: typeof type === "string" ? (httpTypes[type] ?? "auto") : "auto",
  };
}

function stdioTarget(config: Readonly<Record<string, unknown>>, env: Environment): CheckedStdioTarget {
  const { command: given, args = [], cwd, wrap, inheritEnv = [], type } = config;
  if (type !== undefined && type !== "stdio")
    throw invalidTarget(`A connector target of type "${type}" needs "url", not "command".`, "type");
  const command = typeof given === "string" ? expand(given, env, "command").trim() : "";
  if (command === "") throw invalidTarget('"command" must name a program, such as "npx".', "command");
  if (!isTexts(args)) {
    throw invalidTarget('"args" must be a list of strings: one argument each, no shell reads them.', "args");
  }
  if (wrap !== undefined && (!isTexts(wrap) || wrap[0]?.trim() === "" || wrap.length === 0)) {
    throw invalidTarget('"wrap" must be a list of strings: a program, such as "bwrap", and its arguments.', "wrap");
  }
  if (inheritEnv !== false && !(isTexts(inheritEnv) && inheritEnv.every((name) => /^!?[^\s!=]+$/.test(name)))) {
    const message =
      '"inheritEnv" must be false, or a list of names of variables, such as "GITHUB_TOKEN", "LC_*" or "!NO_PROXY".';
    throw invalidTarget(message, "inheritEnv");
  }
  if (cwd !== undefined && typeof cwd !== "string") throw invalidTarget('"cwd" must be the path of a folder.', "cwd");
  return {
    kind: "stdio",
    command,
    args: args.map((argument, index) => expand(argument, env, `args[${index}]`)),
    env: expandValues(config.env, env, "env"),
    cwd: cwd === undefined || cwd === "" ? undefined : expand(cwd, env, "cwd"),
    wrap: (wrap ?? []).map((argument, index) => expand(argument, env, `wrap[${index}]`)),
    inheritEnv,
    written: String(given).trim(),
    writtenArgs: args,
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}

function expandValues(values: unknown, env: Environment, where: string): Record<string, string> {
  const entries = Object.entries(valuesOf(values, where));
  return Object.fromEntries(entries.map(([name, value]) => [name, expand(value, env, `${where}.${name}`)]));
}

/** A Headers object, of this platform or of a library, as a plain one. */
function headersOf(given: unknown): unknown {
  const isHeaders = given instanceof Headers || Object.prototype.toString.call(given) === "[object Headers]";
  return isHeaders ? Object.fromEntries(given as Headers) : given;
}

function valuesOf(values: unknown, where: string): Record<string, string> {
  if (values === undefined || values === null) return {};
  // An object that keeps its entries elsewhere, such as a Map, would be read as empty.
  if (!isPlainObject(values)) throw invalidTarget(`"${where}" must be an object of strings.`, where);
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    // JSON files often hold numbers where a variable is meant.
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
      throw invalidTarget(`"${where}.${name}" must be a string.`, `${where}.${name}`);
    }
    texts[name] = String(value);
  }
  return texts;
}

function setHeaders(headers: Headers, values: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(values)) {
    try {
      headers.set(name, value);
    } catch {
      // The platform's own message quotes the value.
      throw invalidTarget(
        `"headers.${name}" is no valid HTTP header: look for line breaks and special characters.`,
        `headers.${name}`,
      );
    }
  }
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { Authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

function withoutCredentials(url: URL): URL {
  const copy = new URL(url);
  copy.username = "";
  copy.password = "";
  return copy;
}
