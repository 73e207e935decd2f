import { hash } from "node:crypto";

/** JSON with the keys of every object sorted, so that equal values give equal text (RFC 8785 for what JSON.stringify writes). */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, sortKeys) ?? "null";
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const source = value as Record<string, unknown>;
  const keys = Object.keys(source);
  if (keys.length < 2) return value;
  // A null prototype, so that a key named __proto__ stays a key.
  const sorted: Record<string, unknown> = Object.create(null);
  for (const key of keys.sort()) sorted[key] = source[key];
  return sorted;
}

/** SHA-256 of a value's canonical JSON, in base64url (43 characters). */
export function digest(value: unknown): string {
  return digestOfJson(canonicalJson(value));
}

/** The digest of a value whose canonical JSON is there already. */
export function digestOfJson(canonical: string): string {
  return hash("sha256", canonical, "base64url");
}

/** SHA-256 of some texts in their order, in base64url: others in number, order or any of them give another. */
export function digestTexts(...texts: readonly string[]): string {
  return hash("sha256", texts.map((text) => `${text.length}:${text}`).join(), "base64url");
}
