import { invalidOption, type OptionNames } from "../../core/options.ts";
import { isRecord } from "../../lib/value.ts";
import {
  type ReadServeOptions,
  readServeOptions,
  type ServableHost,
  type ServeOptions,
  serveOptionNames,
  wholeNumber,
} from "../serve-options.ts";

/** A token that was verified. */
export interface VerifiedToken {
  readonly principal: string;
  /** The resources that it was issued for (RFC 8707). The one that is served must be among them. */
  readonly audience: string | readonly string[];
  readonly scopes?: readonly string[] | undefined;
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number | undefined;
}

/** The protection of a served host by OAuth 2.1: it is a resource server, and the tokens are those of an authorization server. */
export interface OAuthProtection {
  /** The canonical URL of the endpoint, such as `https://tools.example/mcp`. */
  readonly resource: string;
  /** The issuers whose tokens it takes. */
  readonly authorizationServers: readonly string[];
  /** The scopes that every request needs. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  /** Verifies a token: its signature and issuer, or by introspection. Undefined for one that is not valid. It goes nowhere else. */
  verify(token: string): Promise<VerifiedToken | undefined>;
}

/** A limit of requests in a window of time. */
export interface RequestRate {
  readonly max: number;
  readonly windowMs: number;
}

/** Options of serving over HTTP. */
export interface McpHandlerOptions extends ServeOptions {
  /** False serves each request by itself, for many replicas: no notifications, and nothing a server may ask of a client. Default true. */
  readonly sessions?: boolean | undefined;
  /** Names in the `Host` of requests, without port. Default: `localhost`, `127.0.0.1` and `[::1]`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins of web pages that may make requests, such as `https://app.example`. Default: those of this machine, without CORS. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Decides who makes a request: the principal, or undefined for a caller who is refused. */
  authenticate?(request: Request): string | undefined | Promise<string | undefined>;
  /** Bearer tokens by principal. */
  readonly tokens?: Readonly<Record<string, string>> | undefined;
  readonly oauth?: OAuthProtection | undefined;
  /** Serves every caller who reaches it, without a principal, though `allowedHosts` names more than this machine. Default false. */
  readonly allowAnonymous?: boolean | undefined;
  /** The most requests of one principal. Default: no limit. */
  readonly rateLimit?: RequestRate | undefined;
  /** The most sessions in all. Default 10,000. */
  readonly maxSessions?: number | undefined;
  /** The most sessions of one principal: beyond it the one that was idle for longest ends. Default 1,000. */
  readonly maxSessionsPerPrincipal?: number | undefined;
  /** Time after which a session without requests and connections ends, in milliseconds. Default 30 minutes. */
  readonly sessionIdleMs?: number | undefined;
  /** Time for the body of a request, and the longest that a client may take nothing of its answer, in milliseconds. Default 10,000. */
  readonly bodyTimeoutMs?: number | undefined;
  /** Time in which a client whose connection was lost may come back for an answer, in milliseconds. Default 30,000. */
  readonly resumeMs?: number | undefined;
  /** The most bytes of events that are kept for such clients, in all. Default 64 MiB. */
  readonly maxEventBytes?: number | undefined;
  /** Time for requests that run when it is closed, in milliseconds. Default 10,000. */
  readonly drainMs?: number | undefined;
  /** Time between signs of life on open streams, in milliseconds. Default 25,000. */
  readonly keepAliveMs?: number | undefined;
}

/** The same, with every default in place. */
export interface ReadHandlerOptions extends McpHandlerOptions, ReadServeOptions {
  readonly protocol: ReadServeOptions["protocol"];
  readonly stateKey: ReadServeOptions["stateKey"];
  readonly inputTimeoutMs: number;
  readonly maxParkedCalls: number;
  readonly maxParkedCallsPerPrincipal: number;
  readonly listTtlMs: number;
  readonly server: ReadServeOptions["server"];
  readonly names: ReadServeOptions["names"];
  readonly promptsAsTools: boolean;
  readonly discovery: ReadServeOptions["discovery"];
  readonly pageSize: number;
  readonly maxConcurrentRequests: number;
  readonly maxMessageBytes: number;
  readonly logLevel: ReadServeOptions["logLevel"];
  readonly logger: ReadServeOptions["logger"];
  readonly clock: ReadServeOptions["clock"];
  readonly sessions: boolean;
  readonly allowedHosts: readonly string[];
  readonly maxSessions: number;
  readonly maxSessionsPerPrincipal: number;
  readonly sessionIdleMs: number;
  readonly bodyTimeoutMs: number;
  readonly resumeMs: number;
  readonly maxEventBytes: number;
  readonly drainMs: number;
  readonly keepAliveMs: number;
}

const optionNames: OptionNames<McpHandlerOptions> = {
  ...serveOptionNames,
  sessions: true,
  allowedHosts: true,
  allowedOrigins: true,
  authenticate: true,
  tokens: true,
  oauth: true,
  allowAnonymous: true,
  rateLimit: true,
  maxSessions: true,
  maxSessionsPerPrincipal: true,
  sessionIdleMs: true,
  bodyTimeoutMs: true,
  resumeMs: true,
  maxEventBytes: true,
  drainMs: true,
  keepAliveMs: true,
};

/** The names of this machine in a `Host`. */
export const loopbackHosts: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** @throws ToolkitError `INVALID_CONFIG` */
export function readHandlerOptions(host: ServableHost, options: McpHandlerOptions): ReadHandlerOptions {
  const read = readServeOptions(host, options, optionNames);
  const allowedHosts = (read.allowedHosts ?? loopbackHosts).map((name) => name.toLowerCase());
  assertProtection(read, allowedHosts);
  const mebibyte = 1024 * 1024;
  return {
    ...read,
    allowedHosts,
    sessions: read.sessions ?? true,
    maxSessions: wholeNumber("maxSessions", read.maxSessions, 10_000),
    maxSessionsPerPrincipal: wholeNumber("maxSessionsPerPrincipal", read.maxSessionsPerPrincipal, 1_000),
    sessionIdleMs: wholeNumber("sessionIdleMs", read.sessionIdleMs, 30 * 60_000),
    bodyTimeoutMs: wholeNumber("bodyTimeoutMs", read.bodyTimeoutMs, 10_000),
    resumeMs: wholeNumber("resumeMs", read.resumeMs, 30_000),
    maxEventBytes: wholeNumber("maxEventBytes", read.maxEventBytes, 64 * mebibyte),
    drainMs: wholeNumber("drainMs", read.drainMs, 10_000),
    keepAliveMs: wholeNumber("keepAliveMs", read.keepAliveMs, 25_000),
  };
}

/** The shortest token that is taken: a shorter one can be guessed. */
const minTokenLength = 16;

function assertProtection(options: McpHandlerOptions, hosts: readonly string[]): void {
  const { authenticate, tokens, oauth, allowAnonymous = false, rateLimit } = options;
  const ways = [authenticate, tokens, oauth].filter((way) => way !== undefined).length;
  if (ways > 1)
    throw invalidOption("authenticate", "the only one of authenticate, tokens and oauth", "one of several", owner);
  const isOpen = hosts.some((host) => !loopbackHosts.includes(host));
  if (isOpen && ways === 0 && !allowAnonymous) {
    const wanted =
      "this machine alone, unless there is authenticate, tokens or oauth, or allowAnonymous says that every caller is served";
    throw invalidOption("allowedHosts", wanted, hosts, owner);
  }
  for (const [principal, token] of Object.entries(tokens ?? {})) {
    if (principal === "" || typeof token !== "string" || token.length < minTokenLength)
      throw invalidOption(
        `tokens.${principal}`,
        `a text of at least ${minTokenLength} characters`,
        "another one",
        owner,
      );
  }
  if (oauth !== undefined) assertOAuth(oauth);
  if (rateLimit === undefined) return;
  wholeNumber("rateLimit.max", isRecord(rateLimit) ? rateLimit.max : Number.NaN, 1);
  wholeNumber("rateLimit.windowMs", isRecord(rateLimit) ? rateLimit.windowMs : Number.NaN, 1);
}

function assertOAuth({ resource, authorizationServers, verify }: OAuthProtection): void {
  const url = typeof resource === "string" ? URL.parse(resource) : null;
  if (url === null || url.hash !== "")
    throw invalidOption("oauth.resource", "an absolute URL without fragment", resource, owner);
  if (!Array.isArray(authorizationServers) || authorizationServers.length === 0)
    throw invalidOption("oauth.authorizationServers", "a list of issuers", authorizationServers, owner);
  if (typeof verify !== "function") throw invalidOption("oauth.verify", "a function", verify, owner);
}

const owner = "of createMcpHandler";
