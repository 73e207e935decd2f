/** The media types by which the kinds of Content go. */
export const textType = "text/plain";
export const jsonType = "application/json";
export const bytesType = "application/octet-stream";
export const multipartType = "multipart/mixed";

const textTypes: ReadonlySet<string> = new Set([
  "application/ecmascript",
  "application/graphql",
  "application/javascript",
  "application/json",
  "application/jsonl",
  "application/rtf",
  "application/sql",
  "application/toml",
  "application/typescript",
  "application/x-httpd-php",
  "application/x-javascript",
  "application/x-ndjson",
  "application/x-sh",
  "application/x-www-form-urlencoded",
  "application/x-yaml",
  "application/xml",
  "application/yaml",
]);

/** A media type without its parameters, in lower case. */
export function essenceOf(mediaType: string): string {
  const end = mediaType.indexOf(";");
  return (end < 0 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase();
}

/** True where content of the media type is text: `text/*`, JSON, XML, YAML and their like. */
export function isTextType(mediaType: string): boolean {
  const essence = essenceOf(mediaType);
  return essence.startsWith("text/") || textTypes.has(essence) || /\+(?:json|xml|yaml)$/.test(essence);
}

/** True for `application/json`, `text/json` and every `+json` (RFC 6839). */
export function isJsonType(mediaType: string): boolean {
  if (mediaType === jsonType) return true;
  const essence = essenceOf(mediaType);
  return essence === jsonType || essence === "text/json" || essence.endsWith("+json");
}

/** The charset a media type declares, in lower case. */
export function charsetOf(mediaType: string): string | undefined {
  const match = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;]*))/i.exec(mediaType);
  return (match?.[1] ?? match?.[2])?.trim().toLowerCase() || undefined;
}

/** The media type without its charset: what has become UTF-8 must not go on declaring another. */
export function withoutCharset(mediaType: string): string {
  return mediaType.replace(/;\s*charset\s*=\s*(?:"[^"]*"|[^\s;]*)/gi, "").trim();
}
