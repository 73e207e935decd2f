import type { Artifact, Part } from "@a2a-js/sdk";
import { ToolkitError } from "../core/error.ts";
import type { Content } from "../core/resource.ts";
import type { Redactor } from "../mcp/redact.ts";
import {
  bytesContent,
  derivedContent,
  joinParts,
  jsonContent,
  multipartContent,
  textContent,
} from "../resource/content.ts";
import { essenceOf, isJsonType } from "../resource/media-type.ts";
import { authorizationParts, messageText } from "./interruptions.ts";
import type { TaskRecord } from "./task-record.ts";

const scheme = "a2a://task/";

/** The template of the URIs of artifacts. */
export const artifactTemplate = `${scheme}{taskId}/artifact/{artifactId}`;

/** The URI of an artifact, by which it is read again. */
function artifactUri(taskId: string, artifactId: string): string {
  return `${scheme}${encodeURIComponent(taskId)}/artifact/${encodeURIComponent(artifactId)}`;
}

/** The artifact that a URI names; undefined for any other URI. */
export function parseArtifactUri(uri: string): { readonly taskId: string; readonly artifactId: string } | undefined {
  const [, taskId, artifactId] = /^a2a:\/\/task\/([^/?#]+)\/artifact\/([^/?#]+)$/.exec(uri) ?? [];
  try {
    if (taskId === undefined || artifactId === undefined) return undefined;
    return { taskId: decodeURIComponent(taskId), artifactId: decodeURIComponent(artifactId) };
  } catch {
    return undefined;
  }
}

/** An artifact as a resource: its one part, or its parts. */
export function artifactContent(artifact: Artifact, taskId: string): Content {
  const uri = artifactUri(taskId, artifact.artifactId);
  const name = artifact.name || artifact.artifactId;
  const description = artifact.description || undefined;
  const parts = joinedTexts(artifact.parts);
  if (parts.length === 1) return partContent(parts[0], { name, uri, description });
  return multipartContent(
    parts.map((part, index) => partContent(part, { name, uri: `${uri}?part=${index}`, description })),
    { name, uri, description },
  );
}

interface PartFields {
  readonly name: string;
  readonly uri?: string | undefined;
  readonly description?: string | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

function partContent(part: Part | undefined, given: PartFields): Content {
  const { content, filename = "", mediaType: type = "" } = part ?? {};
  const fields = { ...given, name: filename || given.name };
  const mediaType = type === "" ? {} : { mediaType: type };
  switch (content?.$case) {
    case "text":
      // Its bytes are UTF-8, whatever charset is said.
      return textContent(content.value, type === "" ? fields : { ...fields, mediaType: essenceOf(type) });
    case "raw":
      return bytesContent(content.value, { ...fields, ...mediaType });
    case "url":
      // A link, which is not followed here: the URL is a stranger's.
      return textContent(content.value, { ...fields, mediaType: "text/uri-list" });
    case "data":
      return jsonContent(content.value ?? null, isJsonType(type) ? { ...fields, mediaType: type } : fields);
    default:
      return textContent("", fields);
  }
}

/** Texts that follow each other as one: agents that stream send a text in chunks, each of which is a part. */
function joinedTexts(parts: readonly Part[]): readonly Part[] {
  const joined: { part: Part; texts: string[] }[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const isText = part.content?.$case === "text" && part.filename === "";
    if (
      isText &&
      last?.part.content?.$case === "text" &&
      last.part.filename === "" &&
      last.part.mediaType === part.mediaType
    )
      last.texts.push(part.content?.$case === "text" ? part.content.value : "");
    else joined.push({ part, texts: part.content?.$case === "text" ? [part.content.value] : [] });
  }
  return joined.map(({ part, texts }) =>
    texts.length < 2 ? part : { ...part, content: { $case: "text", value: texts.join("") } },
  );
}

/**
 * The result of a call: the parts of the reply, or the artifacts with what the agent said at the end; last a line for models, which says
 * by which ids the conversation goes on. `meta.a2a` has these too.
 *
 * @throws ToolkitError `TOOL_FAILED` for a task that failed, was rejected, or was canceled by its agent
 */
export function taskContent(
  task: TaskRecord,
  { name, agent, redactor }: { readonly name: string; readonly agent: string; readonly redactor: Redactor },
): Content {
  const { id: taskId, contextId, reply, status } = task;
  const state = reply === undefined ? task.state : "completed";
  const ids = { ...(taskId === "" ? {} : { taskId }), ...(contextId === "" ? {} : { contextId }) };
  const meta = {
    a2a: { ...ids, state, artifacts: task.artifacts.map((each) => artifactUri(taskId, each.artifactId)) },
  };
  const said = (reply ?? status)?.parts ?? [];
  const shown = joinedTexts(state === "auth-required" ? authorizationParts(said) : said);
  const message = shown.map((part) => partContent(part, { name }));
  const artifacts = task.artifacts
    .map((artifact) => artifactContent(artifact, taskId))
    .flatMap((content) => content.parts ?? [content]);
  const note = noteOf(state, ids);
  const parts = [...artifacts, ...message, ...(note === "" ? [] : [textContent(note, { name: "task" })])];
  const [only] = parts;
  const content =
    only !== undefined && parts.length === 1 ? derivedContent(only, { meta }) : joinParts(parts, { name, meta });
  if (state === "completed" || task.isInterrupted) return content;
  const reason = messageText(status);
  const why =
    reason === "" ? `${agent} says that the task of ${name} is ${state}, without a reason.` : redactor.text(reason);
  throw new ToolkitError("TOOL_FAILED", why, { content: textContent(why, { name, meta }) });
}

function noteOf(
  state: string,
  { taskId, contextId }: { readonly taskId?: string; readonly contextId?: string },
): string {
  if (state === "input-required")
    return `[The agent waits for an answer: call again with the taskId ${JSON.stringify(taskId)} and the contextId ${JSON.stringify(contextId)}.]`;
  if (state === "auth-required")
    return `[The agent waits for an authorization. After it, call again with the taskId ${JSON.stringify(taskId)} and the contextId ${JSON.stringify(contextId)}.]`;
  return contextId === undefined
    ? ""
    : `[To go on in this conversation, give the contextId ${JSON.stringify(contextId)}.]`;
}
