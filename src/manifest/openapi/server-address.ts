import { shown } from "../../core/options.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import type { ListedOperation } from "./list-operations.ts";
import { DocumentMistake, type OpenApiDocument, type Placed } from "./openapi-document.ts";

/** The things that decide where the operations of a document are called. */
export interface ServerRules {
  /** Written in the manifest: it goes before all that the document says. */
  readonly server: URL | undefined;
  readonly variables: Readonly<Record<string, string>>;
  /** The URL of a document that was fetched: relative servers begin there. */
  readonly documentUrl: URL | undefined;
}

/** Of a path, and of the URL of a server. */
const maxLength = 2_000;

/** The address of a server. */
export interface ServerAddress {
  readonly origin: string;
  /** Encoded; empty, or begins with `/` and does not end with one. */
  readonly path: string;
  /**
   * The operator named the origin: in the manifest, by the URL of the document, or with a document of their own. Only there credentials are sent,
   * and only such an origin may be private.
   */
  readonly isOwn: boolean;
}

/** The server of an operation: that of the manifest, else the first of the operation, of its path, or of the document. @throws DocumentMistake */
export function serverOf(operation: ListedOperation, document: OpenApiDocument, rules: ServerRules): ServerAddress {
  if (rules.server !== undefined) return addressOf(rules.server, true);
  const holders: readonly Placed[] = [operation, operation.item, { value: document.root, at: "" }];
  const [first] = holders.map((holder) => document.list(holder, "servers")).find((list) => list.length > 0) ?? [];
  const at = first?.at ?? "/servers";
  const written = first === undefined ? "/" : serverText(document.object(first.value, at, "A server"), rules, document);
  const { documentUrl } = rules;
  const url = URL.parse(written, documentUrl?.href);
  if (url === null) {
    const why = /^[a-z][a-z0-9+.-]*:/i.test(written) ? "is no URL" : "does not say the host";
    throw new DocumentMistake(at, `The server ${shown(written)} ${why}: write spec.server in the manifest.`);
  }
  assertServer(url, at);
  return addressOf(url, documentUrl === undefined || documentUrl.origin === url.origin);
}

function serverText({ value, at }: Placed, { variables }: ServerRules, document: OpenApiDocument): string {
  const { url } = value;
  if (typeof url === "string" && url.length > maxLength)
    throw new DocumentMistake(at, `The URL of a server may have ${maxLength} characters.`);
  if (typeof url !== "string") throw new DocumentMistake(pointerTo(at, "url"), "A server needs a url.");
  return url.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const all = isRecord(value.variables) ? value.variables : {};
    const variable = Object.hasOwn(all, name) && isRecord(all[name]) ? all[name] : {};
    const chosen = Object.hasOwn(variables, name) ? variables[name] : variable.default;
    if (typeof chosen !== "string" && typeof chosen !== "number")
      throw new DocumentMistake(
        at,
        `The server ${shown(url)} has {${name}} without a default: write it in spec.server_variables.`,
      );
    if (Array.isArray(variable.enum)) document.spend(variable.enum.length, at);
    if (Array.isArray(variable.enum) && !variable.enum.includes(chosen)) {
      const message = `${name} of the server must be one of ${variable.enum.slice(0, 20).join(", ")}, and is ${shown(String(chosen))}.`;
      throw new DocumentMistake(at, message);
    }
    return String(chosen);
  });
}

/** @throws DocumentMistake for a URL at which nothing can be called */
function assertServer({ protocol, username, password, hostname }: URL, at: string): void {
  if (!/^https?:$/.test(protocol) || hostname === "")
    throw new DocumentMistake(at, "The server must be an http or https URL: write spec.server in the manifest.");
  if (username !== "" || password !== "")
    throw new DocumentMistake(
      at,
      "The URL of the server holds a user name or a password: write spec.auth in the manifest.",
    );
}

function addressOf({ origin, pathname }: URL, isOwn: boolean): ServerAddress {
  return { origin, path: pathname.replace(/\/+$/, ""), isOwn };
}

/** The parts of a path: texts, encoded, and the names of its parameters. */
export type PathPart = { readonly text: string } | { readonly name: string };

/** A path of a document, with what it has behind a `?`. @throws DocumentMistake for a path that leads elsewhere than it says */
export function pathParts({ path, item }: ListedOperation): {
  readonly parts: readonly PathPart[];
  readonly query: string;
} {
  if (path.length > maxLength) throw new DocumentMistake(item.at, `A path may have ${maxLength} characters.`);
  const [before = "", ...behind] = path.split("?");
  const query = behind.join("?");
  const segments = before.split("/").slice(1);
  const isDots = (segment: string) => /^(?:\.|%2e){1,2}$/i.test(segment);
  if (segments.some(isDots) || (segments.length > 1 && segments[0] === ""))
    throw new DocumentMistake(
      item.at,
      `The path ${shown(path)} leads elsewhere than it says: remove its dots and empty segments.`,
    );
  if (/[{}#]/.test(query))
    throw new DocumentMistake(
      item.at,
      `The path ${shown(path)} has parameters in its query: write them as parameters.`,
    );
  const parts = before
    .split(/(\{[^{}]*\})/)
    .filter((text) => text !== "")
    .map((text) => (/^\{.*\}$/s.test(text) ? { name: text.slice(1, -1) } : { text: encoded(text, item.at) }));
  return { parts, query: encoded(query, item.at) };
}

/** Percent-encodings that are written stay as they are. */
function encoded(text: string, at: string): string {
  if (!text.isWellFormed()) throw new DocumentMistake(at, "The path is no text: it has half of a character.");
  return encodeURI(text)
    .replaceAll(/%25(?=[0-9A-Fa-f]{2})/g, "%")
    .replaceAll("#", "%23");
}
