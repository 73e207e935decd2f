import { invalidTarget } from "./invalid.ts";

/**
 * The canonical form by which two URLs are compared: scheme and host in lower case, no default port, no dot segments; user info,
 * query and fragment are left out, so it holds no secret either.
 */
export function canonicalUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/**
 * Reads the URL of a server.
 *
 * @throws ToolkitError `INVALID_TARGET` for what is no http(s) URL with a host; its message quotes nothing that may be secret
 */
export function parseUrl(given: string | URL): URL {
  const text = String(given).trim();
  if (text === "") throw invalidTarget("The URL is empty: write one such as https://host/mcp.", "");
  const shown = withoutSecrets(text);
  // The parser of the platform mends `http:host` and `http:///host`: they are slips here.
  if (/^https?:/i.test(text) && !/^https?:\/\/[^/?#]/i.test(text)) {
    throw invalidTarget(`${shown} has no host: write a URL such as https://host/mcp.`, shown);
  }
  if (!URL.canParse(text)) {
    const port = /^https?:\/\/[^/?#]*:([^/?#:\]]*)(?:[/?#]|$)/i.exec(shown);
    const wrong = port === null ? "is no URL" : `has no valid port (${port[1]}, it must be 0 to 65535)`;
    throw invalidTarget(`${shown} ${wrong}: write one such as https://host/mcp, or give { command, args }.`, shown);
  }
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw invalidTarget(
      `${shown} is no http or https URL: write one such as https://host/mcp, or give { command, args }.`,
      shown,
    );
  }
  if (url.hostname === "") throw invalidTarget(`${shown} has no host: write a URL such as https://host/mcp.`, shown);
  return url;
}

/** What of a text that should be a URL may be shown: no user info, query or fragment. */
function withoutSecrets(text: string): string {
  return text.replace(/[?#].*$/s, "").replace(/^([A-Za-z][A-Za-z0-9+.-]*:)?(\/*)[^/]*@/, "$1$2");
}
