import { egressOf } from "../../core/egress.ts";
import { messageOf } from "../../core/error.ts";
import type { CallContext } from "../../core/item.ts";
import { isResource, type Resource } from "../../core/resource.ts";
import { parseJson } from "../../lib/nesting.ts";
import { base64Content, jsonContent, textContent } from "../../resource/content.ts";
import { readLocation } from "../../resource/read.ts";
import { contentOfBytes } from "../../resource/sniff.ts";
import { argumentTemplate } from "../argument-template.ts";
import type { ManifestContext, ManifestExecutor, ManifestRun, ManifestTool } from "../manifest-port.ts";
import { answersOf } from "./recorded-answers.ts";

/** The largest file of a result, and of a part of one, in bytes. */
const maxFileBytes = 8 * 1024 * 1024;

type Answer = ManifestRun["run"];

/** The mode `mock`: a result that is written, made from the arguments by a template, or was recorded. It says nothing of what it stands for. */
export const mock: ManifestExecutor = async (manifest, context) => {
  const answer = await answerOf(manifest, context);
  const parts = await Promise.all((manifest.spec.mock_parts ?? []).map((_part, at) => partOf(manifest, context, at)));
  if (parts.length === 0) return { run: answer };
  const isAlone = answer === usual;
  return {
    async run(input, call) {
      const loaded = await Promise.all(parts.map((part) => part(call)));
      return isAlone ? loaded : [contentOf(await answer(input, call), manifest.name), ...loaded];
    },
  };
};

/** The result of PromptKit where a manifest has none. */
const usual: Answer = () => ({ result: "mock response" });

async function answerOf(manifest: ManifestTool, context: ManifestContext): Promise<Answer> {
  const { spec, problem } = manifest;
  const [field, other] = answerFields.filter((each) => spec[each] !== undefined && spec[each] !== "");
  // PromptKit looks for a template first, then for the result, then for its file.
  if (other !== undefined && field !== undefined && !(field === "mock_template" && other === "mock_template_file"))
    throw problem(["spec", other], `The tool has ${field} and ${other}.`, "Keep one of them.");
  switch (field) {
    case "mock_template":
      return templated(manifest, ["spec", field], spec.mock_template ?? "");
    case "mock_template_file":
      return templated(manifest, ["spec", field], await textOf(manifest, context, field));
    case "mock_result_file": {
      const text = await textOf(manifest, context, field);
      const result = jsonOf(text, (cause) =>
        problem(["spec", field], `The file is no JSON: ${messageOf(cause)}.`, "", { cause }),
      );
      return () => result;
    }
    case "mock_recordings":
      return await answersOf(manifest, context);
    case "mock_result":
      return () => spec.mock_result;
    default:
      return usual;
  }
}

const answerFields = [
  "mock_template",
  "mock_template_file",
  "mock_result",
  "mock_result_file",
  "mock_recordings",
] as const;

/** As in PromptKit, a text that is no JSON is the field `result` of one. */
function templated(manifest: ManifestTool, path: readonly string[], text: string): Answer {
  const render = argumentTemplate(manifest, path, text);
  return (input) => {
    const result = render(input);
    try {
      return parseJson(result);
    } catch {
      return { result };
    }
  };
}

async function textOf(
  manifest: ManifestTool,
  context: ManifestContext,
  field: (typeof answerFields)[number],
): Promise<string> {
  const bytes = await context.readFile(["spec", field], String(manifest.spec[field]), { maxBytes: maxFileBytes });
  return new TextDecoder().decode(bytes);
}

function jsonOf(text: string, refused: (cause: unknown) => Error): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw refused(cause);
  }
}

function contentOf(value: unknown, name: string): Resource {
  if (isResource(value)) return value;
  return typeof value === "string" ? textContent(value, { name }) : jsonContent(value, { name });
}

type Part = (call: CallContext) => Promise<Resource> | Resource;

async function partOf({ spec, problem, name }: ManifestTool, context: ManifestContext, at: number): Promise<Part> {
  const { text, media } = spec.mock_parts?.[at] ?? {};
  const path = ["spec", "mock_parts", at];
  if (media === undefined) {
    if (text !== undefined) return () => textContent(text, { name });
    throw problem(path, "The part has neither text nor media.", "Write text, or media with file_path, url or data.");
  }
  const { file_path, url, data, mime_type: mediaType, caption: description } = media;
  const fields = { name, mediaType, description };
  if (file_path !== undefined) {
    const bytes = await context.readFile([...path, "media", "file_path"], file_path, { maxBytes: maxFileBytes });
    const content = await contentOfBytes(bytes, fields);
    return () => content;
  }
  if (data !== undefined) {
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(data)) throw problem([...path, "media", "data"], "This is no base64.", "");
    const content = base64Content(data, { ...fields, uri: `data:${name}` });
    return () => content;
  }
  const location = url === undefined ? undefined : URL.parse(context.expand([...path, "media", "url"], url));
  if (location === undefined || location === null || !/^https?:$/.test(location.protocol))
    throw problem([...path, "media"], "The media have no bytes.", "Write file_path, data, or an http(s) url.");
  // It is written in the manifest, so that its origin is the operator's own.
  return (call) =>
    readLocation(location, {
      egress: egressOf(call).policy.allowing(location.origin),
      signal: call.signal,
      maxBytes: maxFileBytes,
    });
}
