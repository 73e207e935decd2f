import dns from "node:dns";
import type { LookupFunction } from "node:net";
import { type AddressKind, type AddressRange, addressKind, isInRange, parseCidr, parseIp } from "./ip-address.ts";

/** A request was not sent: its URL leads to an address that strangers must not choose. The message holds no path, query or address. */
export class EgressError extends Error {
  override readonly name = "EgressError";

  constructor(place: string, why: string) {
    super(`No request goes to ${place}: ${why}`);
  }

  /** The error among the causes of another one. */
  static in(error: unknown): EgressError | undefined {
    let at = error;
    for (let depth = 0; depth < 8 && at instanceof Error; depth += 1) {
      if (at instanceof EgressError) return at;
      at = at.cause;
    }
    return undefined;
  }
}

/**
 * The rule for requests whose URL a stranger chose: a server, what it sends, an authorization server, a prompt, a caller. They reach public
 * addresses, the origins that are named, and addresses in the ranges that are named. A name is judged by the addresses it has when a
 * socket connects, all of them, so that DNS that changes its answer changes nothing.
 */
export class EgressPolicy {
  /** Public addresses only. */
  static readonly strict: EgressPolicy = new EgressPolicy([], []);
  readonly #origins: ReadonlySet<string>;
  readonly #ranges: readonly AddressRange[];

  /** @param origins - as `URL.origin` gives them */
  constructor(origins: Iterable<string>, ranges: readonly AddressRange[]) {
    this.#origins = new Set(origins);
    this.#ranges = ranges;
  }

  /** The policy of origins and CIDR blocks; or the index of the first that is neither. */
  static parse(allowed: readonly unknown[]): EgressPolicy | number {
    const origins: string[] = [];
    const ranges: AddressRange[] = [];
    for (const [index, text] of allowed.entries()) {
      const range = typeof text === "string" ? parseCidr(text) : undefined;
      const origin = typeof text === "string" && range === undefined ? parseOrigin(text) : undefined;
      if (range !== undefined) ranges.push(range);
      else if (origin !== undefined) origins.push(origin);
      else return index;
    }
    return new EgressPolicy(origins, ranges);
  }

  /** The same, and these origins. */
  allowing(...origins: readonly string[]): EgressPolicy {
    return new EgressPolicy([...this.#origins, ...origins], this.#ranges);
  }

  /** True for an origin that is named: scheme, host and port. */
  isNamed(url: URL): boolean {
    return this.#origins.has(url.origin);
  }

  /** The reason why a URL must not be asked, by what is written in it: all there is to go by where a proxy resolves names. */
  refusal(url: URL): EgressError | undefined {
    const { protocol, hostname, origin, username, password } = url;
    if (protocol !== "http:" && protocol !== "https:")
      return new EgressError(protocol, "only http: and https: URLs are requested.");
    if (username !== "" || password !== "") return new EgressError(origin, "its URL holds a user name or a password.");
    if (this.isNamed(url)) return undefined;
    const kind = this.#refusedKind(hostname);
    if (kind === undefined) return undefined;
    return new EgressError(
      origin,
      `that is ${article(kind)} address. If it is meant, name it: egress: { allow: ["${origin}"] }.`,
    );
  }

  /** @throws EgressError where the URL must not be asked, by what is written in it */
  assertPermitted(url: URL): void {
    const refusal = this.refusal(url);
    if (refusal !== undefined) throw refusal;
  }

  /** The `lookup` of sockets to an origin that is not named: it fails where one of the addresses of a name is refused. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return callback(error ?? new Error(`${hostname} has no address`), []);
      const kind = addresses.map(({ address }) => this.#refusedKind(address)).find((each) => each !== undefined);
      if (kind !== undefined) {
        const why = `its name leads to ${article(kind)} address. If it is meant, name its origin in egress: { allow: [...] }.`;
        callback(new EgressError(hostname, why), []);
      } else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

  /** The kind of an address that is refused; undefined for one that is not, and for a name, which is judged later. */
  #refusedKind(host: string): AddressKind | undefined {
    const address = parseIp(host);
    if (address === undefined) return /^(?:.*\.)?localhost\.?$/i.test(host) ? this.#kindOfLocalhost() : undefined;
    if (this.#ranges.some((range) => isInRange(address, range))) return undefined;
    const kind = addressKind(address);
    return kind === "public" ? undefined : kind;
  }

  /** Such names need no DNS (RFC 6761). */
  #kindOfLocalhost(): AddressKind | undefined {
    return this.#refusedKind("127.0.0.1") ?? this.#refusedKind("::1");
  }
}

/** An origin as it is compared; undefined for any other text, also for a URL with a path, a query or a user name. */
function parseOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || !/^https?:\/\/[^/?#@]+\/?$/i.test(text)) return undefined;
  return url.origin;
}

function article(kind: AddressKind): string {
  return /^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}
