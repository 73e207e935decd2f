import { spawn } from "node:child_process";
import { usualReason } from "../call/approval-port.ts";
import type { ApprovalRequest, Decision } from "../core/approval.ts";
import type { Delegate } from "../core/delegate.ts";
import type { ElicitRequest, ElicitResult } from "../core/interaction.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import { isRecord, jsonIn } from "../lib/value.ts";
import { visible, visibleLines } from "../lib/visible-text.ts";
import type { OpenPage } from "../mcp/auth/oauth-options.ts";
import type { Terminal } from "./terminal.ts";

/** The answers of the person at the terminal, for those who ask while a command runs. */
export interface Answers {
  /** Undefined where nobody can be asked. */
  readonly elicit:
    | ((request: ElicitRequest, options: { readonly signal: AbortSignal }) => Promise<ElicitResult>)
    | undefined;
  readonly delegate: Delegate;
  /** Undefined where nobody can be asked. */
  readonly openPage: OpenPage | undefined;
}

/** The person at the terminal; without one, questions are answered by nobody, and approvals wait. */
export function answersOf(terminal: Terminal): Answers {
  if (!terminal.isInteractive) return { elicit: undefined, delegate: {}, openPage: undefined };
  // One question at a time: two would be typed into each other.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(ask: () => Promise<T>): Promise<T> => {
    const asked = last.then(() => interruptible(ask));
    last = asked.catch(() => undefined);
    return asked;
  };
  return {
    elicit: (request, { signal }) => inTurn(() => answerForm(terminal, request, signal)),
    delegate: { approve: (request, { signal }) => inTurn(() => decide(terminal, request, signal)) },
    openPage: (url, { label, signal }) =>
      inTurn(async () => {
        terminal.note(`${visible(label)} wants you to log in:\n  ${url.href}`);
        const { confirm } = await import("@clack/prompts");
        const isOpened = await confirm({ message: "Open this page in the browser?", signal, output: process.stderr });
        if (isOpened === true) openBrowser(url);
      }),
  };
}

/** A question reads each key itself, so that the terminal makes no signal of Ctrl-C: the command ends all the same. */
async function interruptible<T>(ask: () => Promise<T>): Promise<T> {
  const onKey = (key: string | undefined) => {
    if (key === "\u0003") process.emit("SIGINT");
  };
  process.stdin.on("keypress", onKey);
  try {
    return await ask();
  } finally {
    process.stdin.off("keypress", onKey);
  }
}

/** Opens a page in the browser of this machine. Where there is none, the person has the URL. */
function openBrowser(url: URL): void {
  const commands: Partial<Record<NodeJS.Platform, readonly string[]>> = { darwin: ["open"], win32: ["explorer.exe"] };
  const [command = "xdg-open", ...args] = commands[process.platform] ?? [];
  spawn(command, [...args, url.href], { stdio: "ignore", detached: true })
    .on("error", () => undefined)
    .unref();
}

async function decide(terminal: Terminal, request: ApprovalRequest, signal: AbortSignal): Promise<Decision> {
  const { confirm } = await import("@clack/prompts");
  const { ref } = request.entry;
  const why = request.reason === usualReason(ref) ? "." : `: ${request.reason}`;
  terminal.note(visible(`${ref} needs your approval${why}`), "yellow");
  terminal.note(visibleLines(JSON.stringify(request.arguments, undefined, 2) ?? "no input"), "dim");
  const isApproved = await confirm({ message: "Run it?", initialValue: false, signal, output: process.stderr });
  return isApproved === true ? { approved: true } : { approved: false };
}

async function answerForm(terminal: Terminal, request: ElicitRequest, signal: AbortSignal): Promise<ElicitResult> {
  const { confirm, isCancel } = await import("@clack/prompts");
  terminal.note(visibleLines(request.message), "yellow");
  if (request.url !== undefined) {
    terminal.note(`  ${visible(request.url)}`);
    const isOpened = await confirm({
      message: "Open this page in the browser?",
      initialValue: false,
      signal,
      output: process.stderr,
    });
    if (isOpened !== true) return { action: isCancel(isOpened) ? "cancel" : "decline" };
    if (URL.canParse(request.url)) openBrowser(new URL(request.url));
    return { action: "accept" };
  }
  if (request.secrets !== undefined && request.secrets.length > 0) {
    terminal.note(
      `It seems to ask for secrets (${request.secrets.map(visible).join(", ")}), which a server must not do.`,
      "red",
    );
  }
  const content = await askFields(terminal, request.schema, {}, signal);
  return content === undefined ? { action: "cancel" } : { action: "accept", content };
}

/**
 * Asks for the fields of an object that are missing, one after the other.
 *
 * @param onlyRequired - leave out what may be missing
 * @returns undefined where the person gave up
 */
export async function askFields(
  terminal: Terminal,
  schema: JsonSchema | undefined,
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
  { onlyRequired = false } = {},
): Promise<Record<string, unknown> | undefined> {
  if (!isRecord(schema) || !isRecord(schema.properties)) return { ...given };
  const required = Array.isArray(schema.required) ? schema.required : [];
  const filled: Record<string, unknown> = { ...given };
  for (const [name, field] of Object.entries(schema.properties)) {
    if (Object.hasOwn(given, name)) continue;
    const isRequired = required.includes(name);
    if (onlyRequired && !isRequired) continue;
    const answer = await askField(name, isRecord(field) ? field : {}, isRequired, signal);
    if (typeof answer === "symbol") return undefined;
    if (answer !== undefined) filled[name] = answer;
  }
  terminal.clearStatus();
  return filled;
}

/** @returns a symbol where the person gave up, undefined for a field that is left out */
async function askField(
  name: string,
  field: Readonly<Record<string, unknown>>,
  isRequired: boolean,
  signal: AbortSignal,
) {
  const { confirm, select, text } = await import("@clack/prompts");
  const { title, description, type } = field;
  const label = typeof title === "string" ? title : name;
  const more = typeof description === "string" ? `: ${description}` : "";
  const shared = {
    message: visible(`${label}${more}${isRequired ? "" : " (may be empty)"}`),
    signal,
    output: process.stderr,
  };
  if (type === "boolean") return confirm({ ...shared, initialValue: field.default === true });
  if (Array.isArray(field.enum)) {
    const options = field.enum.map((value) => ({ value: value as string, label: visible(String(value)) }));
    return select({ ...shared, options, initialValue: field.default as string });
  }
  const fallback = field.default === undefined ? "" : String(field.default);
  const typed = await text({
    ...shared,
    defaultValue: fallback,
    placeholder: fallback,
    validate: (value = "") => problemOf(value === "" ? fallback : value, type, isRequired),
  });
  return typeof typed === "symbol" || typed !== "" ? parsed(typed, type) : undefined;
}

function problemOf(value: string, type: unknown, isRequired: boolean): string | undefined {
  if (value === "") return isRequired ? "It is needed." : undefined;
  if (type === "integer" || type === "number")
    return Number.isFinite(Number(value)) ? undefined : "It must be a number.";
  if (type !== "array" && type !== "object") return undefined;
  return jsonIn(value) === undefined
    ? `It must be JSON, such as ${type === "array" ? '["a", "b"]' : '{ "a": 1 }'}.`
    : undefined;
}

function parsed(value: string | symbol, type: unknown): unknown {
  if (typeof value === "symbol") return value;
  if (type === "integer" || type === "number") return Number(value);
  return type === "array" || type === "object" ? JSON.parse(value) : value;
}
