import { bufferOf } from "./bytes.ts";

/** The part of a text that is looked at, in bytes: enough to know a language by, in milliseconds. */
const sampleLength = 8 * 1024;
/** Confidence, of 100, that a charset must reach: one of several bytes for a character is certain where it is right. */
const leastConfidence = { several: 50, single: 10 };
/** The most charsets that are proposed: each may cost a decoding of the whole text. */
const maxProposed = 3;
const severalBytes = /^(?:Big5|EUC-|GB18030|ISO-2022|Shift_JIS|UTF-)/;

/**
 * The charsets that a text may be in, the likeliest first. Bytes that are valid UTF-8 are not looked at here.
 *
 * @param isHtml - its tags say nothing of its language
 */
export async function likelyCharsets(bytes: Uint8Array, isHtml: boolean): Promise<readonly string[]> {
  const sample = sampleOf(bytes, isHtml);
  const { default: chardet } = await import("chardet");
  const found = chardet
    .analyse(sample)
    .filter(({ name, confidence }) => confidence >= leastConfidence[severalBytes.test(name) ? "several" : "single"])
    .map(({ name }) => name.toLowerCase());
  return (isWestern(sample) ? [...found.slice(0, maxProposed - 1), "windows-1252"] : found).slice(0, maxProposed);
}

/** The text from its first byte beyond ASCII on, for all before it says nothing. */
function sampleOf(bytes: Uint8Array, isHtml: boolean): Buffer {
  const first = bytes.findIndex((byte) => byte > 127);
  const start = Math.max(0, bytes.lastIndexOf(10, first) + 1, first - sampleLength / 2);
  const sample = bufferOf(bytes.subarray(start, start + sampleLength));
  return isHtml ? Buffer.from(sample.toString("latin1").replace(/<[^<>]*>/g, " "), "latin1") : sample;
}

/** True for words of a western language, too few to tell which: each letter beyond ASCII stands beside one of ASCII. */
function isWestern(sample: Buffer): boolean {
  const text = sample.toString("latin1");
  return !/(?<![A-Za-z])[\u0080-\u00ff](?![A-Za-z])|[\u0080-\u00bf\u00d7\u00f7]/.test(text);
}
