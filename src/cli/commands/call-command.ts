import { ToolkitError } from "../../core/error.ts";
import type { CallOptions, Progress } from "../../core/session.ts";
import { didYouMean, nearest } from "../../lib/similar.ts";
import { isRecord } from "../../lib/value.ts";
import type { Toolkit } from "../../toolkit/toolkit.ts";
import { readCallInput, type WrittenInput } from "../call-input.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import { schemasOf } from "../item-schemas.ts";
import { askFields } from "../person.ts";
import { type ShowOptions, showContent } from "../show-content.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace, type Workspace } from "../workspace.ts";

/** The options of `call`, `run` and `read`. */
export type CallCommandOptions = GlobalOptions & ShowOptions;

/** Calls a tool, asks a person for what is missing, and prints the result. @returns the exit code */
export async function call(
  target: string,
  args: readonly string[],
  options: CallCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const written = await readCallInput(args, terminal.streams);
  await using workspace = await openWorkspace(options, terminal, { lazy: true, signal });
  const input = await completeInput(workspace, target, written, terminal, signal);
  if (input === undefined) return exitCodes.interrupted;
  const { toolkit } = workspace;
  const content = await toolkit
    .call(target, input, callOptions(workspace, written, options, terminal, signal))
    .catch((error: unknown) => Promise.reject(orUnreachable(error, toolkit)));
  await showContent(content, options, terminal);
  return exitCodes.ok;
}

/** The error of a call: where no server was reached, a name that is not found says nothing of the name. */
function orUnreachable(error: unknown, { connections }: Toolkit): unknown {
  const [first] = connections;
  const isReached = connections.some(({ state }) => state === "connected" || state === "idle");
  if (!ToolkitError.is(error, "NOT_FOUND") || first === undefined || isReached) return error;
  return new ToolkitError("UNAVAILABLE", error.message, { namespace: first.namespace });
}

/** Reads a resource and prints it. @returns the exit code */
export async function read(
  uri: string,
  options: CallCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  await using workspace = await openWorkspace(options, terminal, { lazy: true, signal });
  const { session, toolkit } = workspace;
  const content = await toolkit.read(uri, { session, signal, timeoutMs: options.timeout });
  await showContent(content, options, terminal);
  return exitCodes.ok;
}

/** The options of a call from this terminal. */
export function callOptions(
  { session }: Workspace,
  { isLoose }: WrittenInput,
  { timeout }: GlobalOptions,
  terminal: Terminal,
  signal: AbortSignal,
): CallOptions {
  return {
    session,
    signal,
    timeoutMs: timeout,
    coerce: isLoose ? true : undefined,
    onProgress: (progress) => terminal.status(progressText(progress)),
  };
}

/**
 * The input with what is missing, where a person can be asked.
 *
 * @returns undefined where the person gave up
 * @throws UsageMistake for a misspelt name of a field that is needed
 */
export async function completeInput(
  { toolkit, session }: Workspace,
  target: string,
  { value: written, isLoose }: WrittenInput,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const entry = await toolkit.lookup(target, { session, signal }).catch((error: unknown) => {
    // The call itself waits for the server, and says what is wrong.
    if (ToolkitError.is(error)) return undefined;
    throw error;
  });
  const item = entry?.item;
  if (item === undefined || item.kind === "resource") return written;
  const { input } = schemasOf(item);
  const value = isLoose ? typedFields(input, written) : written;
  const missing = isRecord(input) && Array.isArray(input.required) ? input.required : [];
  const unfilled = missing.map(String).filter((name) => !Object.hasOwn(value, name));
  if (unfilled.length === 0) return value;
  const fields = isRecord(input) && isRecord(input.properties) ? Object.keys(input.properties) : [];
  for (const name of Object.keys(value).filter((each) => !fields.includes(each))) {
    const hint = didYouMean(nearest(name, unfilled));
    if (hint !== "") throw new UsageMistake(`${target} has no field ${name}. ${hint}`);
  }
  if (!terminal.isInteractive) {
    const [stray] = Object.keys(value).filter((name) => !fields.includes(name));
    if (stray !== undefined && fields.length > 0 && isRecord(input) && input.additionalProperties !== true)
      throw new UsageMistake(
        `${target} has no field ${stray}. It has ${fields.join(", ")}; it needs ${unfilled.join(", ")}.`,
      );
    return value;
  }
  return askFields(terminal, input, value, signal, { onlyRequired: true });
}

/** The fields whose text can mean one thing only, by their type: an error of another field then says nothing of them. */
function typedFields(schema: unknown, written: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const fields = isRecord(schema) && isRecord(schema.properties) ? schema.properties : {};
  const typed = Object.entries(written).map(([name, text]): [string, unknown] => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const type = isRecord(field) ? field.type : undefined;
    if (typeof text !== "string" || text.trim() === "") return [name, text];
    if ((type === "number" || type === "integer") && Number.isFinite(Number(text))) return [name, Number(text)];
    return [name, type === "boolean" && /^(?:true|false)$/.test(text) ? text === "true" : text];
  });
  return Object.fromEntries(typed);
}

const barWidth = 20;

function progressText({ progress, total, message = "" }: Progress): string {
  if (total === undefined || !(total > 0)) return `… ${progress} ${message}`;
  const done = Math.min(1, Math.max(0, progress / total));
  const full = Math.round(done * barWidth);
  return `[${"#".repeat(full)}${".".repeat(barWidth - full)}] ${Math.round(done * 100)} % ${message}`;
}
