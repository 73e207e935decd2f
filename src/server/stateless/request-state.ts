import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/** The facts that a `requestState` carries through a client, which can neither read nor change them. */
export interface CallAddress {
  /** The process that has the parked call. */
  readonly replica: string;
  readonly call: string;
  /** The number of the round that it answers: each is answered once. */
  readonly round: number;
}

/** An address, and what it is bound to. */
export interface SealedFacts extends CallAddress {
  readonly principal: string | undefined;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Of method, name and arguments of the call. */
  readonly digest: string;
}

const algorithm = "aes-256-gcm";
const version = "1.";
const nonceBytes = 12;
const tagBytes = 16;
/** A longer text is none of ours: a principal may have this many characters, and the rest is short. */
const maxLength = 8_192;

/** Seals and opens states by authenticated encryption: one that was altered, or sealed with another key, does not open. */
export class StateSeal {
  readonly #keys: readonly Buffer[];

  /** @param keys - the first seals, each of them opens. Without one there is a random key, which no other process has */
  constructor(keys: readonly string[] | undefined) {
    this.#keys = keys?.map((key) => createHash("sha256").update(`toolweave requestState ${key}`).digest()) ?? [
      randomBytes(32),
    ];
  }

  seal(facts: SealedFacts): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.#keys[0] ?? randomBytes(32), nonce);
    const text = JSON.stringify(facts);
    const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `${version}${sealed.toString("base64url")}`;
  }

  /** Undefined for a text that was not sealed with one of the keys, or was altered. */
  open(state: string): SealedFacts | undefined {
    if (!state.startsWith(version) || state.length > maxLength) return undefined;
    const sealed = Buffer.from(state.slice(version.length), "base64url");
    // Of the texts that stand for these bytes only one was given.
    const isGiven = state === `${version}${sealed.toString("base64url")}`;
    if (!isGiven || sealed.length <= nonceBytes + tagBytes) return undefined;
    for (const key of this.#keys) {
      const text = opened(sealed, key);
      // Only a process with the key wrote it.
      if (text !== undefined) return JSON.parse(text) as SealedFacts;
    }
    return undefined;
  }
}

function opened(sealed: Buffer, key: Buffer): string | undefined {
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    return decipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return undefined;
  }
}
