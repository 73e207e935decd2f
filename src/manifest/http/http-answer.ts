import { ToolkitError } from "../../core/error.ts";
import type { Content } from "../../core/resource.ts";
import type { HttpResponse } from "../../lib/fetch/client-exchange.ts";
import { type Glob, glob } from "../../lib/glob.ts";
import { type SelectNode, selectJson } from "../../lib/json-select/select-json.ts";
import { InvalidSelection } from "../../lib/json-select/select-value.ts";
import { jsonFault, parseJson } from "../../lib/nesting.ts";
import { StepBudget, StepsSpent } from "../../lib/step-budget.ts";
import { tooLarge } from "../../resource/collect-bytes.ts";
import { emptyContent, jsonContent, multipartContent, textOf } from "../../resource/content.ts";
import { essenceOf, isJsonType } from "../../resource/media-type.ts";
import { contentOfBytes } from "../../resource/sniff.ts";
import { type OperationRequest, whatOf } from "./http-failure.ts";
import type { AnswerRule } from "./http-operation.ts";

/** JSON that is nested deeper is refused. */
const maxLevels = 200;
/** The steps of a mapping. */
const maxSteps = 1_000_000;
const redacted = "[REDACTED]";

/**
 * The result of a call, from an answer whose status is a success.
 *
 * @throws ToolkitError `LIMIT_EXCEEDED`, `REMOTE_ERROR` for what is no JSON though it says so, `INVALID_OUTPUT` for a mapping that fails; what reading
 *   the answer throws
 */
export async function answerContent(response: HttpResponse, request: OperationRequest): Promise<Content> {
  const { name, answer } = request.operation;
  const bytes = await bytesOf(response, request);
  const fields = { name, uri: `data:${encodeURIComponent(name)}` };
  if (bytes.length === 0 && answer.reading === "declared") return emptyContent({ name });
  const type = response.header("content-type") ?? "";
  // Whatever else a service says of its type is passed on to clients.
  const declared = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+ *(?:;[\x20-\x7e]*)?$/.test(type) ? type : undefined;
  const content = await contentOfBytes(bytes, fields, { declared });
  const text = textOf(content);
  if (text === undefined || isDescribed(content, answer)) return describedContent(content, answer, name);
  const value = readValue(text, content.mediaType, request);
  return value === undefined ? content : jsonContent(selected(redactedCopy(value, answer), answer, name), { name });
}

async function bytesOf(response: HttpResponse, request: OperationRequest): Promise<Uint8Array> {
  const { maxBytes, maxBytesField } = request.operation.answer;
  const option = `${maxBytesField} of the manifest`;
  const what = `The answer to ${whatOf(request)}`;
  const announced = Number(response.header("content-length") ?? 0);
  if (announced > maxBytes && request.operation.method !== "HEAD") {
    response.discard();
    throw tooLarge(what, maxBytes, announced, option);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  await response.read((chunk) => {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(what, maxBytes, undefined, option);
    chunks.push(chunk);
  });
  return new Uint8Array(Buffer.concat(chunks, size));
}

/** The JSON value of a text; undefined where it stays a text. */
function readValue(text: string, mediaType: string, request: OperationRequest): unknown {
  const { reading } = request.operation.answer;
  if (reading === "declared" && !isJsonType(mediaType)) return undefined;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    if (reading === "lenient") return { result: text };
    const { host } = request.url;
    const message = `${whatOf(request)} answered with ${mediaType}, and its text is no JSON.`;
    throw new ToolkitError("REMOTE_ERROR", message, { server: host }, { cause });
  }
  if (jsonFault(value, maxLevels) !== "depth") return value;
  const message = `The answer to ${whatOf(request)} is nested deeper than ${maxLevels} levels, which is the most that is read: ask the service for something flatter.`;
  throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "depth", max: maxLevels });
}

/** A file, and where the manifest wants it a description in JSON. */
function describedContent(content: Content, answer: AnswerRule, name: string): Content {
  if (!isDescribed(content, answer)) return content;
  const type = essenceOf(content.mediaType);
  const [kind = ""] = type.split("/");
  const media = ["image", "audio", "video"].includes(kind) ? kind : "document";
  const description = { type: media, content_type: type, size_bytes: content.size };
  return multipartContent([jsonContent(selected(description, answer, name), { name: `${name}-1` }), content], { name });
}

function isDescribed({ mediaType }: Content, { described }: AnswerRule): boolean {
  const type = essenceOf(mediaType);
  if (described?.length === 0) return /^(?:image|audio|video)\//.test(type);
  return described?.some((each) => essenceOf(each) === type) === true;
}

function redactedCopy(value: unknown, { redact }: AnswerRule): unknown {
  return redact.length === 0 ? value : redactIn(value, redact.map(glob));
}

// Its depth is bounded before.
function redactIn(value: unknown, names: readonly Glob[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => redactIn(each, names));
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      names.some((fits) => fits(name)) ? redacted : redactIn(each, names),
    ]),
  );
}

function selected(value: unknown, { mapping }: AnswerRule, name: string): unknown {
  return mapping === undefined
    ? value
    : mapped(mapping, value, { code: "INVALID_OUTPUT", of: `the answer of ${name}` });
}

/** A mapping, for its error. */
export interface MappedValue {
  readonly code: "INVALID_INPUT" | "INVALID_OUTPUT";
  /** The value that is mapped: `the answer of get_weather`. */
  readonly of: string;
}

/**
 * Maps a value by JMESPath, in a bounded number of steps.
 *
 * @throws ToolkitError `LIMIT_EXCEEDED`, or with the given code where the mapping does not fit the value
 */
export function mapped(mapping: SelectNode, value: unknown, { code, of }: MappedValue): unknown {
  try {
    return selectJson(mapping, value, new StepBudget(maxSteps));
  } catch (cause) {
    if (cause instanceof StepsSpent) {
      const message = `The mapping of ${of} takes more than ${maxSteps} steps.`;
      throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "steps", max: maxSteps }, { cause });
    }
    if (!(cause instanceof InvalidSelection)) throw cause;
    const message = `The mapping of ${of} ${cause.message}.`;
    throw new ToolkitError(code, message, { issues: [{ pointer: "", message: cause.message }] }, { cause });
  }
}
