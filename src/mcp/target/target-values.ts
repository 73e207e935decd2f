import { ToolkitError } from "../../core/error.ts";
import { credentialName, secretMask, withoutTokens } from "../../lib/token-shape.ts";
import { type Environment, expandVariables, VariableError } from "../../lib/variables.ts";

/** The URL of a server as it is shown, and the credentials in it that came from variables. */
export interface MaskedUrl {
  readonly text: string;
  /** Undefined where a variable holds so much of the URL that the rest is none. */
  readonly url: URL | undefined;
  readonly secrets: readonly string[];
}

/**
 * The URL of a text with variables, with `***` in place of those that are named like credentials; undefined where there are none.
 */
export function maskedUrl(text: string, env: Environment): MaskedUrl | undefined {
  const secrets: string[] = [];
  const masked = expand(text, env, "url", (name, value) => {
    if (!credentialName.test(name)) return value;
    secrets.push(value);
    return secretMask;
  });
  return secrets.length === 0 ? undefined : { text: masked, url: URL.parse(masked.trim()) ?? undefined, secrets };
}

/**
 * Puts environment variables in place of `${VAR}` and `${VAR:-default}`, as `expandVariables` does.
 *
 * @throws ToolkitError `INVALID_TARGET` with the name of a missing variable, or with a form that is none of these two
 */
export function expand(
  text: string,
  env: Environment,
  where: string,
  use?: (name: string, value: string) => string,
): string {
  try {
    return expandVariables(text, env, where, use);
  } catch (error) {
    if (!(error instanceof VariableError)) throw error;
    throw invalidTarget(error.message, where, error.variable);
  }
}

/** An `INVALID_TARGET`. `target` must hold no secret. */
export function invalidTarget(message: string, target: string, variable?: string): ToolkitError<"INVALID_TARGET"> {
  return new ToolkitError("INVALID_TARGET", message, variable === undefined ? { target } : { target, variable });
}

/**
 * The canonical form by which two URLs are compared: scheme and host in lower case, no default port, no dot segments; user info,
 * query and fragment are left out. Its path may hold a key: show a label instead.
 */
export function canonicalUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/**
 * Reads the URL of a server.
 *
 * @param masked - the same without credentials, for the error
 * @throws ToolkitError `INVALID_TARGET` for what is no http(s) URL with a host; its message quotes nothing that may be secret
 */
export function parseUrl(given: string | URL, masked?: string): URL {
  const text = String(given).trim();
  if (text === "") throw invalidTarget("The URL is empty: write one such as https://host/mcp.", "");
  const shown = withoutSecrets(masked?.trim() ?? text);
  // The parser of the platform accepts `http:host` and `http:///host`: here they are mistakes.
  if (/^https?:/i.test(text) && !/^https?:\/\/[^/?#]/i.test(text)) {
    throw invalidTarget(`${shown} has no host: write a URL such as https://host/mcp.`, shown);
  }
  if (!URL.canParse(text)) {
    const port = /^https?:\/\/[^/?#]*:([^/?#:\]]*)(?:[/?#]|$)/i.exec(shown);
    const wrong = port === null ? "is no URL" : `has no valid port (${port[1]}, it must be 1 to 65535)`;
    throw invalidTarget(`${shown} ${wrong}: write one such as https://host/mcp, or give { command, args }.`, shown);
  }
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw invalidTarget(
      `${shown} is no http or https URL: write one such as https://host/mcp, or give { command, args }.`,
      shown,
    );
  }
  if (url.port === "0") {
    throw invalidTarget(`${shown} has no valid port (0, it must be 1 to 65535): nothing can be reached there.`, shown);
  }
  if (url.hostname === "") throw invalidTarget(`${shown} has no host: write a URL such as https://host/mcp.`, shown);
  return url;
}

/** The part of a text that should be a URL which may be shown: no user info, query or fragment, and no key in its path. */
function withoutSecrets(text: string): string {
  return withoutTokens(text.replace(/[?#].*$/s, "").replace(/^([A-Za-z][A-Za-z0-9+.-]*:)?(\/*)[^/]*@/, "$1$2"));
}
