import { messageOf, ToolkitError } from "../../core/error.ts";

/** A value as JSON; `null` for what is missing. @throws ToolkitError `INVALID_INPUT` for what JSON cannot hold */
export function toJsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent) ?? "null";
  } catch (cause) {
    const message = `cannot be written as JSON: ${messageOf(cause)}`;
    throw new ToolkitError(
      "INVALID_INPUT",
      `A value of the input ${message}`,
      { issues: [{ pointer: "", message }] },
      { cause },
    );
  }
}

/**
 * A value as a template shows it: text as it is, numbers and booleans in digits and words, lists and objects as JSON, nothing for
 * what is missing. A function is nothing too: no code runs from a template.
 */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined || typeof value === "function") return "";
  return typeof value === "object" ? toJsonText(value) : String(value);
}
