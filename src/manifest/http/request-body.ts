import { isRecord } from "../../lib/value.ts";
import { essenceOf, isJsonType } from "../../resource/media-type.ts";
import { pairsOf, plainText } from "./argument-text.ts";
import type { HttpBody, HttpOperation } from "./http-operation.ts";

/** The bytes or the text of a body, and its header `Content-Type`. */
export interface RequestBody {
  readonly type: string;
  readonly content: string | Uint8Array;
}

/** The body of a request; undefined for none. @throws ToolkitError as the body's own function */
export async function requestBody(
  { body }: HttpOperation,
  input: Readonly<Record<string, unknown>>,
): Promise<RequestBody | undefined> {
  const value = body?.value(input);
  if (body === undefined || value === undefined) return undefined;
  const type = essenceOf(body.mediaType);
  if (type === "multipart/form-data") return multipart(value, body);
  if (value instanceof Uint8Array) return { type: body.mediaType, content: value };
  if (type === "application/x-www-form-urlencoded") return { type: body.mediaType, content: urlencoded(value, body) };
  return { type: body.mediaType, content: isJsonType(type) ? JSON.stringify(value) : plainText(value) };
}

function urlencoded(value: unknown, { fields = {} }: HttpBody): string {
  if (!isRecord(value)) return plainText(value);
  const encode = (text: string) => encodeURIComponent(text.toWellFormed()).replaceAll("%20", "+");
  return Object.entries(value)
    .flatMap(([name, each]) => {
      const { style = isRecord(each) ? "json" : "form", explode } = fields[name] ?? {};
      return pairsOf(name, each, { argument: [name], style, explode }, encode);
    })
    .map((pair) => pair.join("="))
    .join("&");
}

async function multipart(value: unknown, { fields = {} }: HttpBody): Promise<RequestBody> {
  const form = new FormData();
  for (const [name, field] of Object.entries(isRecord(value) ? value : { body: value })) {
    for (const each of Array.isArray(field) ? field : [field]) {
      if (each === undefined || each === null) continue;
      const type = fields[name]?.mediaType;
      if (each instanceof Uint8Array) form.append(name, new Blob([new Uint8Array(each)], { type: type ?? "" }), name);
      else if (type !== undefined && type !== "text/plain") form.append(name, new Blob([plainText(each)], { type }));
      else form.append(name, plainText(each).toWellFormed());
    }
  }
  // The platform chooses the boundary, and escapes names.
  const encoded = new Response(form);
  const type = encoded.headers.get("content-type") ?? "multipart/form-data";
  return { type, content: new Uint8Array(await encoded.arrayBuffer()) };
}
