import { glob } from "../../lib/glob.ts";

/** Keys whose values are never recorded, compared without regard to case, `_` and `-`. */
const secretKeys: readonly string[] = [
  "*password*",
  "*passwd*",
  "*passphrase*",
  "*secret*",
  "*token",
  "*apikey*",
  "*privatekey*",
  "*credential*",
  "*authorization*",
  "*cookie*",
];

/**
 * Tells which keys have values that are never recorded, neither on spans nor on tapes.
 *
 * @param redact - globs on keys, beside those that are always secret
 */
export function secretKeyTest(redact: readonly string[]): (key: string) => boolean {
  const globs = [...secretKeys, ...redact].map((pattern) => glob(plain(pattern)));
  return (key) => globs.some((fits) => fits(plain(key)));
}

function plain(key: string): string {
  return key.toLowerCase().replaceAll(/[_-]/g, "");
}
