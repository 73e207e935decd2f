import { toCallError } from "../../call/call-error.ts";
import { errorToJson } from "../../core/error-json.ts";
import type { Tool, Toolbox } from "../../core/item.ts";
import { isVia } from "../../core/outer-call.ts";
import type { Content } from "../../core/resource.ts";
import type { SchemaLike } from "../../core/schema/types.ts";
import type { JobType } from "../../jobs/job.ts";
import type { Jobs } from "../../jobs/jobs.ts";
import {
  all,
  type FieldCheck,
  having,
  isBoolean,
  isNumber,
  isText,
  isTrue,
  listOf,
  oneOf,
  optional,
} from "../../lib/field-checks.ts";
import { isRecord } from "../../lib/value.ts";
import { contentFromJson } from "../../resource/from-json.ts";
import type { Thread } from "../conversation/kept-conversations.ts";
import type { OwnedResults } from "../run/run-results.ts";
import type { SuspendedRun } from "./suspended-run.ts";

/** The part of a run that only the process knows in which it began. */
export interface LocalRun {
  /** Of the call that it was: what goes on through it has the same session, depth and view. */
  readonly toolbox: Toolbox;
  readonly ownTools: readonly Tool[] | undefined;
  /** As it was given: what is stored of it neither refines nor transforms. */
  readonly output: SchemaLike | undefined;
}

/** The runs that wait, in the store of one toolkit. */
export type RunJobs = Jobs<SuspendedRun, Content, LocalRun>;

/** @param keepMs - how long one is kept, after all that it waits for is over, that is not resumed */
export function runType(keepMs: number): JobType<SuspendedRun, Content> {
  const keptUntil = ({ suspendedAt, turn }: SuspendedRun) =>
    Math.max(suspendedAt, ...turn.waiting.map(({ expiresAt }) => expiresAt)) + keepMs;
  return {
    collection: "run",
    one: "a run",
    many: "suspended runs",
    full: (limit) => `${limit} runs wait to be resumed, and no more are kept. Resume or forget some.`,
    remedy: (id) => `agent.forget("${id}") deletes it.`,
    fields,
    expiresAt: keptUntil,
    expired: () => undefined,
    // The caller of `resume` has the outcome; only another run that waits for it needs it later.
    keptUntil: (run) => (run.isAwaited || run.status === "lost" ? keptUntil(run) : 0),
    isSpare: () => false,
    isRepeatable: () => false,
    completed: (_run, content) => ({ status: "finished", outcome: { content: content.toJSON() } }),
    failed: ({ task }, error) => ({
      status: "finished",
      outcome: { error: errorToJson(toCallError(task.ref, "execute")(error)) },
    }),
    lost: () => ({ status: "lost" }),
  };
}

const isContent: FieldCheck = (value) => {
  try {
    contentFromJson(value);
    return true;
  } catch {
    return false;
  }
};
const isMessage = having({
  role: oneOf("system", "user", "assistant", "tool"),
  content: (value: unknown) => isText(value) || listOf(isRecord)(value),
});
const isWait = having<SuspendedRun["turn"]["waiting"][number]>({
  ...all(isText, "callId", "name", "ref", "id", "reason", "message"),
  ...all(isNumber, "index", "expiresAt"),
  takesControl: isBoolean,
});
const isUsage = having({ inputTokens: isNumber, outputTokens: isNumber });

const fields: JobType<SuspendedRun, Content>["fields"] = {
  ...all(optional(isTrue), "isAwaited", "isLocal"),
  status: oneOf("suspended", "running", "finished", "lost"),
  outcome: optional(
    (value) => isRecord(value) && ("content" in value ? isContent(value.content) : isRecord(value.error)),
  ),
  task: having<SuspendedRun["task"]>({
    ...all(isText, "ref", "name"),
    ...all(optional(listOf(isText)), "tools", "forced"),
    earlier: optional(isNumber),
    thread: optional(
      having<Thread>({
        ...all(isText, "id", "owner", "key", "incarnation"),
        version: isNumber,
        turns: optional(isNumber),
      }),
    ),
  }),
  state: having<SuspendedRun["state"]>({
    ...all(listOf(isRecord), "steps", "calls"),
    ...all(isNumber, "toolCalls", "repairs"),
    id: isText,
    messages: listOf(isMessage),
    usage: isUsage,
    inner: (value) => isRecord(value) && Object.values(value).every(isUsage),
    sources: listOf(isRecord),
    guided: listOf(isText),
  }),
  results: having<OwnedResults>({
    count: isNumber,
    owner: isRecord,
    contents: listOf((value) => Array.isArray(value) && isNumber(value[0]) && isContent(value[1])),
  }),
  limits: (value) => isRecord(value) && Object.values(value).every(isNumber),
  turn: having<SuspendedRun["turn"]>({
    parts: listOf((value) => value === null || isRecord(value)),
    waiting: listOf(isWait),
  }),
  meta: optional(isRecord),
  via: optional(isVia),
  suspendedAt: isNumber,
};
