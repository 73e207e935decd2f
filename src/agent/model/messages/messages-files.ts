import { type LanguageModelV4FilePart, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import type { Fields } from "../wire/wire-fields.ts";

type FileOf = Pick<LanguageModelV4FilePart, "data" | "mediaType" | "filename">;

const images: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

/** The types of images by the beginning of their base64. */
const beginnings: readonly (readonly [beginning: string, mediaType: string])[] = [
  ["/9j/", "image/jpeg"],
  ["R0lG", "image/gif"],
  ["UklG", "image/webp"],
];

/** True for a file that the API accepts: an image, a PDF or a text. */
export function isAccepted({ mediaType, data }: FileOf): boolean {
  const kind = mediaType.split("/", 1)[0];
  if (data.type === "text" || data.type === "reference" || kind === "text") return true;
  return mediaType === "application/pdf" || mediaType === "image/*" || images.has(mediaType);
}

/**
 * A file as a block of a message or of a result.
 *
 * @throws UnsupportedFunctionalityError for a type that the API refuses
 */
export function fileBlock(file: FileOf, options: Fields = {}): Fields {
  const { mediaType, filename, data } = file;
  if (!isAccepted(file)) {
    const functionality = `a file of the type ${mediaType}`;
    const message = `Anthropic Messages cannot be sent ${functionality}.`;
    throw new UnsupportedFunctionalityError({ functionality, message });
  }
  const source = sourceOf(file);
  if (mediaType.startsWith("image/") && data.type !== "text") return { type: "image", source };
  const { title = filename, context, citations } = options;
  return { type: "document", source, title, context, citations };
}

function sourceOf({ data, mediaType }: FileOf): Fields {
  switch (data.type) {
    case "text":
      return textSource(data.text);
    case "url":
      return { type: "url", url: data.url.href };
    case "reference":
      return { type: "file", file_id: data.reference.anthropic ?? Object.values(data.reference)[0] };
    case "data":
  }
  const bytes = data.data;
  if (mediaType.startsWith("text/"))
    return textSource(Buffer.from(bytes as string, typeof bytes === "string" ? "base64" : undefined).toString("utf8"));
  const base64 = typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("base64");
  return { type: "base64", media_type: mediaType === "image/*" ? imageType(base64) : mediaType, data: base64 };
}

function textSource(text: string): Fields {
  return { type: "text", media_type: "text/plain", data: text };
}

function imageType(base64: string): string {
  return beginnings.find(([beginning]) => base64.startsWith(beginning))?.[1] ?? "image/png";
}
