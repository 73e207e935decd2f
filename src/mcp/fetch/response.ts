import type { IncomingMessage } from "node:http";
import { bodyOf } from "./body.ts";
import type { NodeRequest } from "./request.ts";

/** The answer to a request, which may have been redirected before. @throws where it is none the platform could hold */
export function responseOf(message: IncomingMessage, request: NodeRequest, redirects: number): Response {
  try {
    const response = new Response(bodyOf(message, request), {
      status: message.statusCode ?? 0,
      statusText: message.statusMessage ?? "",
      headers: headersOf(message),
    });
    // Only the platform's own `fetch` can make one that knows where it came from.
    return Object.defineProperties(response, {
      url: { value: withoutHash(request.url) },
      redirected: { value: redirects > 0 },
    });
  } catch (error) {
    message.destroy();
    throw error;
  }
}

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) pairs.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return pairs;
}

function withoutHash({ href, hash }: URL): string {
  return hash === "" ? href : href.slice(0, -hash.length);
}
