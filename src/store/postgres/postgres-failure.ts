import { messageOf, ToolkitError } from "../../core/error.ts";
import { isRecord } from "../../lib/value.ts";
import { type PostgresSettings, parseConnectionString } from "./postgres-options.ts";

/** Makes the error of a store from whatever pg threw; one that is ours already stays as it is. */
export type Failed = (operation: string, thrown: unknown) => ToolkitError;

/** Remedies for the commonest error codes of PostgreSQL and Node. */
const hints: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Is the server running, and does it listen there?",
  ENOENT: "Is the server running, and does it listen there?",
  ENOTFOUND: "Is the name of the host right?",
  "28000": "Look at pg_hba.conf of the server, and at the user.",
  "28P01": "Correct the user or the password.",
  "3D000": "Create the database, or correct its name.",
  "42501": "Grant it, or create the schema for this user: CREATE SCHEMA … AUTHORIZATION ….",
  "25006": "Connect to the primary: a replica cannot be written.",
  "53300": "Lower max, or raise max_connections of the server.",
  "57014": "Raise statementTimeoutMs, or see what holds the server up.",
};

/** No error it makes shows the password or the connection string of these settings. */
export function failuresOf({ connectionString }: PostgresSettings): Failed {
  const url = parseConnectionString(connectionString);
  const where = url === undefined ? "PostgreSQL" : `PostgreSQL at ${decoded(url.host)}${url.pathname}`;
  const password = url === undefined ? "" : (url.searchParams.get("password") ?? url.password);
  const hidden = [connectionString, password, decoded(password)].filter((secret) => secret !== "");
  const redacted = (text: string) => hidden.reduce((shown, secret) => shown.replaceAll(secret, "***"), text);
  return (operation, thrown) => {
    if (ToolkitError.is(thrown)) return thrown;
    const code = codeOf(thrown);
    const cause = causeOf(thrown, code, redacted);
    const what = `${where} failed to ${operation}: ${cause.message.replace(/\.$/, "")}.`;
    const help = code === undefined ? undefined : hints[code];
    const message = help === undefined ? what : `${what} ${help}`;
    return new ToolkitError("STORE_FAILED", message, { operation }, { cause });
  };
}

/** True where PostgreSQL refused a statement, and the connection goes on. */
export function isRefusal(thrown: unknown): boolean {
  return isRecord(thrown) && thrown.severity === "ERROR";
}

/** A copy that says the same: what pg throws may hold its client, and with it the way to the server. */
function causeOf(thrown: unknown, code: string | undefined, redacted: (text: string) => string): Error {
  const cause = new Error(redacted(textOf(thrown)));
  if (thrown instanceof Error && thrown.stack !== undefined) cause.stack = redacted(thrown.stack);
  return code === undefined ? cause : Object.assign(cause, { code });
}

/** Of several addresses of one host, Node says nothing but that all failed. */
function textOf(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.message === "") return thrown.errors.map(messageOf).join(", ");
  return messageOf(thrown);
}

/** As pg decodes it; what cannot be decoded it does not take. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function codeOf(thrown: unknown): string | undefined {
  return isRecord(thrown) && typeof thrown.code === "string" ? thrown.code : undefined;
}
