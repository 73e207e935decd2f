/** A source of variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The reason why a text with variables cannot be read: one is not set, or stands in a form that is none. */
export class VariableError extends Error {
  /** The name of the one that is not set. */
  readonly variable: string | undefined;

  constructor(message: string, variable: string | undefined) {
    super(message);
    this.variable = variable;
  }
}

const braces = /\$\{([^}]*)\}/g;
const known = /^([A-Za-z_][A-Za-z0-9_]*)(?::-((?:(?!\$\{).)*))?$/s;

/**
 * Puts environment variables in place of `${VAR}` and `${VAR:-default}`; the default is taken where the variable is missing or
 * empty, as in a shell.
 *
 * @param where - the field, for the error
 * @param use - gives the text to put in place of a variable. Default: its value
 * @throws VariableError with the name of a missing variable, or for a form that is none of these two: it would be sent as it stands
 */
export function expandVariables(
  text: string,
  env: Environment,
  where: string,
  use: (name: string, value: string) => string = (_name, value) => value,
): string {
  return text.replace(braces, (whole, inner: string) => {
    const [, name, fallback] = known.exec(inner) ?? [];
    if (name === undefined) throw unknownForm(whole, where);
    const value = env[name];
    if (value !== undefined && (value !== "" || fallback === undefined)) return use(name, value);
    if (fallback !== undefined) return fallback;
    const message = `${where} needs the environment variable ${name}, which is not set. Set it, or write \${${name}:-default}.`;
    throw new VariableError(message, name);
  });
}

/** The values that the variables of a text have, where they are set. */
export function variableValues(text: string, env: Environment): readonly string[] {
  return [...text.matchAll(/\$\{(\w+)/g)].flatMap(([, name = ""]) => env[name] || []);
}

function unknownForm(whole: string, where: string): VariableError {
  // A default may be a secret.
  const shown = whole.replace(/:-.*$/s, ":-…}");
  const message = `${where} has ${shown}, which is no form of a variable: write \${NAME} or \${NAME:-default}, without blanks, and no variable in a default.`;
  return new VariableError(message, undefined);
}
