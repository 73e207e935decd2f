import type { OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { CredentialsHost, ProtectedServer } from "../../core/http-auth.ts";
import { present } from "../../lib/value.ts";
import type { Authority } from "./authority.ts";
import type { StoredAuthorization, StoredTokens } from "./token-store.ts";

/** An authorization that a person is asked for: once for all connections that need it, as long as one of them is there. */
export class PendingAuthorization {
  /** Resolves when the person has authorized. */
  readonly done: Promise<void>;
  readonly #controller = new AbortController();
  readonly #hosts = new Map<CredentialsHost, { readonly restored: boolean; leave(): void }>();
  #isOver = false;

  /** @param ask - ends when the signal aborts */
  constructor(ask: (signal: AbortSignal) => Promise<void>) {
    this.done = ask(this.#controller.signal);
    this.done.then(
      () => this.#end(true),
      () => this.#end(false),
    );
  }

  /** True once it can be joined no more: a connection that needs one has to ask again. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** One more connection needs it; with `restored` it is notified when it is done. */
  join(host: CredentialsHost, { restored }: { readonly restored: boolean }): void {
    if (this.#hosts.has(host)) return;
    const leave = () => {
      this.#hosts.delete(host);
      if (this.#hosts.size > 0) return;
      this.#isOver = true;
      this.#controller.abort(new Error("No connection waits for the authorization any more."));
    };
    this.#hosts.set(host, { restored, leave });
    if (host.signal.aborted) leave();
    else host.signal.addEventListener("abort", leave);
  }

  #end(authorized: boolean): void {
    this.#isOver = true;
    for (const [host, { restored, leave }] of this.#hosts) {
      host.signal.removeEventListener("abort", leave);
      if (authorized && restored) host.restored();
    }
    this.#hosts.clear();
  }
}

/** The server that tokens are wanted for. */
export interface TokenRequest {
  readonly server: ProtectedServer;
  readonly authority: Authority;
  /** The present authorization, by the same authority. */
  readonly stored: StoredAuthorization | undefined;
  readonly scope: string | undefined;
}

/** A way to get tokens. */
export interface Flow {
  /** The client the service was given; undefined where it has none of its own. */
  readonly clientId: string | undefined;
  /** The authorization server that this client is registered with. */
  readonly issuer: string | undefined;
  /** The service itself is authorized: there always is a way to renew. */
  readonly isService: boolean;
  /** The remedy where nothing can be renewed and no person asked. */
  readonly remedy: string;
  /** The scope the service wants, separated by blanks. */
  readonly scope: string | undefined;
  /**
   * Gets tokens for which no person has to be asked; undefined where there is no way to.
   *
   * @param more - the scope of the present tokens does not do
   * @throws OAuthError, AuthorityUnavailableError or Error
   */
  renew(request: TokenRequest, more: boolean): Promise<StoredAuthorization | undefined>;
  /** Gets tokens by asking a person. Missing where there is none. @throws as `renew`, PersonError, or the signal's reason */
  ask?(request: TokenRequest, signal: AbortSignal): Promise<StoredAuthorization>;
}

/** Tokens as they are kept. @throws Error for a kind of token that is sent otherwise */
export function tokensOf(given: OAuthTokens, asked: string | undefined): StoredTokens {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = given;
  if (given.token_type.toLowerCase() !== "bearer") throw new Error("it gives tokens that are no bearer tokens");
  // Without one, what was asked for was granted.
  const scope = given.scope ?? asked;
  const expiresAt = expiresIn === undefined ? undefined : Date.now() + expiresIn * 1_000;
  return present({ accessToken, refreshToken, expiresAt, scope });
}

/** Scopes of several sets, each once. */
export function joinScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => (scope ?? "").split(" ")).filter((scope) => scope !== ""));
  return all.size === 0 ? undefined : [...all].join(" ");
}

/** True where every scope that is needed is granted. */
export function includesScope(granted: string | undefined, needed: string | undefined): boolean {
  const all = new Set((granted ?? "").split(" "));
  return (needed ?? "").split(" ").every((scope) => scope === "" || all.has(scope));
}
