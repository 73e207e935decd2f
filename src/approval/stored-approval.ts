import type { Approval, ApprovalStatus } from "../core/approval.ts";
import type { ToolkitError } from "../core/error.ts";
import { errorFromJson, errorToJson } from "../core/error-json.ts";
import type { Content } from "../core/resource.ts";
import type { Lease } from "../jobs/lease.ts";
import { isRecord, present } from "../lib/value.ts";
import { contentFromJson } from "../resource/from-json.ts";

/** An approval as it is kept. Everything in it is JSON, or has a form in JSON. */
export interface StoredApproval extends Approval {
  /** From 1, one more with each change. */
  readonly version: number;
  /** Which of those of its process it is: tells apart what came in one millisecond. */
  readonly sequence: number;
  readonly itemKind: "tool" | "prompt";
  /** A digest of whose call it is, of what, as it was then, with which arguments: what a grant is bound to. */
  readonly digest: string;
  /** Only where it was made can it be run: it has attachments, or is confined to a view. Elsewhere it is void. */
  readonly isLocal?: true | undefined;
  /** What is called says of itself that it may run twice. */
  readonly isRepeatable?: true | undefined;
  /** Sent along as `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** Who runs it, while somebody does. */
  readonly lease?: Lease | undefined;
  /** When nothing more can become of it, in milliseconds since the epoch. */
  readonly settledAt?: number | undefined;
}

/** True where nobody decided in time, or whoever runs it is gone. */
export function isDue({ status, expiresAt, lease }: StoredApproval, now: number): boolean {
  if (status === "pending") return expiresAt <= now;
  return status === "running" && (lease?.until ?? 0) <= now;
}

/** What of a stored one is for its reader. */
export function toApproval({
  version: _version,
  sequence: _sequence,
  itemKind: _itemKind,
  digest: _digest,
  meta: _meta,
  isLocal: _isLocal,
  isRepeatable: _isRepeatable,
  lease: _lease,
  settledAt: _settledAt,
  ...approval
}: StoredApproval): Approval {
  return Object.freeze(approval);
}

/** What of it JSON holds. Id and version are those of its record. */
export function toJson({ id: _id, version: _version, content, error, ...rest }: StoredApproval): unknown {
  const outcome = { content: content?.toJSON(), error: error === undefined ? undefined : errorToJson(error) };
  return present({ ...rest, ...outcome });
}

/**
 * The approval of what JSON held.
 *
 * @throws Error saying what is wrong with it
 */
export function fromJson(id: string, version: number, json: unknown): StoredApproval {
  if (!isRecord(json)) throw new TypeError("it is no object");
  for (const [field, is] of Object.entries(fields)) {
    if (!is(json[field])) throw new TypeError(`its ${field} is not what it should be`);
  }
  const { content, error, ...rest } = json as unknown as Omit<StoredApproval, "id" | "version">;
  const outcome = {
    content: content === undefined ? undefined : contentFromJson(content),
    error: error === undefined ? undefined : revived(error),
  };
  return Object.freeze({ ...rest, ...present(outcome), id, version });
}

/** An error with the content a server sent along made a Content again. */
function revived(json: unknown): ToolkitError {
  const error = errorFromJson(json);
  const { content } = error.details as { readonly content?: unknown };
  if (content === undefined) return error;
  return errorFromJson({ ...error.toJSON(), details: { ...error.details, content: contentOf(content) } });
}

function contentOf(json: unknown): Content | unknown {
  try {
    return contentFromJson(json);
  } catch {
    return json;
  }
}

const statuses: { readonly [S in ApprovalStatus]: true } = {
  pending: true,
  running: true,
  succeeded: true,
  failed: true,
  denied: true,
  expired: true,
  void: true,
};

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";
const either =
  (...is: readonly ((value: unknown) => boolean)[]) =>
  (value: unknown) =>
    is.some((each) => each(value));
const isAbsent = (value: unknown) => value === undefined;
const isTrue = (value: unknown) => value === true;

type Fields = { readonly [F in keyof Omit<StoredApproval, "id" | "version">]-?: (value: unknown) => boolean };

const fields: Fields = {
  kind: (value) => value === "approval" || value === "completion",
  status: (value) => isText(value) && Object.hasOwn(statuses, value as string),
  tool: isText,
  arguments: () => true,
  reason: isText,
  message: isText,
  requestedAt: isNumber,
  expiresAt: isNumber,
  callbackUrl: either(isAbsent, isText),
  metadata: either(isAbsent, isRecord),
  session: (value) => isRecord(value) && isText(value.id) && either(isAbsent, isText)(value.principal),
  decision: either(isAbsent, (value) => isRecord(value) && typeof value.approved === "boolean"),
  content: either(isAbsent, isRecord),
  error: either(isAbsent, isRecord),
  sequence: isNumber,
  itemKind: (value) => value === "tool" || value === "prompt",
  digest: isText,
  isLocal: either(isAbsent, isTrue),
  isRepeatable: either(isAbsent, isTrue),
  meta: either(isAbsent, isRecord),
  lease: either(isAbsent, (value) => isRecord(value) && isText(value.holder) && isNumber(value.until)),
  settledAt: either(isAbsent, isNumber),
};
