import { ToolkitError } from "../../core/error.ts";
import type { RecordKey, Store, StoredRecord } from "../../core/store.ts";
import { isRecord } from "../../lib/value.ts";
import { contentFromJson } from "../../resource/from-json.ts";
import type { SuspendedRun } from "./suspended-run.ts";

/** A run as a store has it. */
export interface StoredRun {
  readonly run: SuspendedRun;
  /** Of its record: whoever changes it expects this one. */
  readonly version: number;
}

/** Where in a store runs are: whoever's they are, they belong to the toolkit. */
export const runKey = (id: string): RecordKey => ({ collection: "run", owner: "", key: id });

/** @throws ToolkitError `STORE_FAILED` where what is there cannot be read */
export async function getRun(store: Store, id: string): Promise<StoredRun | undefined> {
  const record = await store.get(runKey(id));
  return record === undefined ? undefined : readRun(record);
}

/**
 * The run of what a store held.
 *
 * @throws ToolkitError `STORE_FAILED` where that is none, saying what is wrong with it
 */
export function readRun({ key, version, value }: StoredRecord): StoredRun {
  const fault = faultOf(value);
  if (fault === undefined) return { run: { ...(value as unknown as SuspendedRun), id: key }, version };
  const message = `The store has a run "${key}" that cannot be read: ${fault}. agent.forget("${key}") deletes it.`;
  throw new ToolkitError("STORE_FAILED", message, { operation: "get" });
}

/** True for what a store held that is a run. */
export function isReadable({ value }: StoredRecord): boolean {
  return faultOf(value) === undefined;
}

function faultOf(value: unknown): string | undefined {
  return isRecord(value) ? faultIn(value, runFields) : "it is no object";
}

type Check = (value: unknown) => boolean;
type Fields<T> = { readonly [F in keyof T]-?: Check };

const isText: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => typeof value === "number";
const isAbsent: Check = (value) => value === undefined;
const isTrue: Check = (value) => value === true;
const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const optional =
  (check: Check): Check =>
  (value) =>
    isAbsent(value) || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const having =
  <T>(fields: Partial<Fields<T>>): Check =>
  (value) =>
    isRecord(value) && faultIn(value, fields) === undefined;

const isMessage = having({
  role: oneOf("system", "user", "assistant", "tool"),
  content: (value: unknown) => isText(value) || listOf(isRecord)(value),
});
const isWait = having<SuspendedRun["turn"]["waiting"][number]>({
  index: isNumber,
  takesControl: (value) => typeof value === "boolean",
  callId: isText,
  name: isText,
  ref: isText,
  id: isText,
  reason: isText,
  message: isText,
  expiresAt: isNumber,
});
const isUsage = having({ inputTokens: isNumber, outputTokens: isNumber });
const isResult: Check = (value) => Array.isArray(value) && isNumber(value[0]) && isContent(value[1]);

function isContent(value: unknown): boolean {
  try {
    contentFromJson(value);
    return true;
  } catch {
    return false;
  }
}

const runFields: Fields<Omit<SuspendedRun, "id">> = {
  status: oneOf("suspended", "running", "finished", "lost"),
  lease: optional(having({ holder: isText, until: isNumber })),
  isAwaited: optional(isTrue),
  outcome: optional(
    (value) => isRecord(value) && ("content" in value ? isContent(value.content) : isRecord(value.error)),
  ),
  task: having<SuspendedRun["task"]>({ ref: isText, name: isText, tools: optional(listOf(isText)) }),
  state: having<SuspendedRun["state"]>({
    id: isText,
    messages: listOf(isMessage),
    steps: listOf(isRecord),
    calls: listOf(isRecord),
    toolCalls: isNumber,
    usage: isUsage,
    inner: (value) => isRecord(value) && Object.values(value).every(isUsage),
    repairs: isNumber,
    guided: listOf(isText),
  }),
  results: having({ count: isNumber, contents: listOf(isResult) }),
  limits: (value) => isRecord(value) && Object.values(value).every(isNumber),
  turn: having<SuspendedRun["turn"]>({
    parts: listOf((value) => value === null || isRecord(value)),
    waiting: listOf(isWait),
  }),
  session: having<SuspendedRun["session"]>({ id: isText, principal: optional(isText) }),
  meta: optional(isRecord),
  isLocal: optional(isTrue),
  suspendedAt: isNumber,
};

function faultIn(value: Readonly<Record<string, unknown>>, fields: object): string | undefined {
  for (const [name, check] of Object.entries(fields)) {
    if (!check(value[name])) return `its ${name} is not what it should be`;
  }
  return undefined;
}
