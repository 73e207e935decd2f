import { withoutUserInfo } from "../call/trace/attributes.ts";
import { secretKeyTest } from "../call/trace/secret-keys.ts";
import { minSecretLength, SecretIndex, searchSteps } from "../lib/secret-index.ts";
import { secretMask } from "../lib/token-shape.ts";
import { isRecord, jsonIn } from "../lib/value.ts";

/** Deeper values are masked whole. */
const maxDepth = 64;
/** So many secrets are looked for in texts. */
const maxSecrets = 1_000;
const maxSecretLength = 4_096;

/**
 * Masks the secrets in values: those under a key that `recordContent` masks too, and wherever such a value comes again in a text, such as in the
 * prompt that it was rendered into. What holds no secret stays as it is, so that a masked value can be compared with one that was masked before.
 */
export class TapeMask {
  readonly #isSecret: (key: string) => boolean;
  readonly #known = new Set<string>();
  readonly #index = new SecretIndex();

  /** @param redact - globs on keys, beside those that are always secret */
  constructor(redact: readonly string[]) {
    this.#isSecret = secretKeyTest(redact);
  }

  /** A value as JSON holds it, masked. */
  value(value: unknown): unknown {
    const plain: unknown = toPlain(value, 0);
    this.#learn(plain, 0);
    return this.#masked(plain, 0);
  }

  /** A value of which no key is a secret's, such as a schema: only known secrets are masked in it. */
  described(value: unknown): unknown {
    return mapTexts(toPlain(value, 0), (text) => this.#text(text));
  }

  #learn(value: unknown, depth: number): void {
    if (typeof value === "string") {
      const inner = depth < maxDepth ? innerJson(value) : undefined;
      if (inner !== undefined) this.#learn(inner, depth + 1);
    } else if (Array.isArray(value)) for (const each of value) this.#learn(each, depth + 1);
    else if (isRecord(value)) {
      for (const [key, each] of Object.entries(value)) {
        if (this.#isSecret(key)) mapTexts(each, (text) => this.#add(text));
        else this.#learn(each, depth + 1);
      }
    }
  }

  #add(secret: string): string {
    const isFit = secret.length >= minSecretLength && secret.length <= maxSecretLength;
    if (!isFit || this.#known.has(secret) || this.#known.size >= maxSecrets) return secret;
    this.#known.add(secret);
    this.#index.add(secret);
    return secret;
  }

  #masked(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#maskedText(value, depth);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => this.#masked(each, depth + 1));
    const fields = Object.entries(value).map(([key, each]) => {
      return [key, this.#isSecret(key) && !isEmpty(each) ? secretMask : this.#masked(each, depth + 1)];
    });
    return Object.fromEntries(fields);
  }

  /** A text may be JSON with secrets in it: written anew only where it has some. */
  #maskedText(text: string, depth: number): string {
    const inner = depth < maxDepth ? innerJson(text) : undefined;
    if (inner === undefined) return this.#text(text);
    const masked = this.#masked(inner, depth + 1);
    const written = JSON.stringify(masked);
    return written === JSON.stringify(inner) ? this.#text(text) : written;
  }

  #text(text: string): string {
    const masked = this.#known.size === 0 ? text : this.#index.mask(text, secretMask, searchSteps());
    return masked.includes("://") ? withoutUserInfo(masked) : masked;
  }
}

function innerJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  const value = jsonIn(text);
  return depthOf(value) > maxDepth ? undefined : value;
}

/** The levels of a value; no more are counted than matter. */
function depthOf(value: unknown, depth = 0): number {
  if (typeof value !== "object" || value === null || depth > maxDepth) return depth;
  let deepest = depth;
  for (const each of Object.values(value)) deepest = Math.max(deepest, depthOf(each, depth + 1));
  return deepest;
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, change));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, mapTexts(each, change)]));
}

/** The value as JSON holds it. Bytes are written in base64 under a key of their own, so that they can be read again. */
function toPlain(value: unknown, depth: number): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (depth > maxDepth) return secretMask;
  if (value instanceof Uint8Array) return { [bytesKey]: Buffer.from(value).toString("base64") };
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === "function") return toPlain(toJSON.call(value, ""), depth + 1);
  if (Array.isArray(value)) return value.map((each) => toPlain(each, depth + 1) ?? null);
  const fields = Object.entries(value).flatMap(([key, each]) => {
    const plain = toPlain(each, depth + 1);
    return plain === undefined ? [] : [[key, plain] as const];
  });
  return Object.fromEntries(fields);
}

const bytesKey = "~bytes";

/** The value that was written, with its bytes. */
export function fromPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromPlain);
  if (!isRecord(value)) return value;
  const { [bytesKey]: bytes, ...rest } = value;
  if (typeof bytes === "string" && Object.keys(rest).length === 0) return Uint8Array.from(Buffer.from(bytes, "base64"));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fromPlain(each)]));
}

/** That there is none is no secret, and worth knowing. */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === "" || (isRecord(value) && Object.keys(value).length === 0);
}
