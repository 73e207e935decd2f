import type { Message } from "@a2a-js/sdk";
import { callStateOf } from "../call/call-port.ts";
import { clockOf } from "../call/observers.ts";
import type { ConnectorHost } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import type { CallContext } from "../core/item.ts";
import { backoffDelay, pause, withinTime } from "../lib/backoff.ts";
import type { Clock } from "../lib/clock.ts";
import { agentFailure, type FailingAgent, isBreak, neverSent, protocolReason, unknownTask } from "./agent-failure.ts";
import type { AgentClient, AgentUpdate } from "./agent-sdk.ts";
import { authorizationRequest, authorizationText, inputRequest, messageText } from "./interruptions.ts";
import { answerMessage } from "./skills.ts";
import { type TaskLimits, TaskRecord } from "./task-record.ts";

/** The parts of a session that its tasks are run with. */
export interface TaskRunHost extends FailingAgent {
  readonly host: ConnectorHost;
  readonly limits: TaskLimits;
  /** The longest break of the connection after which a task is still gone on with, in milliseconds. */
  readonly resumeMs: number;
  /** The agent has streams. */
  readonly streams: boolean;
  /** The connection is broken, or is there again: one task more, or less, waits for it. */
  recovering(change: 1 | -1): void;
  /** The task is known by its id from now on. */
  began(task: TaskRecord): void;
}

/** The longest wait for the answer to a question about a task. */
const requestMs = 10_000;
/** The most characters of a message that are reported as progress. */
const shownLength = 2_000;
const firstPollMs = 250;
const maxPollMs = 5_000;
/** The longest wait for a person who was shown a page to authorize something: less than the most that a call may take, so that the caller gets the task. */
const authorizationMs = 9 * 60_000;
/** The most questions of an agent in one call. */
const maxQuestions = 100;

/** One call of a skill: the message, and the task that comes of it to its end, or to a question without an answer. */
export class TaskRun {
  readonly task: TaskRecord;
  readonly clock: Clock;
  readonly #parts: TaskRunHost;
  readonly #client: AgentClient;
  readonly #context: CallContext;
  readonly #outputModes: readonly string[];
  readonly #work: AbortController;
  #progress = 0;
  /** Updates of any kind that came. */
  #updates = 0;
  #canSubscribe: boolean;
  /** The person was shown the page: the task goes on by itself. */
  #isAuthorizing = false;
  #stream: AbortController | undefined;
  #known = false;
  #isWarned = false;

  constructor(
    parts: TaskRunHost,
    client: AgentClient,
    { context, outputModes, taskId }: { context: CallContext; outputModes: readonly string[]; taskId: string },
  ) {
    this.#parts = parts;
    this.#client = client;
    this.#context = context;
    this.clock = clockOf(callStateOf(context));
    this.#outputModes = outputModes;
    this.#work = new AbortController();
    this.#canSubscribe = parts.streams;
    this.task = new TaskRecord(parts.limits, taskId);
  }

  /** Ends everything that it does. */
  abort(reason: unknown): void {
    this.#work.abort(reason);
  }

  /** Its stream may be dead: what became of the task is asked anew. */
  interrupt(): void {
    this.#stream?.abort(interruption);
  }

  /**
   * Runs it.
   *
   * @throws ToolkitError `NOT_FOUND` and `INVALID_INPUT` for a task that is not there, or over; `UNAVAILABLE` where the message was surely not
   *   sent, `OUTCOME_UNKNOWN` where it is not known what became of it, `LIMIT_EXCEEDED`, `REMOTE_ERROR`, `UNAUTHORIZED`; the reason of `abort`
   */
  async run(first: Message): Promise<TaskRecord> {
    if (first.taskId !== "") await this.#find(first.taskId);
    let message: Message | undefined = first;
    for (let questions = 0; message !== undefined; questions++) {
      await this.#send(message);
      await this.#follow();
      message = this.task.isInterrupted && questions < maxQuestions ? await this.#ask() : undefined;
    }
    return this.task;
  }

  /** Looks for the task that is gone on with: the question that the message answers must not be taken for another one. */
  async #find(taskId: string): Promise<void> {
    try {
      await this.#askAgent(this.#work.signal);
    } catch (error) {
      this.#work.signal.throwIfAborted();
      if (protocolReason(error) === "TASK_NOT_FOUND") {
        const message = `${this.#parts.agent} has no task ${taskId}: leave taskId out to begin another one.`;
        throw new ToolkitError("NOT_FOUND", message, { key: taskId, suggestions: [] }, { cause: error });
      }
      throw agentFailure(error, this.#parts, `the request for the task ${taskId}`, "read");
    }
    if (!this.task.isTerminal) return;
    const message = `is of a task that is ${this.task.state}`;
    throw new ToolkitError("INVALID_INPUT", `taskId ${message}: leave it out, and give the contextId to go on.`, {
      issues: [{ pointer: "/taskId", message }],
    });
  }

  /** Sends a message, and takes what comes until nothing more does. */
  async #send(message: Message): Promise<void> {
    const { isInterrupted: wasAsked } = this.task;
    const before = this.#updates;
    this.task.goOn();
    let broken: unknown;
    try {
      await this.#take((signal) => this.#client.send(message, this.#outputModes, signal));
    } catch (error) {
      this.#work.signal.throwIfAborted();
      const isBroken = error === interruption || (isBreak(error) && !neverSent(error));
      if (!isBroken || (this.#updates === before && !wasAsked && error !== interruption))
        throw agentFailure(error, this.#parts, "the message", "message");
      broken = error;
    }
    if (this.#updates > before && (this.task.id !== "" || this.task.reply !== undefined)) return;
    if (!wasAsked)
      throw unknownTask(this.task.id, this.#parts, "its answer ended without a task or a message.", broken);
    await this.#recovered();
    if (this.task.isWaitingStill)
      throw unknownTask(this.task.id, this.#parts, "the answer to its question may not have arrived.", broken);
  }

  async #askAgent(signal: AbortSignal): Promise<void> {
    // Without an answer for so long the way to the agent is broken, whatever its socket says.
    const { clock } = this;
    const asked = (limited: AbortSignal) => this.#client.task(this.task.id, limited);
    this.#changed(this.task.adopt(await withinTime(requestMs, { clock, signal }, asked)));
  }

  /** Follows the task until it is settled: by its stream, or by asking for it. */
  async #follow(): Promise<void> {
    let waitMs = firstPollMs;
    while (this.#isActive) {
      const before = this.#progress;
      // Asked first: what is over cannot be subscribed to.
      await this.#recovered();
      if (this.#isActive && this.#canSubscribe) await this.#subscribe();
      if (!this.#isActive) return;
      waitMs = this.#progress > before ? firstPollMs : Math.min(maxPollMs, waitMs * 1.5);
      await this.#pause(waitMs);
    }
  }

  get #isActive(): boolean {
    const { task } = this;
    if (this.#isAuthorizing && task.state !== "auth-required") this.#isAuthorizing = false;
    return !task.isSettled || this.#isAuthorizing;
  }

  async #subscribe(): Promise<void> {
    try {
      await this.#take((signal) => this.#client.subscribe(this.task.id, signal));
    } catch (error) {
      // An agent that has no such stream now is asked.
      if (protocolReason(error) === undefined) this.#assertBroken(error);
      else this.#canSubscribe = false;
    }
  }

  /** Takes updates until the task is settled, or they end. @throws `interruption` */
  async #take(open: (signal: AbortSignal) => AsyncIterable<AgentUpdate>): Promise<void> {
    const stream = new AbortController();
    this.#stream = stream;
    try {
      const signal = AbortSignal.any([this.#work.signal, stream.signal]);
      for await (const update of open(signal)) {
        this.#changed(this.task.apply(update), update);
        if (!this.#isActive) return;
      }
    } finally {
      this.#stream = undefined;
      // A stream that is left must not go on behind.
      stream.abort(interruption);
    }
  }

  /** Asks for the task until there is an answer, as long as a break may last. @throws ToolkitError `OUTCOME_UNKNOWN`, `LIMIT_EXCEEDED` */
  async #recovered(): Promise<void> {
    const { resumeMs, recovering } = this.#parts;
    let brokenAt: number | undefined;
    try {
      for (let failures = 1; ; failures++) {
        try {
          return await this.#askAgent(this.#work.signal);
        } catch (error) {
          this.#assertBroken(error);
          const now = this.clock.now();
          if (brokenAt === undefined) recovering(1);
          brokenAt ??= now;
          if (now - brokenAt >= resumeMs) throw this.#lost(error);
          await this.#pause(100 + backoffDelay(failures, { baseMs: 200, maxMs: 2_000, random: Math.random }));
        }
      }
    } finally {
      if (brokenAt !== undefined) recovering(-1);
    }
  }

  /** @throws every error but that of a connection that is broken; the reason of `abort` */
  #assertBroken(error: unknown): void {
    this.#work.signal.throwIfAborted();
    if (ToolkitError.is(error, "LIMIT_EXCEEDED")) throw error;
    if (error !== interruption && !isBreak(error)) throw this.#lost(error);
  }

  #lost(error: unknown): ToolkitError {
    const failure = agentFailure(error, this.#parts, `the task ${this.task.id}`, "read");
    const why = failure instanceof Error ? failure.message : "the connection ended.";
    return unknownTask(this.task.id, this.#parts, why, failure);
  }

  /** Asks the person for what the task waits for. Undefined where nothing is to be sent: there is no answer, or it goes on by itself. */
  async #ask(): Promise<Message | undefined> {
    const { host, redactor } = this.#parts;
    const { task } = this;
    const isInput = task.state === "input-required";
    const request = isInput ? inputRequest(task) : authorizationRequest(task);
    if (host.elicit === undefined || request === undefined) return undefined;
    const options = { signal: this.#work.signal, context: this.#context };
    const answer = await host.elicit(redactor.described(request), options).catch((error: unknown) => {
      this.#work.signal.throwIfAborted();
      // The limit of questions, or a person who cannot be reached: the caller may go on by itself.
      if (ToolkitError.is(error)) return { action: "decline" as const, content: undefined };
      throw error;
    });
    if (answer.action !== "accept") return undefined;
    if (isInput)
      return answerMessage(String(answer.content?.answer ?? ""), { contextId: task.contextId, taskId: task.id });
    await this.#authorized();
    return task.isInterrupted && task.state === "input-required" ? this.#ask() : undefined;
  }

  /** Waits until the task goes on after an authorization, or the wait is too long. */
  async #authorized(): Promise<void> {
    const resume = callStateOf(this.#context)?.pauseTimeout();
    const timer = this.clock.setTimer(() => {
      this.#isAuthorizing = false;
      this.interrupt();
    }, authorizationMs);
    this.#isAuthorizing = true;
    try {
      await this.#follow();
    } finally {
      timer.cancel();
      resume?.();
    }
  }

  /** Reports what is new. */
  #changed(isNew: boolean, update?: AgentUpdate): void {
    const { task } = this;
    this.#updates += 1;
    if (task.foreign === 1 && !this.#isWarned) {
      this.#isWarned = true;
      const data = "It sent an update about another task than that of the call, which is ignored.";
      this.#parts.host.log({ level: "warning", logger: this.#parts.label, data }, this.#context);
    }
    if (!this.#known && task.id !== "") {
      this.#known = true;
      this.#parts.began(task);
    }
    if (!isNew || task.isTerminal || task.reply !== undefined) return;
    this.#progress += 1;
    const message =
      update?.$case === "artifactUpdate"
        ? `artifact ${update.value.artifact?.name || update.value.artifact?.artifactId}`
        : (task.state === "auth-required" ? authorizationText : messageText)(task.status) || task.state;
    // The context reports an error of a listener.
    this.#context
      .progress(this.#progress, undefined, this.#parts.redactor.described(message.slice(0, shownLength)))
      .catch(() => {});
  }

  #pause(delayMs: number): Promise<void> {
    return pause(delayMs, { clock: this.clock, signal: this.#work.signal });
  }
}

/** The reason of a stream that is left, or that may be dead. */
const interruption = new Error("the stream was silent for too long");
