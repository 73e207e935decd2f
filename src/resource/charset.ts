import { bufferOf } from "./bytes.ts";
import { charsetOf, essenceOf } from "./media-type.ts";

/**
 * The text that bytes are, or undefined where they are none. The first that applies decides: a byte order mark; the charset the
 * media type declares; the zero bytes of UTF-16; valid UTF-8; the charset an HTML or XML document declares in itself; the charset
 * that a text or an HTML document is most likely in.
 *
 * @param options - `detect`: false for bytes that may be no text
 */
export async function decodeText(
  bytes: Uint8Array,
  mediaType: string,
  { detect = true }: { readonly detect?: boolean } = {},
): Promise<string | undefined> {
  const marked = markOf(bytes);
  if (marked !== undefined) return decodeUnicode(bytes, marked);
  const declared = charsetOf(mediaType);
  if (declared !== undefined && !isUtf8Label(declared)) {
    const text = await decodeCharset(bytes, declared);
    if (text !== unknownCharset) return text;
  }
  const utf16 = utf16Of(bytes);
  if (utf16 !== undefined) return decodeUnicode(bytes, utf16);
  const text = decodeUnicode(bytes, "utf-8");
  if (text !== undefined) return text;
  if (declared !== undefined) return undefined;
  const inside = charsetInside(bytes, mediaType);
  if (inside !== undefined) {
    if (isUtf8Label(inside)) return undefined;
    const decoded = await decodeCharset(bytes, inside);
    return decoded === unknownCharset ? undefined : decoded;
  }
  return detect && essenceOf(mediaType).startsWith("text/") ? await detectText(bytes, mediaType) : undefined;
}

/** The text in the charset that is most likely; undefined where none is. */
async function detectText(bytes: Uint8Array, mediaType: string): Promise<string | undefined> {
  const { likelyCharsets } = await import("./detect-charset.ts");
  for (const charset of await likelyCharsets(bytes, essenceOf(mediaType) === "text/html")) {
    const text = await decodeCharset(bytes, charset);
    // Bytes that decode to control characters are in another charset, or no text at all.
    if (text !== undefined && text !== unknownCharset && !controls.test(text)) return text;
  }
  return undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const controls = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f-\u009f]/;

type Unicode = "utf-8" | "utf-16le" | "utf-16be";

const unknownCharset: unique symbol = Symbol("unknown charset");

const isUtf8Label = (charset: string) => charset === "utf-8" || charset === "utf8";

function markOf(bytes: Uint8Array): Unicode | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : undefined;
}

// Without a mark: most units are ASCII beside a zero, and no zero is where only a low byte can be. Two units at least, for a small
// number has that form too.
function utf16Of(bytes: Uint8Array): Unicode | undefined {
  if (bytes.length % 2 !== 0 || bytes.length < 4) return undefined;
  if (isMostlyAscii(bytes, 0)) return "utf-16le";
  return isMostlyAscii(bytes, 1) ? "utf-16be" : undefined;
}

function isMostlyAscii(bytes: Uint8Array, lowByte: 0 | 1): boolean {
  const length = Math.min(bytes.length, 512);
  let ascii = 0;
  for (let at = 0; at < length; at += 2) {
    const low = bytes[at + lowByte] ?? 0;
    if (low === 0) return false;
    if (bytes[at + 1 - lowByte] === 0 && (low === 9 || low === 10 || low === 13 || (low >= 32 && low < 127))) ascii++;
  }
  return ascii >= (length / 2) * 0.7;
}

function decodeUnicode(bytes: Uint8Array, encoding: Unicode): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

// The meaning of these labels on the web (https://encoding.spec.whatwg.org/#names-and-labels).
const asWindows1252: ReadonlySet<string> = new Set(["ascii", "us-ascii", "iso-8859-1", "iso8859-1", "latin1"]);

async function decodeCharset(bytes: Uint8Array, label: string): Promise<string | undefined | typeof unknownCharset> {
  if (label === "utf-16" || label === "utf-16le") return decodeUnicode(bytes, "utf-16le");
  if (label === "utf-16be") return decodeUnicode(bytes, "utf-16be");
  // Node's own TextDecoder has got windows-1252 wrong in several releases, and knows fewer charsets.
  const { default: iconv } = await import("iconv-lite");
  const charset = asWindows1252.has(label) ? "windows-1252" : label;
  if (!iconv.encodingExists(charset)) return unknownCharset;
  const text = iconv.decode(bufferOf(bytes), charset);
  // iconv-lite puts U+FFFD where a byte means nothing.
  return text.includes("\ufffd") ? undefined : text;
}

// Only the beginning is looked at, as browsers do (https://html.spec.whatwg.org/#prescan-a-byte-stream-to-determine-its-encoding).
function charsetInside(bytes: Uint8Array, mediaType: string): string | undefined {
  const essence = essenceOf(mediaType);
  const head = () => Buffer.from(bytes.subarray(0, 1024)).toString("latin1");
  if (essence === "text/html") return /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(head())?.[1]?.toLowerCase();
  if (!/[/+]xml$/.test(essence)) return undefined;
  return /^<\?xml[^>]+encoding\s*=\s*["']([\w-]+)/i.exec(head())?.[1]?.toLowerCase();
}
