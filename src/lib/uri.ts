/** Scheme, authority where there is one, path, and the rest (query and fragment) of a URI (RFC 3986, appendix B). */
const shape = /^([A-Za-z][A-Za-z0-9+.-]+):(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s;

/**
 * Schemes whose authority is a host of a network, each with the port that may be left out. Of other schemes it is as the server likes:
 * `user://Ada` and `user://ada` may be two things.
 */
const hosted: ReadonlyMap<string, RegExp> = new Map([
  ["file", /:$/],
  ["ftp", /:(?:21)?$/],
  ["http", /:(?:80)?$/],
  ["https", /:(?:443)?$/],
  ["ws", /:(?:80)?$/],
  ["wss", /:(?:443)?$/],
]);

/** Readers of the web take any number of slashes, either way round, before a host. */
const web = /^(ftp|https?|wss?):[\\/]*/i;

/** Encoded text may be encoded again: it is decoded so often at most. */
const maxDecodings = 3;

type PathForm = (path: string) => string;

/**
 * The URI that means the same by RFC 3986 (6.2.2, and 6.2.3 for hosts): scheme and host in lower case, unreserved characters not encoded,
 * no dot segments. A text that is no URI is given back as it is.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2
 */
export function normalUri(uri: string): string {
  return normalised(uri, withoutDots);
}

/** As `normalUri`, with repeated slashes of the path as one: URIs with the same key are taken for the same. */
export function uriKey(uri: string): string {
  return normalised(uri, plainPath);
}

/**
 * A URI as the most lenient server may read it: decoded, with backslashes as slashes, without blanks around it, control characters in it
 * or a user before its host, its host in lower case, and with dot segments resolved wherever they are. It is compared only, never sent:
 * URIs that are read alike by some server have the same one.
 */
export function lenientUri(uri: string): string {
  const text = decoded(trimmed(uri.toWellFormed())).replaceAll("\\", "/").replace(web, "$1://");
  const match = shape.exec(trimmed(text));
  if (match === null) return uri;
  const [, scheme = "", authority, path = "", rest = ""] = match;
  const name = scheme.toLowerCase();
  if (authority !== undefined && !hosted.has(name)) {
    // To a server with a scheme of its own the authority may be the first name of a path.
    const resolved = plainPath(authority + path + rest);
    return `${name}://${resolved.replace(/^[^/]*/, (first) => first.toLowerCase())}`;
  }
  const host = hostOf(name, authority?.replace(/^.*@/, ""), path)?.replace(/\.$/, "");
  return joined(name, host, plainPath(absolute(name, path) + rest));
}

/** The URI that is asked for: without the fragment, and for a file, which has none, without the query. */
export function dereferencedUri(uri: string): string {
  return uri.replace(/^file:/i.test(uri) ? /[?#].*$/s : /#.*$/s, "");
}

function normalised(uri: string, form: PathForm): string {
  const match = shape.exec(uri);
  if (match === null) return uri;
  const [, scheme = "", authority, path = "", rest = ""] = match;
  const name = scheme.toLowerCase();
  const host = hostOf(name, authority === undefined ? undefined : unreservedDecoded(authority), path);
  return joined(name, host, form(absolute(name, unreservedDecoded(path))) + unreservedDecoded(rest));
}

function joined(scheme: string, authority: string | undefined, path: string): string {
  // Without an authority a path of two slashes would be taken for one.
  if (authority === undefined) return `${scheme}:${path.startsWith("//") ? "/." : ""}${path}`;
  return `${scheme}://${authority}${path}`;
}

/** The authority as it is compared: of a network its host in lower case, without its default port; of a file it may be left out. */
function hostOf(scheme: string, authority: string | undefined, path: string): string | undefined {
  const defaultPort = hosted.get(scheme);
  if (defaultPort === undefined) return authority;
  if (authority === undefined) return scheme === "file" && path !== "" ? "" : undefined;
  const at = authority.lastIndexOf("@") + 1;
  const host = authority.slice(at).toLowerCase().replace(defaultPort, "");
  return scheme === "file" && host === "localhost" ? "" : authority.slice(0, at) + host;
}

/** The path of a file, or of what a host has, begins at the root. */
function absolute(scheme: string, path: string): string {
  const isRooted = path.startsWith("/") || !hosted.has(scheme) || (scheme === "file" && path === "");
  return isRooted ? path : `/${path}`;
}

const plainPath: PathForm = (path) => withoutDots(path.replace(/\/{2,}/g, "/"));

/**
 * RFC 3986, 5.2.4, but that `..` leads out of a folder however many slashes follow its name, as in file systems. A path without a root, such
 * as that of `demo:a/../b`, stays one.
 */
function withoutDots(path: string): string {
  if (!/(?:^|\/)\.\.?(?:\/|$)/.test(path)) return path;
  const root = path.startsWith("/") ? "/" : "";
  const kept: string[] = [];
  const segments = path.slice(root.length).split("/");
  for (const segment of segments) {
    if (segment === "..") {
      while (kept.at(-1) === "") kept.pop();
      kept.pop();
    } else if (segment !== ".") kept.push(segment);
  }
  // A path that ends in dots is that of a folder.
  const end = /\/\.\.?$/.test(path) && kept.length > 0 ? "/" : "";
  const rest = kept.join("/") + end;
  return root === "" ? rest.replace(/^\/+/, "") : root + rest;
}

/** Without the encoding of characters that need none; the others are encoded in capitals. */
function unreservedDecoded(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(/%([0-9A-Fa-f]{2})/g, (encoded, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : encoded.toUpperCase();
  });
}

function decoded(text: string): string {
  let current = text;
  for (let time = 0; time < maxDecodings && current.includes("%"); time += 1) {
    const next = current.replace(/(?:%[0-9A-Fa-f]{2})+/g, (bytes) =>
      Buffer.from(bytes.replaceAll("%", ""), "hex").toString("utf8"),
    );
    if (next === current) return next;
    current = next;
  }
  return current;
}

/** Without blanks around it, and without the characters that readers drop. */
function trimmed(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are dropped
  return text.replace(/[\u0000-\u001f\u007f]/g, "").trim();
}
