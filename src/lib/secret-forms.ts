import { minSecretLength, SecretIndex, searchSteps } from "./secret-index.ts";
import { secretMask } from "./token-shape.ts";

/** The forms in which values may come back, as far as they are long enough to be looked for. */
export function formsOf(values: readonly string[]): ReadonlySet<string> {
  return new Set(values.flatMap(forms).filter((form) => form.length >= minSecretLength));
}

/** A text with values masked, in all forms in which they may come back. For a text now and then: what masks many keeps a `SecretIndex`. */
export function maskedText(text: string, values: readonly string[]): string {
  if (values.length === 0) return text;
  const index = new SecretIndex();
  for (const form of formsOf(values)) index.add(form);
  return index.mask(text, secretMask, searchSteps());
}

/** The secrets in the value of a header: it, and its credentials without their scheme. */
export function partsOf(value: string): string[] {
  const [, scheme = "", rest = ""] = /^(\S+)\s+(.+)$/.exec(value) ?? [];
  if (!/^basic$/i.test(scheme)) return [value, rest];
  const pair = Buffer.from(rest, "base64").toString();
  const colon = pair.indexOf(":");
  return [value, rest, pair, pair.slice(0, Math.max(0, colon)), pair.slice(colon + 1)];
}

/** The forms in which a value may come back: as it is, in JSON, in a URL, or line by line. */
function forms(value: string): string[] {
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encoded(value),
    ...value.split(/\r?\n/).map((line) => line.trim()),
  ];
}

function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}
