// Apart from their check: these are in the declarations of the package, which must not need those of the SDK.

/** A public key that signs cards, as a JSON Web Key (RFC 7517). */
export interface CardKey {
  /** The id by which a signature names it. Missing, it is tried for every signature. */
  readonly kid?: string | undefined;
  readonly kty: string;
  readonly [member: string]: unknown;
}

/** The signatures that a card is checked by. */
export interface CardSignatureOptions {
  /** The public keys that may have signed it. They come from the operator alone: an address that the card names is never asked. */
  readonly keys: readonly CardKey[];
  /** Refuse a card without a signature too. Default true; with false only one that has signatures is refused, where none of them is valid. */
  readonly required?: boolean | undefined;
}
