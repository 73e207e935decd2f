import { ToolkitError } from "../../core/error.ts";
import { errorFromJson } from "../../core/error-json.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { jsonFault } from "../../lib/nesting.ts";
import { isRecord, jsonIn } from "../../lib/value.ts";
import { contentFromJson } from "../../resource/from-json.ts";
import type { ManifestContext, ManifestRun, ManifestTool } from "../manifest-port.ts";

// Recordings may come from a stranger.
const maxTapeBytes = 64 * 1024 * 1024;
const maxFileBytes = 8 * 1024 * 1024;
const maxFiles = 1_000;
const maxAnswers = 100_000;
const maxDepth = 200;

/** An answer, and the arguments that it was given to. */
interface RecordedAnswer {
  /** Undefined for one that fits whatever no other one does. */
  readonly input: Readonly<Record<string, unknown>> | undefined;
  /** @throws the error that was recorded */
  give(): unknown;
}

/** A place in a recording is refused. */
type Refuse = (where: string, why: string, cause?: unknown) => Error;

/**
 * Answers a call as it was answered when it was recorded: first one with equal arguments, the newest of them; else one whose arguments are a
 * part of those of the call, as PromptKit compares; else `TOOL_FAILED`.
 *
 * @throws ToolkitError `INVALID_MANIFEST`
 */
export async function answersOf(manifest: ManifestTool, context: ManifestContext): Promise<ManifestRun["run"]> {
  const written = manifest.spec.mock_recordings ?? "";
  const { from, tool = manifest.name } = typeof written === "string" ? { from: written } : written;
  const path = ["spec", "mock_recordings"];
  const refuse: Refuse = (where, why, cause) =>
    manifest.problem(path, `${where} ${why}.`, "Record it again, or correct it.", { cause });
  const answers = /\.jsonl?$/i.test(from)
    ? await ofFile(from, refuse)
    : (await Promise.all((await filesIn(from)).map((file) => ofFile(`${from}/${file}`, refuse)))).flat();
  if (answers.length === 0) throw refuse(JSON.stringify(from), `has no answer of the tool ${tool}`);
  if (answers.length > maxAnswers) throw refuse(JSON.stringify(from), `has more than ${maxAnswers} answers`);
  const equal = new Map(answers.map((answer) => [answer.input && canonicalJson(answer.input), answer]));
  return (input) => {
    const found = equal.get(canonicalJson(input)) ?? answers.find((answer) => isPart(answer.input, input));
    if (found !== undefined) return found.give();
    const message = `No answer of ${manifest.name} is recorded for these arguments. There are ${answers.length} for others.`;
    throw new ToolkitError("TOOL_FAILED", message, {});
  };

  async function filesIn(folder: string): Promise<readonly string[]> {
    const files = (await context.listFolder(path, folder)).filter((file) => /\.jsonl?$/i.test(file));
    if (files.length > maxFiles) throw refuse(JSON.stringify(folder), `has more than ${maxFiles} files`);
    return files;
  }

  async function ofFile(file: string, refused: Refuse): Promise<readonly RecordedAnswer[]> {
    const isTape = /\.jsonl$/i.test(file);
    const bytes = await context.readFile(path, file, { maxBytes: isTape ? maxTapeBytes : maxFileBytes });
    const text = new TextDecoder().decode(bytes);
    return isTape ? onTape(text, tool, file, refused) : inFile(checkedJson(text, file, refused), file, refused);
  }
}

/** Each argument that was recorded is one of the call; the call may have more. */
function isPart(recorded: RecordedAnswer["input"], input: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(recorded ?? {}).every(
    ([name, value]) => Object.hasOwn(input, name) && canonicalJson(input[name]) === canonicalJson(value),
  );
}

/** The answers of a tool on a tape, the last of each input. A tape is read in full by `replay`; here only calls and results count. */
function onTape(text: string, tool: string, file: string, refuse: Refuse): readonly RecordedAnswer[] {
  const inputs = new Map<unknown, RecordedAnswer["input"]>();
  const answers = new Map<string, RecordedAnswer>();
  const lines = text.split("\n");
  for (const [at, line] of lines.entries()) {
    const where = `${file}:${at + 1}`;
    const isLast = at >= lines.length - 2;
    if (line === "") continue;
    // Of the last line there may be a part, where the process ended while it wrote.
    const value = isLast ? jsonIn(line) : checkedJson(line, where, refuse);
    if (!isRecord(value)) continue;
    if (at === 0 && value.type !== "tape") throw refuse(where, "is no first line of a tape");
    if (value.type === "call" && value.kind === "tool" && isRefOf(value.ref, tool))
      inputs.set(value.call, isRecord(value.input) ? value.input : {});
    if (value.type !== "result" || !inputs.has(value.call) || value.cut !== undefined) continue;
    const input = inputs.get(value.call);
    const give = value.error === undefined ? contentGiver(value.content, where, refuse) : errorGiver(value.error);
    answers.set(canonicalJson(input), { input, give });
  }
  return [...answers.values()];
}

/** The ref, or the name alone in whatever namespace it was. */
function isRefOf(ref: unknown, tool: string): boolean {
  return typeof ref === "string" && (ref === tool || ref.slice(ref.indexOf(".") + 1) === tool);
}

/** The answers of a file: `{ arguments, result }` or `{ arguments, error: { code?, message } }`, or a list of such. */
function inFile(value: unknown, file: string, refuse: Refuse): readonly RecordedAnswer[] {
  return [value].flat().map((each, at) => {
    const where = Array.isArray(value) ? `${file}[${at}]` : file;
    if (!isRecord(each) || (each.result === undefined) === (each.error === undefined))
      throw refuse(where, "is no recorded answer: it needs arguments, and result or error");
    const input = each.arguments ?? each.call_args;
    if (input !== undefined && !isRecord(input)) throw refuse(where, "has arguments that are no object");
    return { input, give: each.error === undefined ? () => each.result : errorGiver(each.error) };
  });
}

function contentGiver(content: unknown, where: string, refuse: Refuse): () => unknown {
  try {
    const loaded = contentFromJson(content);
    return () => loaded;
  } catch (cause) {
    throw refuse(where, "has a result that is no content", cause);
  }
}

function errorGiver(error: unknown): () => never {
  const { message } = isRecord(error) ? error : {};
  const text = typeof message === "string" ? message : "It failed when it was recorded.";
  return () => {
    throw recordedError(error) ?? new ToolkitError("TOOL_FAILED", text, {});
  };
}

function recordedError(error: unknown): ToolkitError | undefined {
  try {
    return errorFromJson({ details: {}, ...(isRecord(error) ? error : {}) });
  } catch {
    return undefined;
  }
}

function checkedJson(text: string, where: string, refuse: Refuse): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw refuse(where, "is no JSON", cause);
  }
  if (jsonFault(value, maxDepth) !== undefined) throw refuse(where, `is nested deeper than ${maxDepth} levels`);
  return value;
}
