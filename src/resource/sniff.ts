import type { Content } from "../core/resource.ts";
import { decodeText } from "./charset.ts";
import { bytesContent, type ContentFields, textContent } from "./content.ts";
import { bytesType, charsetOf, essenceOf, isTextType, textType, withoutCharset } from "./media-type.ts";

/** Facts about bytes that help to find their media type. */
export interface SniffHints {
  /** The media type the sender declared, such as a Content-Type. */
  readonly declared?: string | undefined;
  /** Of the file, without the dot. */
  readonly extension?: string | undefined;
}

/** File types that services use and file-type cannot detect, since they are text or a common container. */
const typesByExtension: ReadonlyMap<string, string> = new Map([
  ["avif", "image/avif"],
  ["bmp", "image/bmp"],
  ["c", "text/x-c"],
  ["cjs", "text/javascript"],
  ["conf", "text/plain"],
  ["cpp", "text/x-c++"],
  ["css", "text/css"],
  ["csv", "text/csv"],
  ["doc", "application/msword"],
  ["docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
  ["eml", "message/rfc822"],
  ["epub", "application/epub+zip"],
  ["gif", "image/gif"],
  ["go", "text/x-go"],
  ["graphql", "application/graphql"],
  ["gz", "application/gzip"],
  ["htm", "text/html"],
  ["html", "text/html"],
  ["ics", "text/calendar"],
  ["ini", "text/plain"],
  ["jar", "application/java-archive"],
  ["java", "text/x-java"],
  ["jpeg", "image/jpeg"],
  ["jpg", "image/jpeg"],
  ["js", "text/javascript"],
  ["json", "application/json"],
  ["jsonl", "application/jsonl"],
  ["jsonld", "application/ld+json"],
  ["jsx", "text/jsx"],
  ["log", "text/plain"],
  ["markdown", "text/markdown"],
  ["md", "text/markdown"],
  ["mjs", "text/javascript"],
  ["mp3", "audio/mpeg"],
  ["mp4", "video/mp4"],
  ["ndjson", "application/x-ndjson"],
  ["odt", "application/vnd.oasis.opendocument.text"],
  ["pdf", "application/pdf"],
  ["php", "application/x-httpd-php"],
  ["png", "image/png"],
  ["pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"],
  ["py", "text/x-python"],
  ["rb", "text/x-ruby"],
  ["rs", "text/x-rust"],
  ["rss", "application/rss+xml"],
  ["rst", "text/x-rst"],
  ["rtf", "application/rtf"],
  ["sh", "application/x-sh"],
  ["sql", "application/sql"],
  ["srt", "application/x-subrip"],
  ["svg", "image/svg+xml"],
  ["tex", "text/x-tex"],
  ["toml", "application/toml"],
  ["ts", "text/x-typescript"],
  ["tsv", "text/tab-separated-values"],
  ["tsx", "text/x-typescript"],
  ["txt", "text/plain"],
  ["vcf", "text/vcard"],
  ["vtt", "text/vtt"],
  ["wav", "audio/wav"],
  ["webp", "image/webp"],
  ["xhtml", "application/xhtml+xml"],
  ["xls", "application/vnd.ms-excel"],
  ["xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
  ["xml", "application/xml"],
  ["yaml", "application/yaml"],
  ["yml", "application/yaml"],
  ["zip", "application/zip"],
]);

/** The media type that an extension stands for, without its dot; undefined for an unknown one. */
export function typeOfExtension(extension: string): string | undefined {
  return typesByExtension.get(extension.toLowerCase());
}

/** Formats that others are made of: what is declared, or the extension, may know which. */
const containers: ReadonlyMap<string, (mediaType: string) => boolean> = new Map([
  ["application/xml", isTextType],
  ["application/zip", (mediaType: string) => !isTextType(mediaType)],
  ["application/x-cfb", (mediaType: string) => !isTextType(mediaType)],
]);

/** Formats that are not text and may be written in nothing but characters. Any other begins with letters ("FORM", "BM") and goes on in bytes. */
const writtenFormats: ReadonlySet<string> = new Set(["application/pdf", "application/postscript", "application/eps"]);

/**
 * The media type of bytes: by their content, else as declared, else by the extension, else `text/plain` where they are text, else
 * `application/octet-stream`.
 */
async function sniffMediaType(bytes: Uint8Array, hints: SniffHints = {}): Promise<string> {
  const hinted = hintOf(hints);
  const found = await signatureOf(bytes);
  if (found !== undefined) {
    const container = containers.get(found);
    if (container !== undefined && hinted !== undefined && container(hinted)) return hinted;
    return isTextType(found) ? withCharset(found, hints.declared) : found;
  }
  return hinted ?? ((await isText(bytes)) ? textType : bytesType);
}

/**
 * A Content of bytes, which become its own: as text in UTF-8 where the media type is one of text and they decode, else as they
 * are. Without a media type among the fields they are sniffed.
 */
export async function contentOfBytes(
  bytes: Uint8Array,
  fields: ContentFields,
  hints: SniffHints = {},
): Promise<Content> {
  const mediaType = fields.mediaType ?? (await sniffMediaType(bytes, hints));
  const text = isTextType(mediaType) ? await decodeText(bytes, mediaType) : undefined;
  const uri = fields.uri ?? `data:${fields.name}`;
  return text === undefined
    ? bytesContent(bytes, { ...fields, uri, mediaType })
    : textContent(text, { ...fields, uri, mediaType: withoutCharset(mediaType) });
}

function hintOf({ declared, extension }: SniffHints): string | undefined {
  // Servers say octet-stream, and often text/plain, for what they do not know.
  const known = extension === undefined ? undefined : typeOfExtension(extension);
  if (declared === undefined || declared === "" || essenceOf(declared) === bytesType) return known;
  if (essenceOf(declared) !== textType || known === undefined || !isTextType(known)) return declared;
  return withCharset(known, declared);
}

function withCharset(mediaType: string, declared: string | undefined): string {
  const charset = declared === undefined ? undefined : charsetOf(declared);
  return charset === undefined ? mediaType : `${mediaType}; charset=${charset}`;
}

async function signatureOf(bytes: Uint8Array): Promise<string | undefined> {
  if (bytes.length === 0) return undefined;
  const { fileTypeFromBuffer } = await import("file-type");
  let mime: string | undefined;
  try {
    mime = (await fileTypeFromBuffer(bytes))?.mime;
  } catch {
    // A damaged file has the signature of its format and not its structure: it is of no known type.
    return undefined;
  }
  if (mime === undefined || isTextType(mime) || writtenFormats.has(mime)) return mime;
  return (await isText(bytes)) ? undefined : mime;
}

// Bytes that no text contains (https://mimesniff.spec.whatwg.org/#binary-data-byte).
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const binary = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f]/;

async function isText(bytes: Uint8Array): Promise<boolean> {
  const text = await decodeText(bytes, textType, { detect: false });
  return text !== undefined && !binary.test(text);
}
