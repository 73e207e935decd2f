import type { ArgumentSlot, UrlTemplate, ValueTemplate } from "./http-operation.ts";

/** The reason why a template cannot be used: a sentence on what is wrong, and one on what to write instead. */
export class TemplateFault extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/**
 * Parses a template with arguments: `{{.name}}`, `{{name}}`, and `{{.user.id}}` for a member.
 *
 * @throws TemplateFault for any other expression
 */
export function parseTemplate(text: string): ValueTemplate {
  const parts: (string | ArgumentSlot)[] = [];
  let from = 0;
  for (const { 0: whole, 1: inner = "", index } of text.matchAll(/\{\{([^{}]*)\}\}/g)) {
    if (index > from) parts.push(text.slice(from, index));
    const [, path] = /^\s*\.?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*$/.exec(inner) ?? [];
    if (path === undefined)
      throw new TemplateFault(
        `${whole} is no argument.`,
        "Write {{.name}}; there are no conditions and functions here.",
      );
    parts.push({ argument: path.split(".") });
    from = index + whole.length;
  }
  if (from < text.length) parts.push(text.slice(from));
  if (parts.some((part) => typeof part === "string" && /\{\{|\}\}/.test(part)))
    throw new TemplateFault("The braces of a template are not closed.", "Write {{.name}}.");
  return parts;
}

/** The names of the arguments in templates: the first of each path. */
export function argumentsIn(...templates: readonly ValueTemplate[]): readonly string[] {
  return templates.flat().flatMap((part) => (typeof part === "string" ? [] : part.argument.slice(0, 1)));
}

type Place = "origin" | "path" | "query" | "fragment";

const ends: Readonly<Record<Place, RegExp | undefined>> = {
  origin: /[/?#]/,
  path: /[?#]/,
  query: /#/,
  fragment: undefined,
};

/**
 * Parses the template of an http(s) URL. The scheme is written, or the whole URL, or its origin, is one argument.
 *
 * @throws TemplateFault
 */
export function parseUrlTemplate(text: string): UrlTemplate {
  const parts = parseTemplate(text.trim());
  const [first = ""] = parts;
  const scheme = typeof first === "string" ? /^https?:\/\/(?![/?#])/i.exec(first)?.[0] : "";
  if (scheme === undefined || parts.length === 0)
    throw new TemplateFault("It is no http or https URL.", "Write one such as https://api.example.com/users/{{.id}}.");
  const places: Record<Place, (string | ArgumentSlot)[]> = { origin: [], path: [], query: [], fragment: [] };
  let place: Place = "origin";
  for (const [index, part] of parts.entries()) {
    if (typeof part !== "string") {
      places[place].push(part);
      continue;
    }
    const skipped = index === 0 ? scheme.length : 0;
    let rest = part.slice(skipped);
    if (skipped > 0) places.origin.push(scheme.toLowerCase());
    for (let at = endOf(rest, place); at >= 0; at = endOf(rest, place)) {
      places[place].push(rest.slice(0, at));
      const mark = rest.charAt(at);
      place = mark === "/" ? "path" : mark === "?" ? "query" : "fragment";
      // A path keeps its slash.
      rest = rest.slice(mark === "/" ? at : at + 1);
    }
    places[place].push(rest);
  }
  return assembled(places);
}

function endOf(text: string, place: Place): number {
  const end = ends[place];
  return end === undefined ? -1 : text.search(end);
}

function assembled({ origin, path, query, fragment }: Readonly<Record<Place, ValueTemplate>>): UrlTemplate {
  if (argumentsIn(fragment).length > 0)
    throw new TemplateFault("An argument stands behind #, which is never sent.", "Leave it out.");
  const isOwn = argumentsIn(origin).length === 0;
  const written = withoutEmpty(origin);
  const plain = written.join("");
  if (plain.includes("@"))
    throw new TemplateFault("The URL has a user name or a password.", "Write a header: Authorization: Basic ${...}.");
  const url = isOwn ? URL.parse(plain) : null;
  if (isOwn && url === null) throw new TemplateFault("Its host is none.", "Write one such as https://api.example.com.");
  const isWhole = !isOwn && written.length === 1 && path.length === 0;
  return {
    origin: url === null ? written : [url.origin],
    isOwn,
    path: isWhole || path.length > 0 ? withoutEmpty(path) : ["/"],
    query: withoutEmpty(query),
  };
}

function withoutEmpty(template: ValueTemplate): ValueTemplate {
  const joined: (string | ArgumentSlot)[] = [];
  for (const part of template) {
    const last = joined.at(-1);
    if (part === "") continue;
    if (typeof part === "string" && typeof last === "string") joined[joined.length - 1] = last + part;
    else joined.push(part);
  }
  return joined;
}
