import type { IncomingMessage, RequestListener } from "node:http";
import type { HttpAuth } from "../../src/core/http-auth.ts";
import { mcpConnector } from "../../src/mcp/index.ts";
import { never, RecordingHost } from "../mcp/fixture/host.ts";
import { listen } from "../mcp/fixture/http.ts";
import { rejection } from "../support/failure.ts";

/** One request that a service of this machine got. */
export interface SeenRequest {
  readonly path: string;
  readonly body: string;
  readonly authorization: string | undefined;
}

/** A service of this machine that writes down what it is asked. */
export interface Recorder {
  readonly origin: string;
  readonly seen: readonly SeenRequest[];
  /** The paths it was asked for. */
  readonly paths: readonly string[];
  /** The form of the last request to a path. */
  form(path: string): URLSearchParams;
}

/** Answers by path; a value is sent as JSON, a function does as it likes. */
export type Answers = Readonly<Record<string, unknown>>;

const close: (() => Promise<unknown>)[] = [];

/** Ends every service that was started. */
export async function closeAll(): Promise<void> {
  for (const each of close.splice(0).reverse()) await each();
}

export async function record(answersOf: (origin: string) => Answers): Promise<Recorder> {
  const seen: SeenRequest[] = [];
  const listening = await listen((request, response) => {
    void (async () => {
      const path = new URL(request.url ?? "/", "http://x").pathname;
      const { authorization } = request.headers;
      seen.push({ path, authorization, body: await bodyOf(request) });
      const answer = answersOf(listening.origin)[path];
      if (typeof answer === "function") return (answer as RequestListener)(request, response);
      response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(answer === undefined ? "" : JSON.stringify(answer));
    })();
  });
  close.push(() => listening.close());
  return {
    origin: listening.origin,
    seen,
    get paths() {
      return seen.map(({ path }) => path);
    },
    form: (path) => new URLSearchParams(seen.findLast((each) => each.path === path)?.body),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return body;
}

/** The metadata of an authorization server, as they should be. */
export const metadataOf = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  response_types_supported: ["code"],
  code_challenge_methods_supported: ["S256"],
  token_endpoint_auth_methods_supported: ["none", "client_secret_post", "private_key_jwt"],
});

/** An authorization server; what is given takes the place of its own answers. */
export function authority(given: (origin: string) => Answers = () => ({})): Promise<Recorder> {
  return record((origin) => ({
    "/.well-known/oauth-authorization-server": metadataOf(origin),
    "/register": { client_id: `client-of-${origin}`, redirect_uris: ["http://127.0.0.1/callback"] },
    "/token": { access_token: `token-of-${origin}`, token_type: "Bearer", refresh_token: `refresh-of-${origin}` },
    ...given(origin),
  }));
}

/** An MCP server that refuses every request, and names its authorization server. */
export function protectedServer(
  resourceMetadata: (origin: string) => object,
  challenge = (origin: string) => `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
): Promise<Recorder> {
  return record((origin) => ({
    "/mcp": ((_request, response) => {
      response.writeHead(401, { "www-authenticate": challenge(origin) }).end();
    }) satisfies RequestListener,
    "/.well-known/oauth-protected-resource/mcp": { resource: `${origin}/mcp`, ...resourceMetadata(origin) },
  }));
}

/** The error of connecting to a server; the origins are those that its operator has named. */
export function connecting(server: Recorder, auth: HttpAuth, named: readonly Recorder[]): Promise<unknown> {
  const egress = { allow: named.map(({ origin }) => origin) };
  return rejection(
    mcpConnector(`${server.origin}/mcp`, { auth, egress }).connect({ signal: never, host: new RecordingHost() }),
  );
}

/** A person who authorizes at once, with these parameters beside `code` and `state`. */
export function person(parameters: readonly (readonly [string, string])[] = []) {
  const pages: URL[] = [];
  const open = async (page: URL) => {
    pages.push(page);
    const callback = new URL(page.searchParams.get("redirect_uri") ?? "");
    callback.searchParams.set("code", "the-code");
    callback.searchParams.set("state", page.searchParams.get("state") ?? "");
    for (const [name, value] of parameters) callback.searchParams.append(name, value);
    await (await fetch(callback, { headers: { connection: "close" } })).text();
  };
  return { open, pages };
}
