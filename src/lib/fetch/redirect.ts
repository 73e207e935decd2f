import type { IncomingMessage } from "node:http";
import type { NodeRequest } from "./request.ts";

const statuses: ReadonlySet<number | undefined> = new Set([301, 302, 303, 307, 308]);
const ofBody = ["content-type", "content-length", "content-encoding", "content-language", "content-location"];
const ofOrigin = ["authorization", "proxy-authorization", "cookie", "host"];

/**
 * The request a redirect asks for; undefined where the answer is no redirect, or is to be handed on as it is.
 *
 * @throws TypeError or Error where it must not be followed
 * @see https://fetch.spec.whatwg.org/#http-redirect-fetch
 */
export function redirected(request: NodeRequest, message: IncomingMessage): NodeRequest | undefined {
  const { location } = message.headers;
  const { statusCode: status } = message;
  if (!statuses.has(status) || request.redirect === "manual") return undefined;
  if (request.redirect === "error") return refuse(message, "it is a redirect, and none is to be followed");
  if (location === undefined) return undefined;
  const url = targetOf(location, request.url);
  if (url === undefined) return refuse(message, "it is a redirect to what is no URL of HTTP");
  const sameOrigin = url.origin === request.url.origin;
  if (!sameOrigin && (url.username !== "" || url.password !== ""))
    return refuse(message, "it is a redirect with credentials to another origin");
  const method = methodAfter(status, request.method);
  const dropsBody = method !== request.method;
  if (!dropsBody && request.body !== undefined && !isRepeatable(request.body))
    return refuse(message, "it is a redirect of a body that cannot be sent again");
  const dropped = new Set([...(dropsBody ? ofBody : []), ...(sameOrigin ? [] : ofOrigin)]);
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !dropped.has(name)));
  return { ...request, url, method, headers, body: dropsBody ? undefined : request.body };
}

function methodAfter(status: number | undefined, method: string): string {
  const toGet =
    status === 303 ? method !== "GET" && method !== "HEAD" : (status === 301 || status === 302) && method === "POST";
  return toGet ? "GET" : method;
}

function targetOf(location: string, from: URL): URL | undefined {
  // Node gives the bytes of a header as characters.
  const text = Buffer.from(location, "latin1").toString("utf8");
  const url = URL.parse(text, from.href);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined;
  if (url.hash === "") url.hash = from.hash;
  return url;
}

function isRepeatable(body: NonNullable<NodeRequest["body"]>): boolean {
  return typeof body === "string" || body instanceof Uint8Array;
}

function refuse(message: IncomingMessage, why: string): never {
  message.destroy();
  throw new Error(`the answer ${message.statusCode} is not followed: ${why}`);
}
