import type { Session } from "./session.ts";

/** The request for which a header function is called. */
export interface HeaderRequest {
  /** Of the call the request belongs to; undefined for a handshake, a list, a ping, or the stream of what a server says unasked. */
  readonly session: Session | undefined;
  /** The server, without user info, query and fragment: one function may serve several. */
  readonly url: string;
  /** Aborts when the request does. */
  readonly signal: AbortSignal;
}

/**
 * Returns the headers of each request. What it gives is treated as a secret. Where it throws, that request fails, with `UNAVAILABLE`
 * or the ToolkitError that it threw: it was not sent, and nothing else is harmed.
 */
export type HeaderFunction = (
  request: HeaderRequest,
) => Readonly<Record<string, string>> | PromiseLike<Readonly<Record<string, string>>>;

/** Headers: fixed, or a function that returns those of each request. */
export type HeadersOption = Readonly<Record<string, string>> | Headers | HeaderFunction;

/** A server that requires credentials. */
export interface ProtectedServer {
  readonly url: URL;
  /** For people, without secrets. */
  readonly label: string;
  /** Sends requests of the authorization, where the egress of the connector lets them go. */
  readonly fetch: typeof globalThis.fetch;
  /** Registers a secret before it is used, so that it stays out of logs, errors and events. */
  conceal(secret: string): void;
}

/** The connection that credentials are for. */
export interface CredentialsHost {
  /** Aborts when the connection has ended: nothing is done for it from then on. */
  readonly signal: AbortSignal;
  /**
   * A person has to act before requests are accepted, or has acted (undefined). False where no attempt to connect can be
   * held up for it: then it must not wait.
   */
  waits(reason: Error | undefined): boolean;
  /** Requests that were refused would be accepted now. */
  restored(): void;
}

/** A request that a server refused for its credentials. */
export interface HttpRefusal {
  readonly status: 401 | 403;
  /** The header `WWW-Authenticate`. */
  readonly challenge: string | undefined;
  /** The `Authorization` header that was sent. */
  readonly authorization: string | undefined;
}

/** The credentials of one connector for its server. They outlive its connections. */
export interface HttpCredentials {
  /**
   * The header `Authorization` of the next request; undefined where there is none yet. At once where nothing has to be asked.
   *
   * @throws ToolkitError `UNAVAILABLE` or `UNAUTHORIZED`; the signal's reason
   */
  authorization(options: { readonly signal: AbortSignal }): string | undefined | Promise<string | undefined>;
  /**
   * Resolves when the request may be sent once more.
   *
   * @throws ToolkitError `UNAUTHORIZED`, saying what is missing and what to do; `UNAVAILABLE`; the signal's reason
   */
  refused(
    refusal: HttpRefusal,
    options: { readonly signal: AbortSignal; readonly host: CredentialsHost },
  ): Promise<void>;
}

/** A source of credentials, such as `oauth()` and `clientCredentials()` make. */
export interface HttpAuth {
  /** Origins that the operator has named, such as that of the authorization server: its requests may go there, whatever address that has. */
  readonly origins?: readonly string[] | undefined;
  /** Called once for each connector. Starts nothing. @throws ToolkitError `INVALID_CONFIG` */
  open(server: ProtectedServer): HttpCredentials;
}
