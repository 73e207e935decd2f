import type { Approval } from "../core/approval.ts";
import type { Connection } from "../core/connection.ts";
import { definitionOf } from "../core/entry.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { Entry, Kind, RenderedPrompt } from "../core/item.ts";
import { type Content, type ContentJson, isContent } from "../core/resource.ts";
import type { Session } from "../core/session.ts";
import { present } from "../lib/value.ts";
import { mapTexts, stripInvisible, visible, visibleLines, withoutInvisible } from "../lib/visible-text.ts";
import { loadResource } from "../resource/handle.ts";
import type {
  ListedItem,
  NamespaceStatus,
  ShownApproval,
  ShownContent,
  ShownError,
  ShownItem,
  ShownPrompt,
} from "./inspection-face.ts";

/** The most characters of a description in a list. */
const maxListedText = 240;
/** The most bytes of a result that are shown whole, and the characters of a larger one. */
const maxShownBytes = 4 * 1024 * 1024;
const maxCutText = 200_000;

/** An item for a list. Its texts are a stranger's: what does not show is escaped. */
export function listedItem(entry: Entry): ListedItem {
  const { kind, ref, namespace, name, stale } = entry;
  const { title, description, refusal } = definitionOf(entry);
  const base = { kind, ref, label: visible(ref), namespace, name: visible(name), stale };
  return {
    ...base,
    ...present({
      title: title && visible(title),
      description: description && visible(description.slice(0, maxListedText)),
      refusedBy: refusal && visible(`${refusal.at}: ${refusal.rule}`),
    }),
  };
}

/** An item with all that it says of itself. */
export function shownItem(entry: Entry): ShownItem {
  const { kind, key, description, input, output, annotations, mediaType, size } = definitionOf(entry);
  const isAddressed = kind === "resource" || kind === "template";
  const texts = withoutInvisible(present({ input, output, annotations })) as Partial<ShownItem>;
  return {
    ...listedItem(entry),
    ...texts,
    ...present({
      uri: isAddressed ? visible(key) : undefined,
      description: description && visibleLines(description),
      mediaType,
      size,
    }),
  };
}

/** The state of a connector. @param isOperator - to others only that is shown which lists and calls say anyway */
export function namespaceStatus(
  connection: Connection,
  counts: Readonly<Record<Kind, number>>,
  isOperator: boolean,
): NamespaceStatus {
  const { namespace, state, since, latencyMs, callsInFlight, label, transport, trust, server, protocolVersion } =
    connection;
  const known: NamespaceStatus = { namespace, state, since, latencyMs, counts };
  if (!isOperator) return known;
  const { attempts, nextAttemptAt, lastError, warnings, stderr } = connection;
  return {
    ...known,
    ...present({
      callsInFlight,
      label: visible(label),
      transport,
      trust,
      server: server && visible(`${server.name} ${server.version ?? ""}`.trim()),
      protocolVersion,
      attempts,
      nextAttemptAt,
      lastError: lastError && visibleLines(lastError.message),
      warnings: warnings.map(visible),
      stderr: stderr === undefined || stderr === "" ? undefined : visibleLines(stderr.slice(-maxListedText * 10)),
    }),
  };
}

/** A result as JSON, or its beginning. */
export function shownContent(content: Content): ShownContent {
  const json = content.toJSON();
  const size = sizeOf(json);
  if (size <= maxShownBytes) return { content: withReadableText(json) };
  const { kind, name, uri, mediaType } = json;
  const text = textOf(json).slice(0, maxCutText);
  return {
    content: { kind, name, uri, mediaType: "text/plain", text: stripInvisible(text) || mediaType },
    cutFrom: size,
  };
}

function withReadableText(json: ContentJson): ContentJson {
  const { kind, name, uri, mediaType, text, base64, parts } = json;
  return {
    ...{ kind, name, uri, mediaType },
    ...present({ text: text && stripInvisible(text), base64, parts: parts?.map(withReadableText) }),
  };
}

function sizeOf({ text, base64, parts = [] }: ContentJson): number {
  return (text?.length ?? 0) + (base64?.length ?? 0) + parts.reduce((sum, part) => sum + sizeOf(part), 0);
}

function textOf({ text = "", parts = [] }: ContentJson): string {
  return parts.length === 0 ? text : parts.map(textOf).join("\n");
}

/** An error with what to do. */
export function shownError(error: unknown): ShownError {
  if (!ToolkitError.is(error)) return { message: visibleLines(messageOf(error)) };
  const { code, message, remedy, phase } = error.toJSON();
  const approval = ToolkitError.is(error, "PENDING") ? error.details.id : undefined;
  return { code, message: visibleLines(message), ...present({ remedy, phase, approval }) };
}

/** The messages of a rendered prompt, with what is attached to them. */
export async function shownPrompt({ system, messages }: RenderedPrompt, signal: AbortSignal): Promise<ShownPrompt> {
  const shown = messages.map(async ({ role, content }) => {
    const parts = content.map(async (each) =>
      shownContent(isContent(each) ? each : await loadResource(each, { signal })),
    );
    return { role, content: await Promise.all(parts) };
  });
  return { ...present({ system: system && stripInvisible(system) }), messages: await Promise.all(shown) };
}

/** A call that waits. */
export function shownApproval(approval: Approval): ShownApproval {
  const { id, kind, status, tool, reason, message, requestedAt, expiresAt, session, decision, content, error } =
    approval;
  const { principal }: Pick<Session, "principal"> = session;
  return {
    ...{ id, kind, status, tool, requestedAt, expiresAt },
    // Stripped, an approver would not see what is about to be sent.
    arguments: mapTexts(approval.arguments ?? null, visibleLines),
    reason: visibleLines(reason),
    message: visibleLines(message),
    ...present({
      principal,
      decidedBy: decision?.by,
      decisionReason: decision?.reason,
      result: content && shownContent(content),
      error: error && shownError(error),
    }),
  };
}
