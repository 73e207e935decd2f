import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { abortable } from "../../lib/promise.ts";

/** The request with which an authorization server sent a person's browser back. */
export interface Callback {
  /** The query: `code`, or `error`. */
  readonly parameters: URLSearchParams;
  /** Shows the person how it ended. Once. */
  answer(outcome: "authorized" | "failed"): Promise<void>;
}

/** A place of this machine that a browser can be sent back to. */
export interface Loopback extends AsyncDisposable {
  readonly redirectUri: string;
  /** Resolves when the browser comes with this state. What comes with another is refused and changes nothing. */
  callback(state: string, signal: AbortSignal): Promise<Callback>;
}

const path = "/callback";

const pages = {
  authorized: [200, "Authorized", "You can close this page."],
  failed: [400, "Not authorized", "The authorization failed. The error of the connection says why."],
  unknown: [400, "Not authorized", "This page belongs to no login in progress. Start again."],
  missing: [404, "Not found", "There is nothing here."],
} as const;

/**
 * Listens on 127.0.0.1 for the end of an authorization.
 *
 * @param port - 0 for any that is free
 * @throws Error where it cannot listen there
 * @see https://www.rfc-editor.org/rfc/rfc8252#section-7.3
 */
export async function listenOnLoopback(port: number): Promise<Loopback> {
  const waiting = new Map<string, (callback: Callback) => void>();
  const server = createServer((request, response) => {
    response.on("error", () => {});
    // A browser sends a path such as `//` as it is: no URL, and an error here would end the process.
    const url = URL.parse(request.url ?? "/", "http://127.0.0.1");
    if (request.method !== "GET" || url?.pathname !== path) return void show(request, response, "missing");
    const state = url.searchParams.get("state") ?? "";
    const come = waiting.get(state);
    if (come === undefined) return void show(request, response, "unknown");
    // A code is good for once.
    waiting.delete(state);
    come({ parameters: url.searchParams, answer: (outcome) => show(request, response, outcome) });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    redirectUri: `http://127.0.0.1:${address.port}${path}`,
    callback: (state, signal) => {
      const coming = new Promise<Callback>((resolve) => waiting.set(state, resolve));
      return abortable(coming, signal).finally(() => waiting.delete(state));
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Resolves when the person has it, or has gone away. */
function show(request: IncomingMessage, response: ServerResponse, page: keyof typeof pages): Promise<void> {
  const [status, title, text] = pages[page];
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>${text}</p></html>`;
  return new Promise((resolve) => {
    response.once("close", resolve);
    if (request.socket.destroyed) return resolve();
    response
      .writeHead(status, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        connection: "close",
      })
      .end(html);
  });
}
