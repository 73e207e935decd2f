import { createHash, randomBytes } from "node:crypto";

/** The most browsers that are signed in at once: beyond it the first one must open another link. */
const maxSessions = 32;
/** The most links that are open at once. */
const maxLinks = 32;

/** The links that open the page, each once, and the browsers that opened it. Only digests are kept: comparing those says nothing of a secret. */
export class PageSessions {
  readonly #cookie: string;
  readonly #links = new Set<string>();
  readonly #sessions = new Set<string>();

  /** @param port - cookies of a host belong to all its ports, so that their names must differ */
  constructor(port: number) {
    this.#cookie = `toolweave-${port}`;
  }

  /** Makes a token that opens the page once. */
  makeToken(): string {
    return keep(this.#links, maxLinks);
  }

  /** Exchanges a token for a session. @returns the `Set-Cookie` of it; undefined for a token that was used, or that there never was */
  exchange(token: string): string | undefined {
    if (!this.#links.delete(digestOf(token))) return undefined;
    const secret = keep(this.#sessions, maxSessions);
    return `${this.#cookie}=${secret}; Path=/; HttpOnly; SameSite=Strict`;
  }

  /** True for a request of a browser that is signed in. @param header - its `Cookie` */
  has(header: string | undefined): boolean {
    const prefix = `${this.#cookie}=`;
    const pairs = (header ?? "").split(";").map((pair) => pair.trim());
    return pairs.some((pair) => pair.startsWith(prefix) && this.#sessions.has(digestOf(pair.slice(prefix.length))));
  }
}

function keep(digests: Set<string>, most: number): string {
  const secret = randomBytes(32).toString("base64url");
  for (const oldest of digests) {
    if (digests.size < most) break;
    digests.delete(oldest);
  }
  digests.add(digestOf(secret));
  return secret;
}

/** A digest of a secret, by which it is compared and kept. */
export function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
