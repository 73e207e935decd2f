import { decoded } from "./pointer.ts";
/** Shown in place of a secret. */
export const secretMask = "***";

const minTokenLength = 16;
/** A word without a break is hardly this long. */
const maxWordLength = 31;
const uuid = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/**
 * True for a text that is more likely a key than a name: 16 characters or more that are not words, such as a UUID, hexadecimal digits, or
 * letters and digits in one. A guess, and rather too often true: it decides about what is shown.
 */
export function isTokenLike(text: string): boolean {
  if (text.length < minTokenLength) return false;
  if (uuid.test(text)) return true;
  const parts = text.split(/[-_.~+ ]+/).filter((part) => part !== "");
  const numbered = parts.filter((part) => /^[A-Za-z]{1,15}[0-9]{1,4}$/.test(part)).length;
  const plain = parts.filter((part) => isWord(part) || /^[0-9]{1,8}$/.test(part)).length;
  return parts.length === 0 || numbered + plain < parts.length || numbered > plain;
}

/** Letters of a language: few changes between upper and lower case. */
function isWord(part: string): boolean {
  if (!/^\p{L}+$/u.test(part) || part.length > maxWordLength) return false;
  const changes = part.match(/(?<=\p{Ll})\p{Lu}|(?<=\p{Lu})\p{Ll}/gu)?.length ?? 0;
  return part.length < minTokenLength || changes * 3 < part.length;
}

/** The parts of the path of a URL that are more likely keys than names, as they are written. */
export function tokensInPath(path: string): readonly string[] {
  return path.split("/").filter((segment) => isTokenLike(decoded(segment)));
}

/** The path of a URL, or a URL without user info, query and fragment, with `***` in place of what is more likely a key than a name. */
export function withoutTokens(path: string): string {
  const [, origin = "", rest = ""] = /^([A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]*)?(.*)$/s.exec(path) ?? [];
  return `${origin}${rest
    .split("/")
    .map((segment) => (isTokenLike(decoded(segment)) ? secretMask : segment))
    .join("/")}`;
}

/** The text of a part of a URL; itself where its escapes are broken. */

/** The name of a header or variable that holds a credential. */
export const credentialName =
  /key|token|secret|passw|passphrase|pwd|auth|credential|cookie|signature|jwt|private|session/i;

export const headerScheme = /^(?:basic|bearer|token)\s/i;

/** True for a header or variable that is more likely a credential than not, by its name or its value. */
export function isCredential(name: string, value: string): boolean {
  // The path of a folder is no key, however odd it is.
  const isKey = isTokenLike(value) && !/[/\\\s]/.test(value);
  return credentialName.test(name) || passwordIn(value) !== undefined || headerScheme.test(value) || isKey;
}

/** The password of a URL. */
export function passwordIn(value: string): string | undefined {
  return /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#@:]*:([^/?#@]+)@/.exec(value)?.[1];
}
