import type { ToolkitError } from "../../core/error.ts";
import type { CredentialsHost, HttpCredentials, HttpRefusal, ProtectedServer } from "../../core/http-auth.ts";
import { abortable } from "../../lib/promise.ts";
import { SlidingWindow } from "../../lib/sliding-window.ts";
import { present } from "../../lib/value.ts";
import { canonicalUrl } from "../target/target-values.ts";
import { type Authority, type Challenge, discoverAuthority, parseChallenge } from "./authority.ts";
import { PersonError, rejectionOf, tokenFailure, unauthorized, unquoted } from "./token-failure.ts";
import { type Flow, includesScope, joinScopes, PendingAuthorization } from "./token-flow.ts";
import type { StoredAuthorization, TokenStore } from "./token-store.ts";

/** A token is renewed so long before it expires, at most: it has to arrive, too. */
const earlyMs = 10_000;
/** A person who said no is not asked again at once. */
const askAgainMs = 60_000;
/** An authorization server may send a browser back at once, and a server refuse what it gave: each page would open the next. */
const maxPages = 5;
const pagesWindowMs = 600_000;

/** The tokens of one connector: kept in a store, renewed before they expire or when they are refused, once for all who need it. */
export class OAuthCredentials implements HttpCredentials {
  readonly #server: ProtectedServer;
  readonly #flow: Flow;
  readonly #store: TokenStore;
  readonly #key: string;
  #loading: Promise<void> | undefined;
  #loaded = false;
  #bearer: string | undefined;
  /** When it is time for another one. */
  #renewAt = Number.POSITIVE_INFINITY;
  #expiresAt = Number.POSITIVE_INFINITY;
  #renewable = false;
  #authority: Authority | undefined;
  #renewal: { readonly more: boolean; readonly done: Promise<boolean> } | undefined;
  #pending: PendingAuthorization | undefined;
  /** The scopes that were asked for and granted. */
  #scope: string | undefined;
  /** Why what there was is forgotten. */
  #rejected: unknown;
  readonly #pages = new SlidingWindow(maxPages, pagesWindowMs);
  #denied: { readonly error: ToolkitError; readonly until: number } | undefined;

  constructor(server: ProtectedServer, flow: Flow, store: TokenStore) {
    this.#server = server;
    this.#flow = flow;
    this.#store = store;
    // A client of its own has tokens of its own.
    this.#key = [canonicalUrl(server.url), flow.clientId].filter((part) => part !== undefined).join(" ");
  }

  async warning(): Promise<string | undefined> {
    return this.#store.warning?.();
  }

  authorization({ signal }: { readonly signal: AbortSignal }): string | undefined | Promise<string | undefined> {
    if (this.#loaded && Date.now() < this.#renewAt) return this.#bearer;
    return this.#current(signal);
  }

  async refused(
    { status, challenge: header, authorization }: HttpRefusal,
    { signal, host }: { readonly signal: AbortSignal; readonly host: CredentialsHost },
  ): Promise<void> {
    await abortable(this.#load(), signal);
    // A better one came meanwhile.
    if (this.#bearer !== undefined && this.#bearer !== authorization) return;
    const challenge = await parseChallenge(header);
    // A server that refuses may have moved to another authorization server.
    this.#authority = undefined;
    const more = status === 403;
    if (more && includesScope(this.#scope, challenge.scope)) throw this.#uselessError(challenge);
    if (await abortable(this.#renew(challenge, more), signal)) return;
    await this.#byPerson(challenge, { signal, host });
  }

  async #current(signal: AbortSignal): Promise<string | undefined> {
    await abortable(this.#load(), signal);
    if (Date.now() < this.#renewAt || !this.#renewable) return this.#bearer;
    const renewal = this.#renew({}, false);
    if (Date.now() < this.#expiresAt) {
      // It is still good. Should the next one not come, there is time to say so when this one has expired.
      renewal.catch(() => {});
      return this.#bearer;
    }
    // Where nothing can be renewed, the answer to a request without credentials tells what to do.
    await abortable(renewal, signal);
    return this.#bearer;
  }

  #load(): Promise<void> {
    this.#loading ??= this.#loadOnce().finally(() => {
      // A file that cannot be read can be repaired.
      if (!this.#loaded) this.#loading = undefined;
    });
    return this.#loading;
  }

  async #loadOnce(): Promise<void> {
    this.#take(await this.#read());
    this.#loaded = true;
  }

  /** Gets new tokens without a person, once for all who ask meanwhile. False where there is no way to. */
  #renew(challenge: Challenge, more: boolean): Promise<boolean> {
    const pending = this.#renewal;
    if (pending !== undefined && (pending.more || !more)) return pending.done;
    const renew = () => this.#renewed(challenge, more, this.#bearer);
    const done = (pending === undefined ? renew() : pending.done.then(renew, renew)).finally(() => {
      if (this.#renewal?.done === done) this.#renewal = undefined;
    });
    this.#renewal = { more, done };
    return done;
  }

  async #renewed(challenge: Challenge, more: boolean, refused: string | undefined): Promise<boolean> {
    try {
      const authority = await this.#discover(challenge);
      return await this.#store.exclusively(this.#key, async () => {
        const stored = await this.#readFor(authority);
        // Another connector or process was quicker: a refresh token may be good for once only.
        if (stored?.tokens !== undefined && bearerOf(stored) !== refused) return this.#take(stored);
        const scope = this.#wanted(challenge, authority, more);
        const renewed = await this.#ask(stored, () =>
          this.#flow.renew({ server: this.#server, authority, stored, scope }, more),
        );
        return renewed === undefined ? false : await this.#keep(renewed, scope);
      });
    } catch (error) {
      throw tokenFailure(error, this.#server.label);
    }
  }

  /** Only a final refusal of the authorization server costs what is stored. */
  async #ask(
    stored: StoredAuthorization | undefined,
    ask: () => Promise<StoredAuthorization | undefined>,
  ): Promise<StoredAuthorization | undefined> {
    try {
      return await ask();
    } catch (error) {
      const rejection = rejectionOf(error);
      if (rejection === undefined || (rejection === "client" && this.#flow.clientId !== undefined)) throw error;
      this.#rejected = unquoted(error);
      const rest =
        rejection === "client" || stored === undefined ? undefined : present({ ...stored, tokens: undefined });
      await this.#store.write(this.#key, rest);
      this.#take(rest);
      return undefined;
    }
  }

  async #byPerson(
    challenge: Challenge,
    { signal, host }: { readonly signal: AbortSignal; readonly host: CredentialsHost },
  ): Promise<void> {
    const { label } = this.#server;
    const needed = challenge.scope === undefined ? "" : ` for the scope "${challenge.scope}"`;
    const wants = `wants to be authorized${needed}`;
    if (this.#flow.ask === undefined) throw unauthorized(label, `${wants}: ${this.#flow.remedy}`, this.#rejected);
    if (this.#denied !== undefined && Date.now() < this.#denied.until) throw this.#denied.error;
    this.#assertMayAsk(wants);
    const pending = this.#pendingFor(challenge);
    const waits = `waits for a person to authorize it${needed}: open the URL that was given to \`open\``;
    const patient = host.waits(unauthorized(label, waits, this.#rejected));
    pending.join(host, { restored: !patient });
    if (!patient)
      throw unauthorized(label, `${wants}: open the URL that was given to \`open\`, then call again`, this.#rejected);
    try {
      await abortable(pending.done, signal);
    } finally {
      host.waits(undefined);
    }
  }

  /** @throws ToolkitError `UNAUTHORIZED` where a person was shown so many pages that there is no other one for now */
  #assertMayAsk(wants: string): void {
    const waitMs = this.#pages.waitMs(Date.now());
    if (waitMs === 0 || this.#pending?.isOver === false) return;
    const what = `${wants}, and a person was shown ${maxPages} pages for it within ten minutes: the next one in ${Math.ceil(waitMs / 1_000)} s`;
    throw unauthorized(this.#server.label, what, this.#rejected);
  }

  #pendingFor(challenge: Challenge): PendingAuthorization {
    const last = this.#pending;
    if (last !== undefined && !last.isOver) return last;
    this.#pending = new PendingAuthorization(async (signal) => {
      // It may still hold the port.
      await last?.done.catch(() => {});
      await this.#asked(challenge, signal);
    });
    return this.#pending;
  }

  async #asked(challenge: Challenge, signal: AbortSignal): Promise<void> {
    try {
      const authority = await this.#discover(challenge);
      const stored = await this.#readFor(authority);
      const scope = this.#wanted(challenge, authority, true);
      const request = { server: this.#server, authority, stored, scope };
      this.#pages.spend(Date.now());
      const authorized = await this.#flow.ask?.(request, signal);
      if (authorized === undefined) return;
      await this.#store.exclusively(this.#key, () => this.#keep(authorized, scope));
      this.#denied = undefined;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = tokenFailure(error, this.#server.label);
      if (error instanceof PersonError) this.#denied = { error: failure, until: Date.now() + askAgainMs };
      throw failure;
    }
  }

  async #discover(challenge: Challenge): Promise<Authority> {
    if (this.#authority === undefined || challenge.resourceMetadataUrl !== undefined) {
      this.#authority = await discoverAuthority(this.#server, challenge, this.#flow.issuer);
    }
    return this.#authority;
  }

  #wanted(challenge: Challenge, { scope }: Authority, more: boolean): string | undefined {
    const first = this.#flow.scope ?? challenge.scope ?? scope;
    return more ? joinScopes(this.#scope ?? first, challenge.scope) : joinScopes(this.#scope ?? first);
  }

  async #read(): Promise<StoredAuthorization | undefined> {
    const stored = await this.#store.read(this.#key);
    for (const secret of [stored?.client?.secret, stored?.tokens?.accessToken, stored?.tokens?.refreshToken]) {
      if (secret !== undefined) this.#server.conceal(secret);
    }
    return stored;
  }

  /** The credentials of one authorization server are not shown to another. */
  async #readFor({ issuer }: Authority): Promise<StoredAuthorization | undefined> {
    const stored = await this.#read();
    return stored?.issuer === issuer ? stored : undefined;
  }

  async #keep(authorization: StoredAuthorization, asked: string | undefined): Promise<boolean> {
    // In use at once: the old ones may be good for nothing now, even where these cannot be kept.
    this.#take(authorization);
    this.#scope = joinScopes(asked, authorization.tokens?.scope);
    this.#rejected = undefined;
    await this.#store.write(this.#key, authorization);
    return true;
  }

  #take(authorization: StoredAuthorization | undefined): boolean {
    const { client, tokens } = authorization ?? {};
    for (const secret of [client?.secret, tokens?.accessToken, tokens?.refreshToken]) {
      if (secret !== undefined) this.#server.conceal(secret);
    }
    this.#bearer = authorization === undefined ? undefined : bearerOf(authorization);
    this.#expiresAt = tokens?.expiresAt ?? Number.POSITIVE_INFINITY;
    const leftMs = this.#expiresAt - Date.now();
    this.#renewAt = this.#expiresAt - Math.min(earlyMs, Math.max(0, leftMs / 4));
    this.#renewable = tokens?.refreshToken !== undefined || this.#flow.isService;
    this.#scope ??= tokens?.scope;
    return true;
  }

  #uselessError({ scope }: Challenge): Error {
    const what = `refuses a token that has the scope${scope === undefined ? "" : ` "${scope}"`} already: the person who authorized it may not do this`;
    return unauthorized(this.#server.label, what);
  }
}

function bearerOf({ tokens }: StoredAuthorization): string | undefined {
  return tokens === undefined ? undefined : `Bearer ${tokens.accessToken}`;
}
