import { invalidTarget } from "./invalid.ts";

/** Where variables come from. */
export type Environment = Readonly<Record<string, string | undefined>>;

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Puts environment variables in place of `${VAR}` and `${VAR:-default}`; the default is taken where the variable is missing or
 * empty, as in a shell.
 *
 * @param where - the field, for the error
 * @throws ToolkitError `INVALID_TARGET` with the name of a missing variable
 */
export function expand(text: string, env: Environment, where: string): string {
  return text.replace(reference, (_whole, name: string, fallback: string | undefined) => {
    const value = env[name];
    if (value !== undefined && (value !== "" || fallback === undefined)) return value;
    if (fallback !== undefined) return fallback;
    throw invalidTarget(
      `${where} needs the environment variable ${name}, which is not set. Set it, or write \${${name}:-default}.`,
      where,
      name,
    );
  });
}
