import { createPublicKey, type JsonWebKey, type KeyObject, verify } from "node:crypto";
import type { AgentCard } from "@a2a-js/sdk";
import { ToolkitError } from "../core/error.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { isRecord, jsonIn } from "../lib/value.ts";
import type { AgentSdk } from "./agent-sdk.ts";
import type { CardKey, CardSignatureOptions } from "./card-key.ts";

const names: OptionNames<CardSignatureOptions> = { keys: true, required: true };
const maxSignatures = 16;

/** The digest and the form of each algorithm (RFC 7518, RFC 8037). Those without a key pair are none. */
const algorithms: Readonly<
  Record<string, { readonly hash: string | null; readonly type: string; readonly pss?: true }>
> = {
  ES256: { hash: "sha256", type: "ec" },
  ES384: { hash: "sha384", type: "ec" },
  ES512: { hash: "sha512", type: "ec" },
  RS256: { hash: "sha256", type: "rsa" },
  RS384: { hash: "sha384", type: "rsa" },
  RS512: { hash: "sha512", type: "rsa" },
  PS256: { hash: "sha256", type: "rsa", pss: true },
  PS384: { hash: "sha384", type: "rsa", pss: true },
  PS512: { hash: "sha512", type: "rsa", pss: true },
  EdDSA: { hash: null, type: "ed25519" },
  Ed25519: { hash: null, type: "ed25519" },
};
const curves: Readonly<Record<string, string>> = { ES256: "prime256v1", ES384: "secp384r1", ES512: "secp521r1" };

interface ReadKey {
  readonly kid: string | undefined;
  readonly key: KeyObject;
}

/** A card as it came, and as the SDK has it. */
export interface SignedCard {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly card: AgentCard;
  /** The form of 0.3: its signatures are over the card as it was sent. */
  readonly isLegacy: boolean;
}

/** Checks the signatures of cards. */
export class CardSignatures {
  readonly #keys: readonly ReadKey[];
  readonly #required: boolean;

  /** @throws ToolkitError `INVALID_CONFIG` for a key that is none */
  constructor(options: CardSignatureOptions) {
    assertOptionNames(options, names, "of signature", "signature");
    const { keys, required = true } = options;
    const owner = "of an A2A connector";
    if (!Array.isArray(keys) || keys.length === 0)
      throw invalidOption("signature.keys", "a list of public keys", keys, owner);
    if (typeof required !== "boolean") throw invalidOption("signature.required", "true or false", required, owner);
    this.#keys = keys.map((key, index) => readKey(key, index));
    this.#required = required;
  }

  /** @throws ToolkitError `UNAUTHORIZED` where no signature of the card is valid, or none is there and one is required */
  assertValid(signed: SignedCard, sdk: AgentSdk, label: string): void {
    const { signatures } = signed.raw;
    const list = Array.isArray(signatures) ? signatures.slice(0, maxSignatures) : [];
    if (list.length === 0) {
      if (!this.#required) return;
      throw refused(label, "it has no signature, and signature.required is on");
    }
    // Made where it is needed: RFC 8785 without the signatures, in the form of the protocol's version.
    const { signatures: _, ...unsigned } = signed.raw;
    const canonical = signed.isLegacy ? canonicalJson(unsigned) : sdk.core.canonicalizeAgentCard(signed.card);
    const payload = Buffer.from(canonical).toString("base64url");
    if (!list.some((entry) => this.#isValid(entry, payload)))
      throw refused(
        label,
        "none of its signatures is by a key of signature.keys, or the card was changed after it was signed",
      );
  }

  #isValid(entry: unknown, payload: string): boolean {
    if (!isRecord(entry) || typeof entry.protected !== "string" || typeof entry.signature !== "string") return false;
    const header = parseHeader(entry.protected);
    // A header that must be understood, or that changes what is signed, is not known here.
    if (header === undefined || header.crit !== undefined || header.b64 !== undefined) return false;
    const alg = typeof header.alg === "string" && Object.hasOwn(algorithms, header.alg) ? header.alg : undefined;
    const form = alg === undefined ? undefined : algorithms[alg];
    if (alg === undefined || form === undefined) return false;
    const data = Buffer.from(`${entry.protected}.${payload}`);
    const signature = Buffer.from(entry.signature, "base64url");
    return this.#keys.some(({ kid, key }) => {
      if (kid !== undefined && kid !== header.kid) return false;
      if (key.asymmetricKeyType !== form.type) return false;
      if (curves[alg] !== undefined && key.asymmetricKeyDetails?.namedCurve !== curves[alg]) return false;
      // 6 is RSA_PKCS1_PSS_PADDING; a salt as long as the digest.
      const padding = form.pss === true ? { padding: 6, saltLength: -1 } : {};
      return verify(form.hash, data, { key, dsaEncoding: "ieee-p1363", ...padding }, signature);
    });
  }
}

function parseHeader(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = jsonIn(Buffer.from(text, "base64url").toString());
  return isRecord(value) ? value : undefined;
}

function readKey(given: CardKey, index: number): ReadKey {
  try {
    // A private key in its place gives the public one.
    return { kid: given.kid, key: createPublicKey({ key: given as JsonWebKey, format: "jwk" }) };
  } catch {
    // The platform's own error may quote the key.
    throw invalidOption(
      `signature.keys[${index}]`,
      "a public key as a JSON Web Key",
      typeof given,
      "of an A2A connector",
    );
  }
}

function refused(label: string, why: string): ToolkitError<"UNAUTHORIZED"> {
  return new ToolkitError("UNAUTHORIZED", `The card of ${label} is refused: ${why}.`, { target: label });
}
