import { invalidTarget } from "./invalid.ts";

/** Where variables come from. */
export type Environment = Readonly<Record<string, string | undefined>>;

const braces = /\$\{([^}]*)\}/g;
const known = /^([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{).)*))?$/s;

/**
 * Puts environment variables in place of `${VAR}` and `${VAR:-default}`; the default is taken where the variable is missing or
 * empty, as in a shell.
 *
 * @param where - the field, for the error
 * @throws ToolkitError `INVALID_TARGET` with the name of a missing variable, or with a form that is none of these two: it would be
 *   sent as it stands
 */
export function expand(text: string, env: Environment, where: string): string {
  return text.replace(braces, (whole, inner: string) => {
    const [, name, fallback] = known.exec(inner) ?? [];
    if (name === undefined) throw unknownForm(whole, where);
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

function unknownForm(whole: string, where: string): Error {
  // A default may be a secret.
  const shown = whole.replace(/:-.*$/s, ":-…}");
  return invalidTarget(
    `${where} has ${shown}, which is no form of a variable: write \${NAME} or \${NAME:-default}, without blanks, and no variable in a default.`,
    where,
  );
}
