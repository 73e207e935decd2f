import { ToolkitError } from "../core/error.ts";
import { withServerOutput } from "../core/server-output.ts";
import { isRecord } from "../lib/value.ts";
import type { Redactor } from "./redact.ts";

/** A server, as the error about its revisions shows it. */
export interface UnsupportedServer {
  readonly label: string;
  readonly redactor: Redactor;
  /** The revisions that are spoken with it. */
  readonly spoken: readonly string[];
}

const maxShown = 16;
const maxLength = 256;

/** The error of a server that names revisions of which none is spoken with it. */
export function unsupportedProtocol(
  supported: readonly string[],
  { label, redactor, spoken }: UnsupportedServer,
): ToolkitError<"UNSUPPORTED_PROTOCOL"> {
  const dates = supported.filter((version) => /^\d{4}-\d{2}-\d{2}$/.test(version)).slice(0, maxShown);
  const speaks = dates.length === 0 ? "in a revision that is no date" : dates.join(", ");
  // Any other text is for the operator: callers get the message.
  const others = supported.filter((version) => !dates.includes(version)).slice(0, maxShown);
  const output = others.length === 0 ? undefined : `it said: ${redactor.text(others.join(", ")).slice(0, maxLength)}`;
  return new ToolkitError(
    "UNSUPPORTED_PROTOCOL",
    `${label} speaks MCP ${speaks}, which is not supported: ${spoken.join(", ")}.`,
    { server: label, supported: dates },
    { cause: withServerOutput(new Error("The revision is not supported."), output) },
  );
}

/** The revisions that a server names in the data of an error; undefined where it names none. */
export function supportedIn(data: unknown): readonly string[] | undefined {
  return isRecord(data) ? textsOf(data.supported) : undefined;
}

/** A list of texts that is not empty; undefined for anything else. */
export function textsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.every((text) => typeof text === "string") ? value : undefined;
}
