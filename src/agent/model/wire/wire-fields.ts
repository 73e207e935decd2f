/** An object on the wire, of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>;

/** The text of a field that should be one; empty for anything else. */
export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The number of a field that should be a count; undefined for anything else. */
export function countIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
