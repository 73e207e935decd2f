import { ToolkitError } from "../../core/error.ts";
import { decoded } from "../../lib/pointer.ts";
import { argumentOf, type Encode, filled, isMissing, type Pair, pairsOf, soleSlot, unfit } from "./argument-text.ts";
import type { ArgumentSlot, HttpOperation, UrlTemplate, ValueTemplate } from "./http-operation.ts";

/** A value is decoded so often by services that are not careful, such as a gateway before another. */
const maxDecodings = 3;

/** Encodes a text as a part of a URL. */
export const encodePart: Encode = (text, slot) => {
  if (!text.isWellFormed()) throw unfit(slot, "has half of a character, which no URL can hold");
  return encodeURIComponent(text);
};

/**
 * The URL of a request. An argument changes the part of the URL in which it stands, and no other one.
 *
 * @throws ToolkitError `INVALID_INPUT` for an argument that does not fit its place
 */
export function requestUrl({ url: template, parameters }: HttpOperation, input: unknown): URL {
  const whole = template.path.length === 0 ? soleSlot(template.origin) : undefined;
  const url =
    whole === undefined
      ? new URL(`${originOf(template, input)}${pathOf(template.path, input)}`)
      : wholeUrl(whole, input);
  const query = new Query(`${url.search.slice(1)}&${filled(template.query, input, encodePart)}`);
  for (const { in: place, name, value } of parameters)
    if (place === "query" && !isMissing(value, input)) query.set(name, value, input);
  url.search = query.text();
  return url;
}

function originOf({ origin }: UrlTemplate, input: unknown): string {
  const slot = soleSlot(origin);
  if (slot !== undefined) {
    const { href, origin: alone } = wholeUrl(slot, input);
    if (href !== `${alone}/`) throw unfit(slot, "must be scheme and host alone, such as https://api.example.com");
    return alone;
  }
  const text = filled(origin, input, encodeHost);
  const url = URL.parse(text);
  if (url !== null && url.href === `${url.origin}/`) return url.origin;
  const at = origin.find((part) => typeof part === "object");
  if (at === undefined) throw new ToolkitError("INVALID_CONFIG", `${text} is no origin.`, { path: "url" });
  throw unfit(at, "makes no host");
}

const encodeHost: Encode = (text, slot) => {
  if (/^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/.test(text)) return text;
  throw unfit(slot, "stands for a host: it may have letters, digits, dots and hyphens, and a port");
};

/** A URL that is one argument. */
function wholeUrl(slot: ArgumentSlot, input: unknown): URL {
  const value = argumentOf(input, slot);
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw unfit(slot, "must be an http(s) URL without user name and password");
  url.hash = "";
  return url;
}

/** A segment of a path. */
interface Segment {
  text: string;
  /** The argument that is in it. */
  slot?: ArgumentSlot;
}

function pathOf(template: ValueTemplate, input: unknown): string {
  const segments: Segment[] = [{ text: "" }];
  for (const part of template) {
    if (typeof part === "string") {
      const [rest = "", ...more] = part.split("/");
      last(segments).text += rest;
      for (const text of more) segments.push({ text });
    } else {
      if (argumentOf(input, part) === undefined) throw unfit(part, "is needed: it is a part of the path");
      const segment = last(segments);
      segment.text += filled([part], input, encodeSegment);
      segment.slot = part;
    }
  }
  for (const { text, slot } of segments) assertSegment(text, slot);
  return segments.map(({ text }) => text).join("/");
}

function last(segments: readonly Segment[]): Segment {
  return segments.at(-1) as Segment;
}

/** The parser of URLs reads `%2e` as a dot. */
function assertSegment(text: string, slot: ArgumentSlot | undefined): void {
  if (slot === undefined) return;
  if (text === "") throw unfit(slot, "must not be empty: it is a segment of the path");
  if (/^(?:\.|%2e){1,2}$/i.test(text)) throw unfit(slot, "would leave its place in the path");
}

const encodeSegment: Encode = (text, slot) => {
  const encoded = encodePart(text, slot);
  // A service behind a gateway may see the slashes, which are encoded here.
  for (let plain = text, times = 0; times <= maxDecodings; times += 1) {
    const segments = plain.split(/[/\\]/).map((segment) => segment.split(";")[0]);
    if (segments.length > 1 && segments.some((segment) => segment === "." || segment === ".."))
      throw unfit(slot, "would leave its place in the path");
    plain = plain.replace(/%(?:2e|2f|5c|25|3b)/gi, decoded);
    if (times > 0 && (plain === "." || plain === "..")) throw unfit(slot, "would leave its place in the path");
  }
  return encoded;
};

/** The parameters of a query: to set one replaces what it had. */
class Query {
  readonly #pairs = new Map<string, Pair[]>();

  /** @param text - encoded */
  constructor(text: string) {
    for (const pair of text.split("&")) {
      if (pair === "") continue;
      const at = pair.indexOf("=");
      const name = at < 0 ? pair : pair.slice(0, at);
      this.#of(name).push(at < 0 ? [name, ""] : [name, pair.slice(at + 1)]);
    }
  }

  set(name: string, value: ValueTemplate, input: unknown): void {
    const slot = soleSlot(value);
    const pairs: readonly Pair[] =
      slot === undefined
        ? [[encodeURIComponent(name), encodeURIComponent(filled(value, input, (text) => text).toWellFormed())]]
        : pairsOf(name, argumentOf(input, slot), slot, encodePart);
    for (const [key] of pairs) this.#pairs.delete(plainKey(key));
    for (const pair of pairs) this.#of(pair[0]).push(pair);
  }

  text(): string {
    return [...this.#pairs.values()].flatMap((pairs) => pairs.map(([name, value]) => `${name}=${value}`)).join("&");
  }

  #of(name: string): Pair[] {
    const key = plainKey(name);
    const pairs = this.#pairs.get(key) ?? [];
    this.#pairs.set(key, pairs);
    return pairs;
  }
}

/** One name may be encoded in several ways. */
function plainKey(name: string): string {
  return decoded(name.replaceAll("+", " "));
}
