import { messageOf, ToolkitError } from "../core/error.ts";
import { typeOfExtension } from "./sniff.ts";

/** The name of a resource, and the extension where it was given as that of a file. */
export interface ResourceName {
  readonly name: string;
  /** Without the dot. */
  readonly extension: string | undefined;
}

const identifier = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;
const allowed =
  "a letter, digit or _, then up to 63 letters, digits, _ or -; or such a name with the extension of a file";
/** One letter or a number is no extension that is not known: `a.b` and `v1.2` name something else. */
const plausibleExtension = /^[A-Za-z][A-Za-z0-9]{1,15}$/;

/** Parses the name that a resource is given: `table`, `2024`, or `table.csv` for `table`. @throws ToolkitError `INVALID_NAME` */
export function parseResourceName(given: unknown, what = "resource"): ResourceName {
  if (typeof given === "string") {
    if (identifier.test(given)) return { name: given, extension: undefined };
    const dot = given.lastIndexOf(".");
    const [name, extension] = [given.slice(0, dot), given.slice(dot + 1)];
    const isExtension = typeOfExtension(extension) !== undefined || plausibleExtension.test(extension);
    if (dot > 0 && isExtension && identifier.test(name)) return { name, extension };
  }
  const shown = typeof given === "string" ? JSON.stringify(given) : messageOf(given);
  throw new ToolkitError("INVALID_NAME", `${shown} is no name for a ${what}: it must be ${allowed}.`, {
    name: messageOf(given),
    allowed: identifier.source,
  });
}
