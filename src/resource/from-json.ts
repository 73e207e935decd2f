import { ToolkitError } from "../core/error.ts";
import type { Content } from "../core/resource.ts";
import { pointerTo } from "../lib/pointer.ts";
import { isRecord } from "../lib/value.ts";
import { base64Content, type ContentFields, multipartContent, textContent } from "./content.ts";

/**
 * Makes a Content of what its `toJSON()` gave, with everything it said of itself.
 *
 * @throws ToolkitError `INVALID_INPUT`, whose issue points to what is wrong
 */
export function contentFromJson(json: unknown, pointer = ""): Content {
  if (!isRecord(json)) throw invalid(pointer, "must be an object, as toJSON() gives it");
  if (own(json, "kind") !== "resource") throw invalid(pointerTo(pointer, "kind"), 'must be "resource"');
  const fields = readFields(json, pointer);
  const bodies = (["text", "base64", "parts"] as const).filter((key) => own(json, key) !== undefined);
  const [body, ...others] = bodies;
  if (body === undefined || others.length > 0)
    throw invalid(pointer, "must have exactly one of text, base64 and parts");
  const at = pointerTo(pointer, body);
  const value = own(json, body);
  if (body === "parts") {
    if (!Array.isArray(value)) throw invalid(at, "must be a list");
    return multipartContent(
      value.map((part, index) => contentFromJson(part, pointerTo(at, index))),
      fields,
    );
  }
  if (typeof value !== "string") throw invalid(at, "must be a string");
  if (body === "text") return textContent(value, fields);
  if (!base64.test(value)) throw invalid(at, "must be base64 (RFC 4648, section 4), padded");
  return base64Content(value, fields);
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function readFields(json: Readonly<Record<string, unknown>>, pointer: string): ContentFields {
  const text = (key: string): string => {
    const value = own(json, key);
    if (typeof value === "string") return value;
    throw invalid(pointerTo(pointer, key), value === undefined ? "is missing" : "must be a string");
  };
  const optional = (key: string): string | undefined => {
    const value = own(json, key);
    if (value === undefined || typeof value === "string") return value;
    throw invalid(pointerTo(pointer, key), "must be a string");
  };
  const meta = own(json, "meta");
  if (meta !== undefined && !isRecord(meta)) throw invalid(pointerTo(pointer, "meta"), "must be an object");
  return {
    // As they are: those of remote servers keep no rules.
    name: text("name"),
    uri: text("uri"),
    mediaType: text("mediaType"),
    title: optional("title"),
    description: optional("description"),
    meta,
  };
}

// Never what is inherited: a key such as __proto__ in the JSON is only a key.
const own = (record: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined;

function invalid(pointer: string, message: string): ToolkitError<"INVALID_INPUT"> {
  const where = pointer === "" ? "the whole value" : pointer;
  return new ToolkitError("INVALID_INPUT", `This is no Content as JSON: ${where} ${message}.`, {
    issues: [{ pointer, message }],
  });
}
