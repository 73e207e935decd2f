import { ToolkitError } from "../core/error.ts";
import type { StoredRecord } from "../core/store.ts";
import { isRecord } from "../lib/value.ts";

/** The text of a stored prompt. @throws ToolkitError `STORE_FAILED` for a record that is none, naming it */
export function promptText({ key, value }: StoredRecord): string {
  if (isRecord(value) && typeof value.text === "string") return value.text;
  const message = `The store has a prompt ${JSON.stringify(key)} that is none: it was not put by toolkit.user. Correct it, or remove it.`;
  throw new ToolkitError("STORE_FAILED", message, { operation: "read" });
}
