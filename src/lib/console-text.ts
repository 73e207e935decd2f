import { present } from "./value.ts";

/** The name of the method by which `console.log` and `util.inspect` show an object. */
export const inspect: unique symbol = Symbol.for("nodejs.util.inspect.custom") as never;

/** The options that such a method receives. */
export interface InspectOptions {
  readonly depth?: number | null | undefined;
}

/** As `inspect` of `node:util` does. Imported as a module, `node:util` has Node load all that it offers, which takes some milliseconds. */
export function shownValue(value: unknown, options: object): string {
  return process.getBuiltinModule("node:util").inspect(value, options);
}

/** The fields of an object for the console, under the name of its class; those that are undefined are left out. */
export function shownAs(name: string, fields: object, depth: number, options: InspectOptions): string {
  if (depth < 0) return `[${name}]`;
  return `${name} ${shownValue(present(fields), { ...options, depth: options.depth === null ? null : depth })}`;
}

/** The beginning of a text. @param max - the most characters of it */
export function beginningOf(text: string | undefined, max = 200): string | undefined {
  return text === undefined || text.length <= max ? text : `${text.slice(0, max)}… (${text.length} characters)`;
}
