import { ToolkitError } from "../../core/error.ts";
import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import type { ArgumentSlot, ValueTemplate } from "./http-operation.ts";

/** Encodes a text for its place. @throws ToolkitError `INVALID_INPUT` for one that has no place there */
export type Encode = (text: string, slot: ArgumentSlot) => string;

/** The error for an argument that does not fit its place. */
export function unfit({ argument }: ArgumentSlot, message: string): ToolkitError<"INVALID_INPUT"> {
  const pointer = argument.reduce(pointerTo, "");
  return new ToolkitError("INVALID_INPUT", `The argument ${argument.join(".")} ${message}.`, {
    issues: [{ pointer, message }],
  });
}

/** The argument of a slot; undefined where it is missing or null. */
export function argumentOf(input: unknown, { argument, except }: ArgumentSlot): unknown {
  let value = input;
  for (const name of argument) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  if (except === undefined || !isRecord(value)) return value ?? undefined;
  return Object.fromEntries(
    Object.entries(value).filter(([name, each]) => !except.has(name) && each !== null && each !== undefined),
  );
}

/** A text, number or boolean as it is; anything else as JSON. */
export function plainText(value: unknown): string {
  return typeof value === "object" || typeof value === "string" ? textOfJson(value) : String(value);
}

function textOfJson(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The text of a template, where each argument is one text in its place. What is missing is an empty text. */
export function filled(template: ValueTemplate, input: unknown, encode: Encode): string {
  return template
    .map((part) => (typeof part === "string" ? part : slotText(argumentOf(input, part), part, encode)))
    .join("");
}

/** True where an argument of a template is missing or null. */
export function isMissing(template: ValueTemplate, input: unknown): boolean {
  return template.some((part) => typeof part === "object" && argumentOf(input, part) === undefined);
}

/** The one argument that a template is; undefined for any other template. */
export function soleSlot([only, ...others]: ValueTemplate): ArgumentSlot | undefined {
  return typeof only === "object" && others.length === 0 ? only : undefined;
}

/** Lists and objects joined by the style of the slot, each of their texts encoded; anything else as one text. */
function slotText(value: unknown, slot: ArgumentSlot, encode: Encode): string {
  if (value === undefined) return "";
  const { style = "plain", explode = false } = slot;
  const written = (each: unknown) => encode(plainText(each), slot);
  switch (style) {
    case "json":
      return encode(JSON.stringify(value), slot);
    case "label":
      return `.${joined(value, explode, explode ? "." : ",", written)}`;
    case "matrix":
      return matrixText(value, slot, written);
    case "plain":
      return written(value);
    default:
      return joined(value, explode, ",", written);
  }
}

function matrixText(value: unknown, slot: ArgumentSlot, written: (each: unknown) => string): string {
  const { explode = false, name = slot.argument.at(-1) ?? "" } = slot;
  const key = encodeURIComponent(name);
  if (explode && Array.isArray(value)) return value.map((each) => `;${key}=${written(each)}`).join("");
  if (explode && isRecord(value)) return `;${joined(value, true, ";", written)}`;
  return `;${key}=${joined(value, false, ",", written)}`;
}

function joined(value: unknown, explode: boolean, separator: string, written: (each: unknown) => string): string {
  if (Array.isArray(value)) return value.map(written).join(separator);
  if (!isRecord(value)) return written(value);
  const between = explode ? "=" : ",";
  return Object.entries(value)
    .map(([key, each]) => `${written(key)}${between}${written(each)}`)
    .join(separator);
}

/**
 * A parameter of a query, cookie or form by its style: its names and values, encoded. A list or object may make several, or none.
 *
 * @see https://spec.openapis.org/oas/v3.1.1.html#style-examples
 */
export function pairsOf(name: string, value: unknown, slot: ArgumentSlot, encode: Encode): readonly Pair[] {
  if (value === undefined || value === null) return [];
  const { style = "plain", explode = style === "form" || style === "deepObject" } = slot;
  const written = (each: unknown) => encode(plainText(each), slot);
  const key = encode(name, slot);
  if (style === "json") return [[key, encode(JSON.stringify(value), slot)]];
  if (style === "plain" || typeof value !== "object") return [[key, written(value)]];
  if (style === "deepObject" && isRecord(value))
    return Object.entries(value).map(([member, each]) => [`${key}${encode(`[${member}]`, slot)}`, written(each)]);
  if (explode && Array.isArray(value)) return value.map((each) => [key, written(each)]);
  if (explode && isRecord(value))
    return Object.entries(value).map(([member, each]) => [written(member), written(each)]);
  const text = joined(value, false, separators[style] ?? ",", written);
  return text === "" ? [] : [[key, text]];
}

/** A name and its value. */
export type Pair = readonly [name: string, value: string];

const separators: Readonly<Partial<Record<string, string>>> = { spaceDelimited: "%20", pipeDelimited: "%7C" };
