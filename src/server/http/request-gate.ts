import { createHash, timingSafeEqual } from "node:crypto";
import { messageOf } from "../../core/error.ts";
import type { MaybePromise } from "../../lib/promise.ts";
import { OwnedWindows } from "../../lib/sliding-window.ts";
import { loopbackHosts, type OAuthProtection, type ReadHandlerOptions, type VerifiedToken } from "./handler-options.ts";
import { RequestRefusal, type ServedExchange } from "./http-exchange-port.ts";

type Headers = Readonly<Record<string, string>>;

/** A name or an address, and a port: no user, no path. */
const hostForm = /^(\[[\da-f:.]+\]|[^\s:/@?#[\]]+)(?::\d+)?$/;
const wellKnown = "/.well-known/oauth-protected-resource";
const corsHeaders =
  "content-type, authorization, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id";

/** Decides who may make a request, before anything of it is read. */
export class RequestGate {
  readonly #options: ReadHandlerOptions;
  readonly #tokens: readonly { readonly principal: string; readonly digest: Buffer }[];
  readonly #rate: OwnedWindows | undefined;

  constructor(options: ReadHandlerOptions) {
    const { tokens = {}, rateLimit } = options;
    this.#options = options;
    this.#tokens = Object.entries(tokens).map(([principal, token]) => ({ principal, digest: digestOf(token) }));
    this.#rate = rateLimit && new OwnedWindows(rateLimit.max, rateLimit.windowMs);
  }

  /** The metadata of the protected resource (RFC 9728), where that is what a request asks for. */
  metadata({ method, path }: ServedExchange): string | undefined {
    const { oauth } = this.#options;
    if (oauth === undefined || method !== "GET" || !path.startsWith(wellKnown)) return undefined;
    const { resource, authorizationServers: authorization_servers, scopes } = oauth;
    return JSON.stringify({
      resource,
      authorization_servers,
      ...(scopes === undefined ? {} : { scopes_supported: scopes }),
      bearer_methods_supported: ["header"],
    });
  }

  /**
   * Refuses requests to another name than its own, which a rebound name of DNS makes, and those of foreign pages.
   *
   * @returns the headers for the page that made it, where it may read answers
   * @throws RequestRefusal
   */
  admit(exchange: ServedExchange): Headers {
    const { allowedHosts, allowedOrigins } = this.#options;
    const host = exchange.header("host");
    const name = host === undefined ? undefined : hostForm.exec(host.toLowerCase())?.[1];
    if (name === undefined || !allowedHosts.includes(name))
      throw new RequestRefusal(403, "This host is not served here: allowedHosts does not name it.");
    const origin = exchange.header("origin");
    if (origin === undefined) return {};
    if (allowedOrigins === undefined) {
      const page = URL.parse(origin);
      if (page !== null && loopbackHosts.includes(page.hostname)) return {};
    } else if (allowedOrigins.includes(origin))
      return {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": "mcp-session-id, www-authenticate",
        vary: "origin",
      };
    throw new RequestRefusal(403, "Pages of this origin may not call: allowedOrigins does not name it.");
  }

  /** The answer to a browser that asks before it calls; undefined for any other request. */
  preflight(exchange: ServedExchange, cors: Headers): Headers | undefined {
    const { method } = exchange;
    if (method !== "OPTIONS" || cors["access-control-allow-origin"] === undefined) return undefined;
    return {
      ...cors,
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-allow-headers": [corsHeaders, ...parameterHeaders(exchange)].join(", "),
      "access-control-max-age": "600",
    };
  }

  /** The principal of a request; undefined where no credentials are asked for. @throws RequestRefusal */
  principalOf(exchange: ServedExchange): MaybePromise<string | undefined> {
    const { authenticate, tokens, oauth } = this.#options;
    if (authenticate !== undefined) return this.#custom(exchange);
    if (tokens === undefined && oauth === undefined) return undefined;
    const token = /^Bearer +(\S+)$/i.exec(exchange.header("authorization") ?? "")?.[1];
    if (oauth !== undefined) return this.#verified(token, oauth);
    const digest = token === undefined ? undefined : digestOf(token);
    const found = digest && this.#tokens.filter((known) => timingSafeEqual(known.digest, digest));
    const principal = found?.[0]?.principal;
    if (principal === undefined) throw unauthorized("Bearer");
    return principal;
  }

  /** Counts a request. @throws RequestRefusal beyond the rate of its principal */
  spend(principal: string | undefined): void {
    const rate = this.#rate;
    if (rate === undefined) return;
    const now = this.#options.clock.now();
    const owner = principal ?? "";
    const waitMs = rate.waitMs(owner, now);
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1_000);
      throw new RequestRefusal(429, `Too many requests: wait ${seconds} s.`, {
        headers: { "retry-after": String(seconds) },
      });
    }
    rate.spend(owner, now);
  }

  async #custom(exchange: ServedExchange): Promise<string> {
    let principal: unknown;
    try {
      principal = await this.#options.authenticate?.(exchange.toRequest());
    } catch (error) {
      this.#options.logger.error(`authenticate failed: ${messageOf(error)}`, { error });
      throw new RequestRefusal(500, "The caller could not be authenticated.");
    }
    if (typeof principal !== "string" || principal === "") throw unauthorized("Bearer");
    return principal;
  }

  async #verified(token: string | undefined, oauth: OAuthProtection): Promise<string> {
    const metadata = metadataUrl(oauth.resource);
    const scopes = oauth.scopes ?? [];
    const scope = scopes.length === 0 ? "" : `, scope="${scopes.join(" ")}"`;
    const challenge = `Bearer resource_metadata="${metadata}"${scope}`;
    if (token === undefined) throw unauthorized(challenge);
    let verified: VerifiedToken | undefined;
    try {
      verified = await oauth.verify(token);
    } catch (error) {
      this.#options.logger.error(`oauth.verify failed: ${messageOf(error)}`);
      throw new RequestRefusal(500, "The token could not be verified.");
    }
    const isValid = verified !== undefined && this.#isFor(verified, oauth.resource);
    if (verified === undefined || !isValid) throw unauthorized(`${challenge}, error="invalid_token"`);
    if (scopes.every((each) => verified.scopes?.includes(each) === true)) return verified.principal;
    const headers = { "www-authenticate": `${challenge}, error="insufficient_scope"` };
    throw new RequestRefusal(403, "The token has not every scope that is needed.", { headers });
  }

  #isFor({ principal, audience, expiresAt = Number.POSITIVE_INFINITY }: VerifiedToken, resource: string): boolean {
    const audiences = [audience].flat().map((each) => withoutSlash(each));
    const isOwn = audiences.includes(withoutSlash(resource));
    return typeof principal === "string" && principal !== "" && isOwn && expiresAt > this.#options.clock.now();
  }
}

/** The headers of parameters, whose names are those of tools, that a page asks to send. */
function parameterHeaders(exchange: ServedExchange): readonly string[] {
  const asked = exchange.header("access-control-request-headers")?.toLowerCase().split(",") ?? [];
  return asked.map((name) => name.trim()).filter((name) => /^mcp-param-[!#$%&'*+\-.^_`|~\w]+$/.test(name));
}

function unauthorized(challenge: string): RequestRefusal {
  return new RequestRefusal(401, "Credentials are needed.", { headers: { "www-authenticate": challenge } });
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, "");
}

/** The URL of the metadata of a resource (RFC 9728, section 3.1). */
function metadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}${wellKnown}${pathname === "/" ? "" : pathname}`;
}
