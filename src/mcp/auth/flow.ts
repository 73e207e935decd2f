import type { OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { ProtectedServer } from "../../core/http-auth.ts";
import { present } from "../../lib/value.ts";
import type { Authority } from "./authority.ts";
import type { StoredAuthorization, StoredTokens } from "./store.ts";

/** What tokens are wanted for. */
export interface TokenRequest {
  readonly server: ProtectedServer;
  readonly authority: Authority;
  /** What there is, by the same authority. */
  readonly stored: StoredAuthorization | undefined;
  readonly scope: string | undefined;
}

/** A way to get tokens. */
export interface Flow {
  /** The client the service was given; undefined where it has none of its own. */
  readonly clientId: string | undefined;
  /** The service itself is authorized: there always is a way to renew. */
  readonly isService: boolean;
  /** What to do where nothing can be renewed and nobody asked. */
  readonly remedy: string;
  /** The scope the service wants, separated by blanks. */
  readonly scope: string | undefined;
  /**
   * Gets tokens for which nobody has to be asked; undefined where there is no way to.
   *
   * @param more - the scope of what there is does not do
   * @throws OAuthError, AuthorityUnavailableError or Error
   */
  renew(request: TokenRequest, more: boolean): Promise<StoredAuthorization | undefined>;
  /** Gets tokens by asking a person. Missing where there is nobody. @throws as `renew`, PersonError, or the signal's reason */
  ask?(request: TokenRequest, signal: AbortSignal): Promise<StoredAuthorization>;
}

/** The person did not authorize, or was not asked. */
export class PersonError extends Error {
  override readonly name = "PersonError";
}

/** Tokens as we keep them. @throws Error for a kind of token that is sent otherwise */
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

/** Whether all that is needed is among what is granted. */
export function includesScope(granted: string | undefined, needed: string | undefined): boolean {
  const all = new Set((granted ?? "").split(" "));
  return (needed ?? "").split(" ").every((scope) => scope === "" || all.has(scope));
}
