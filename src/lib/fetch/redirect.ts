import type { HttpRequest, HttpResponse } from "./client-exchange.ts";

/** The most redirects of one request. */
export const maxRedirects = 20;

export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const ofBody = ["content-type", "content-length", "content-encoding", "content-language", "content-location"];
// The platform's fetch knows the first four; the others are the keys of models.
const ofOrigin = ["authorization", "proxy-authorization", "cookie", "host", "x-api-key", "api-key", "x-goog-api-key"];

/** The part of an answer that a redirect is decided by. */
export type ResponseHead = Pick<HttpResponse, "status" | "header" | "discard">;

/** The URL an answer redirects to; undefined where it is no redirect, or to no URL. */
export function redirectTarget(response: ResponseHead, from: URL): URL | undefined {
  const location = redirectStatuses.has(response.status) ? response.header("location") : undefined;
  if (location === undefined) return undefined;
  // A header has its bytes as characters.
  return URL.parse(Buffer.from(location, "latin1").toString("utf8"), from.href) ?? undefined;
}

/**
 * The request a redirect asks for; undefined where the answer is no redirect, or leads nowhere.
 *
 * @throws Error where it must not be followed
 * @see https://fetch.spec.whatwg.org/#http-redirect-fetch
 */
export function redirected(request: HttpRequest, response: ResponseHead): HttpRequest | undefined {
  if (!redirectStatuses.has(response.status) || response.header("location") === undefined) return undefined;
  const url = redirectTarget(response, request.url);
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    return refuse(response, "it leads to what is no URL of HTTP");
  const isSameOrigin = url.origin === request.url.origin;
  if (!isSameOrigin && (url.username !== "" || url.password !== ""))
    return refuse(response, "it leads to another origin with credentials");
  const method = methodAfter(response.status, request.method);
  const dropsBody = method !== request.method;
  const dropped = new Set([...(dropsBody ? ofBody : []), ...(isSameOrigin ? [] : ofOrigin)]);
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !dropped.has(name)));
  if (url.hash === "") url.hash = request.url.hash;
  return { ...request, url, method, headers, body: dropsBody ? undefined : request.body };
}

function methodAfter(status: number, method: string): string {
  const isGet = method === "GET" || method === "HEAD";
  const toGet = status === 303 ? !isGet : (status === 301 || status === 302) && method === "POST";
  return toGet ? "GET" : method;
}

function refuse(response: ResponseHead, why: string): never {
  response.discard();
  throw new Error(`the answer ${response.status} is not followed: ${why}`);
}
