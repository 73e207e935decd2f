import type { Artifact, Message, Part, Task, TaskArtifactUpdateEvent, TaskStatus } from "@a2a-js/sdk";
import { ToolkitError } from "../core/error.ts";
import { messageTooLarge } from "../mcp/rpc/rpc-error.ts";
import type { AgentUpdate } from "./agent-sdk.ts";

/** The states of a task, by their number in the protocol. */
const states = [
  "unspecified",
  "submitted",
  "working",
  "completed",
  "failed",
  "canceled",
  "input-required",
  "rejected",
  "auth-required",
] as const;

/** The state of a task. */
export type TaskStateName = (typeof states)[number];

/** No change follows these. */
const terminal: ReadonlySet<TaskStateName> = new Set(["completed", "failed", "canceled", "rejected"]);
/** The agent waits for the person. */
const interrupted: ReadonlySet<TaskStateName> = new Set(["input-required", "auth-required"]);

/** An id is kept, shown and sent: none is longer, but one that is meant to fill these. */
const maxIdLength = 1_000;

/** The limits of what an agent sends about one task. */
export interface TaskLimits {
  /** Of all its artifacts, in bytes. */
  readonly maxMessageBytes: number;
  /** The most artifacts, and the most parts of all of them. */
  readonly maxListSize: number;
}

/** A task as far as its agent has told. Updates that are of another task, or go back in time, change nothing. */
export class TaskRecord {
  /** Empty until it is known. */
  id = "";
  contextId = "";
  state: TaskStateName = "unspecified";
  /** The message of its last state. */
  status: Message | undefined;
  /** The agent still shows the question that was answered: the answer is not read yet, or never came. */
  isWaitingStill = false;
  /** The message that answered in place of a task. */
  reply: Message | undefined;
  /** Updates that were of another task. */
  foreign = 0;
  readonly #artifacts = new Map<string, { readonly artifact: Artifact; size: number }>();
  readonly #limits: TaskLimits;
  #size = 0;
  #parts = 0;
  /** The status that is shown, and the last question that was answered. */
  #shown = "";
  #answered = "";

  /** @param id - of the task that is gone on with, if any: the agent may answer with no other */
  constructor(limits: TaskLimits, id: string) {
    this.#limits = limits;
    this.id = id;
  }

  get artifacts(): readonly Artifact[] {
    return [...this.#artifacts.values()].map(({ artifact }) => artifact);
  }

  get isTerminal(): boolean {
    return terminal.has(this.state);
  }

  get isInterrupted(): boolean {
    return interrupted.has(this.state);
  }

  /** Nothing more comes unless something is sent. */
  get isSettled(): boolean {
    return this.reply !== undefined || this.isTerminal || this.isInterrupted;
  }

  /** Takes an update in. False where it changes nothing. @throws ToolkitError `LIMIT_EXCEEDED` */
  apply(update: AgentUpdate): boolean {
    if (this.reply !== undefined || this.isTerminal) return false;
    switch (update.$case) {
      case "message":
        return this.#replied(update.value);
      case "task":
        return this.adopt(update.value);
      case "statusUpdate":
        return this.#isOwn(update.value.taskId, update.value.contextId) && this.#setStatus(update.value.status);
      case "artifactUpdate":
        return this.#isOwn(update.value.taskId, update.value.contextId) && this.#extend(update.value);
    }
  }

  /** Takes the whole task in. @throws ToolkitError `LIMIT_EXCEEDED` */
  adopt(task: Task): boolean {
    if (this.isTerminal || !this.#isOwn(task.id, task.contextId)) return false;
    const { size } = this.#artifacts;
    // A task that is sent without its artifacts has lost none.
    if (task.artifacts.length > 0) {
      this.#artifacts.clear();
      this.#size = this.#parts = 0;
      for (const artifact of task.artifacts) this.#put(artifact);
    }
    return this.#setStatus(task.status) || this.#artifacts.size !== size;
  }

  /** The message is sent that it waits for. */
  goOn(): void {
    if (!this.isInterrupted) return;
    this.#answered = this.#shown;
    this.state = "working";
  }

  #replied(message: Message): boolean {
    // In the middle of a task a message says nothing about its end.
    if (this.state !== "unspecified" || (message.taskId !== "" && this.id !== "" && message.taskId !== this.id))
      return false;
    this.reply = message;
    if (message.contextId.length <= maxIdLength) this.contextId = message.contextId;
    return true;
  }

  #isOwn(id: string, contextId: string): boolean {
    if (id === "" || id.length > maxIdLength || (this.id !== "" && id !== this.id)) {
      this.foreign += 1;
      return false;
    }
    this.id = id;
    if (contextId !== "" && contextId.length <= maxIdLength) this.contextId = contextId;
    return true;
  }

  #setStatus(status: TaskStatus | undefined): boolean {
    const state = states.find((_, number) => number === status?.state) ?? "unspecified";
    // No task goes back to a state before the work.
    if (state === "unspecified" || (state === "submitted" && this.state !== "unspecified")) return false;
    const key = statusKey(state, status);
    this.isWaitingStill = interrupted.has(state) && key === this.#answered;
    if (this.isWaitingStill) return false;
    const isNew = key !== this.#shown;
    this.#shown = key;
    this.state = state;
    this.status = status?.message;
    return isNew;
  }

  #extend({ artifact, append }: TaskArtifactUpdateEvent): boolean {
    if (artifact === undefined) return false;
    const before = append ? this.#artifacts.get(artifact.artifactId) : undefined;
    if (before === undefined) this.#put(artifact);
    else {
      // In place: a stream of thousands of chunks must not copy the list for each.
      before.artifact.parts.push(...artifact.parts);
      const size = sizeOf(artifact.parts);
      before.size += size;
      this.#grown(size, artifact.parts.length);
    }
    return true;
  }

  /** Puts a whole artifact in place of one of its id. */
  #put(artifact: Artifact): void {
    const before = this.#artifacts.get(artifact.artifactId);
    const size = sizeOf(artifact.parts);
    this.#artifacts.set(artifact.artifactId, { artifact: { ...artifact, parts: [...artifact.parts] }, size });
    this.#grown(size - (before?.size ?? 0), artifact.parts.length - (before?.artifact.parts.length ?? 0));
  }

  #grown(size: number, parts: number): void {
    const { maxMessageBytes, maxListSize } = this.#limits;
    this.#size += size;
    this.#parts += parts;
    if (this.#size > maxMessageBytes) throw messageTooLarge(maxMessageBytes, this.#size);
    const actual = Math.max(this.#parts, this.#artifacts.size);
    // Chunks of text are many, and one text in the end.
    const max = maxListSize * 10;
    if (actual <= max) return;
    const message = `The agent sent more parts of artifacts than ten times maxListSize (${max}). Raise the limit, or ask it for less.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxListSize", max, actual });
  }
}

/** Tells a status from another one: by its time and the id of its message, and by its words where it has neither. */
function statusKey(state: TaskStateName, { timestamp, message }: Partial<TaskStatus> = {}): string {
  if (timestamp || message?.messageId) return `${state} ${timestamp ?? ""} ${message?.messageId ?? ""}`;
  return `${state} ${JSON.stringify(message?.parts) ?? ""}`;
}

/** The bytes of parts, in memory. */
function sizeOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { content }) => {
    if (content?.$case === "data") return sum + (JSON.stringify(content.value)?.length ?? 0);
    return sum + (content?.value.length ?? 0);
  }, 0);
}
