import type { IncomingMessage } from "node:http";
import { Body } from "./body.ts";
import type { NodeRequest } from "./request.ts";

const bodies = new WeakMap<Response, Body>();

/**
 * Makes the platform's answer of Node's.
 *
 * @throws RangeError or TypeError where the platform can hold no such answer; it is ended then
 */
export function responseOf(message: IncomingMessage, request: NodeRequest, redirects: number): Response {
  const { statusCode: status = 0, statusMessage: statusText = "" } = message;
  try {
    const body = Body.of(message, request);
    const response = new Response(body?.stream() ?? null, { status, statusText, headers: headersOf(message) });
    if (body !== undefined) bodies.set(response, body);
    // The platform's constructor takes neither.
    return Object.defineProperties(response, {
      url: { value: withoutHash(request.url) },
      redirected: { value: redirects > 0 },
    });
  } catch (error) {
    message.destroy();
    throw error;
  }
}

/**
 * Hands on the body of an answer as it comes, to the end. One of `nodeFetch` goes past its stream, which costs more than the rest of a
 * short answer.
 *
 * @throws as the stream does; what `take` throws, which ends the answer
 */
export async function eachChunk(response: Response, take: (chunk: Uint8Array) => void): Promise<void> {
  const body = bodies.get(response);
  if (body !== undefined && !body.taken) return body.each(take);
  // Leaving the loop cancels the body.
  for await (const chunk of response.body ?? []) take(chunk);
}

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) pairs.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return pairs;
}

function withoutHash({ href, hash }: URL): string {
  return hash === "" ? href : href.slice(0, -hash.length);
}
