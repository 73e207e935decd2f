import { ToolkitError } from "../../core/error.ts";
import type { CallContext } from "../../core/item.ts";
import { inheritedEnvironment } from "../../lib/child/child-command.ts";
import { parseJson } from "../../lib/nesting.ts";
import { PendingWork } from "../../lib/promise.ts";
import { maskedText } from "../../lib/secret-forms.ts";
import { isRecord } from "../../lib/value.ts";
import { type ArgumentTemplate, argumentTemplate } from "../argument-template.ts";
import type { ManifestContext, ManifestExecutor, ManifestTool } from "../manifest-port.ts";
import { type ManifestCommand, runChild } from "./run-child.ts";
import { ServerChild } from "./server-child.ts";

const defaultMaxOutputBytes = 1024 * 1024;

type Input = Readonly<Record<string, unknown>>;

/**
 * The mode `exec`: a fixed command, started without a shell. Its arguments are templates of those of the call, and stay as many as are written.
 * It reads `{"args": {...}}` on stdin and writes `{"result": ...}` or `{"error": "..."}`, other JSON, or text.
 */
export const exec: ManifestExecutor = (manifest, context) => {
  const { spec, problem, name } = manifest;
  const written = spec.exec;
  if (written === undefined)
    throw problem(["spec"], "The mode exec needs the field exec.", "Write exec: { command: ... }.");
  const wrap = [...sandboxOf(manifest, context), ...(written.wrap ?? [])];
  const command = commandOf(manifest, context, wrap[0] ?? written.command);
  const templates = (written.args ?? []).map((text, at) => argumentOf(manifest, text, at));
  const before = wrap.length === 0 ? [] : [...wrap.slice(1), written.command];
  const argsFor = (input: Input) => [...before, ...templates.map((template) => template(input))];
  const { timeout_ms: timeoutMs = 0 } = written;
  const options = timeoutMs > 0 ? { timeoutMs } : {};
  if (written.runtime === "server") {
    const at = (written.args ?? []).findIndex((text) => text.includes("{{"));
    const what = "A program that answers many calls is started once, and its arguments are no templates.";
    if (at >= 0) throw problem(["spec", "exec", "args", at], what, "It reads those of a call in params.args.");
    const server = new ServerChild(command, argsFor({}));
    context.onClose(() => server.close());
    return {
      options,
      run: async (input, call) => resultOf(await server.call(input, call.signal), name, command, call),
    };
  }
  const endings = new PendingWork();
  context.onClose(() => endings.settled());
  return {
    options,
    async run(input, call) {
      const request = `${JSON.stringify({ args: input })}\n`;
      const onEnding = (ending: Promise<void>) => endings.add(ending);
      const output = await runChild(command, argsFor(input), request, { signal: call.signal, onEnding });
      return resultOf(valueIn(output), name, command, call);
    },
  };
};

function sandboxOf({ spec, problem }: ManifestTool, { sandboxes }: ManifestContext): readonly string[] {
  const name = spec.exec?.sandbox;
  if (name === undefined) return [];
  const found = Object.hasOwn(sandboxes, name) ? sandboxes[name] : undefined;
  if (found !== undefined) return found;
  const what = `There is no sandbox ${JSON.stringify(name)}, and nothing runs outside of it.`;
  throw problem(["spec", "exec", "sandbox"], what, "Name it in the option sandboxes, or write wrap.");
}

function commandOf({ spec, problem }: ManifestTool, context: ManifestContext, command: string): ManifestCommand {
  const { env: names = [], cwd, max_output_bytes: maxOutputBytes = defaultMaxOutputBytes } = spec.exec ?? {};
  for (const [at, name] of names.entries()) {
    if (context.env[name] !== undefined) continue;
    const what = `The program needs the environment variable ${name}, which is not set.`;
    throw problem(["spec", "exec", "env", at], what, "Set it, or remove its name.", { variable: name });
  }
  const { variables } = inheritedEnvironment();
  const named = Object.fromEntries(names.map((name) => [name, context.env[name] ?? ""]));
  const folder = cwd === undefined ? context.folder : context.resolveFolder(["spec", "exec", "cwd"], cwd);
  return {
    command,
    env: { ...variables, ...named },
    cwd: folder,
    shown: command.split(/[\\/]/).at(-1) ?? command,
    secrets: Object.values(named),
    maxOutputBytes,
  };
}

/** One argument of the program. That of a call cannot become an option of it. */
function argumentOf(manifest: ManifestTool, text: string, at: number): ArgumentTemplate {
  const template = argumentTemplate(manifest, ["spec", "exec", "args", at], text);
  const isBehindOptions = manifest.spec.exec?.args?.slice(0, at).includes("--") === true;
  if (!text.startsWith("{{") || isBehindOptions) return template;
  return (input) => {
    const value = template(input);
    if (!/^-./.test(value) || !Number.isNaN(Number(value))) return value;
    const message = `An argument of ${manifest.name} begins with "-", and its program would take it for an option.`;
    throw new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "", message }] });
  };
}

/** JSON, else the text without the end of its last line. */
function valueIn(output: string): unknown {
  try {
    return parseJson(output);
  } catch {
    return output.replace(/\r?\n$/, "");
  }
}

/** The result of what a program answered, in the form of PromptKit or in its own. What it says of an error has no secret that it was given. */
function resultOf(value: unknown, name: string, { secrets }: ManifestCommand, call: CallContext): unknown {
  if (!isRecord(value)) return value;
  const { error, pending, result } = value;
  if (typeof error === "string" && error !== "")
    throw new ToolkitError("TOOL_FAILED", `${name}: ${maskedText(error, secrets)}`, {});
  if (result !== undefined) return result;
  if (isRecord(pending) && Object.keys(value).length === 1) {
    const { reason, message } = pending;
    call.pending({
      reason: typeof reason === "string" && reason !== "" ? reason : "pending",
      message: typeof message === "string" && message !== "" ? message : `${name} waits.`,
    });
  }
  return value;
}
