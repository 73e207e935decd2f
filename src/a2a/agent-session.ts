import { wholeContext } from "../call/call-context.ts";
import { callStateOf } from "../call/call-port.ts";
import type { ServerInfo } from "../core/connection.ts";
import type { ConnectorHost, ConnectorSession, DescriptorList } from "../core/connector.ts";
import type { ReadConnectorLimits } from "../core/connector-limits.ts";
import { ToolkitError, toError } from "../core/error.ts";
import type { CallContext, Kind } from "../core/item.ts";
import type { Content, ReadOptions } from "../core/resource.ts";
import { withinTime } from "../lib/backoff.ts";
import type { Clock } from "../lib/clock.ts";
import type { LruCache } from "../lib/lru-cache.ts";
import { abortable, PendingWork } from "../lib/promise.ts";
import { present } from "../lib/value.ts";
import { fetchCard } from "./agent-card.ts";
import { agentFailure, type FailingAgent, isBreak, protocolReason, unknownTask } from "./agent-failure.ts";
import { type AgentProfile, clientFor, type ProfileParts, readProfile } from "./agent-profile.ts";
import type { AgentClient } from "./agent-sdk.ts";
import { firstMessage, type NamedSkill, parseSkillInput, type SkillInput, toolList } from "./skills.ts";
import { artifactContent, artifactTemplate, parseArtifactUri, taskContent } from "./task-result.ts";
import { TaskRun } from "./task-run.ts";

/** The parts of a session with an agent. */
export interface AgentSessionParts {
  readonly profile: AgentProfile;
  readonly profiles: ProfileParts;
  readonly host: ConnectorHost;
  readonly limits: ReadConnectorLimits;
  readonly resumeMs: number;
  /** The principals of the tasks and contexts of all sessions of the connector, by id. */
  readonly owners: LruCache<string>;
  /** Aborted when the session has ended. */
  readonly lifetime: AbortController;
}

/** The longest wait until a card is there, while tasks are running. */
const patienceMs = 1_500;
/** The longest wait until a task that is to be canceled is known, and until it is canceled. */
const cancelMs = 2_000;

/** A session with an agent: its skills as tools, its artifacts as resources. It has no connection of its own, and lasts while the agent answers. */
export class AgentSession implements ConnectorSession {
  readonly server: ServerInfo;
  readonly transport: string;
  readonly list: ConnectorSession["list"];
  readonly announces: ReadonlySet<Kind> = new Set();
  /** Longer than that of a connection: each ping is a request for the card, and a call that fails asks for it at once. */
  readonly silenceMs = 60_000;
  readonly closed: Promise<Error | undefined>;
  readonly #end: (error: Error | undefined) => void;
  readonly #parts: AgentSessionParts;
  readonly #failing: FailingAgent;
  readonly #runs = new Set<TaskRun>();
  readonly #canceling = new PendingWork();
  #profile: AgentProfile;
  /** The profile was read for the first list. */
  #isFresh = true;
  #recovering = 0;
  #received = 0;

  constructor(parts: AgentSessionParts) {
    const { profile, profiles } = parts;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    const { redactor } = profiles.http.endpoint;
    this.#parts = parts;
    this.#profile = profile;
    this.closed = promise;
    this.#end = resolve;
    this.server = redactor.described(serverOf(profile));
    this.transport = `a2a-${profile.chosen.protocolBinding.toLowerCase()}`;
    this.#failing = { label: profiles.rules.label, agent: this.server.name, redactor };
    this.list = { tool: (options) => this.#tools(options), template: async () => artifactTemplates };
  }

  /** Something came from the agent. */
  noteReceived(): void {
    this.#received += 1;
  }

  received(): number {
    return this.#received;
  }

  /** Asks for the card: any answer is a sign of life, and a changed one changes the tools. */
  async ping({ signal }: ReadOptions): Promise<void> {
    // A task whose connection is broken has a limit of its own, and is not to be ended before.
    if (this.#recovering > 0) return;
    const { profiles, host } = this.#parts;
    const { http, sdk } = profiles;
    const known = this.#profile.fetched;
    // The agent may be back by the time that a call begins during this: it says nothing of that one's stream.
    const earlier = [...this.#runs];
    const [running] = earlier;
    const reading = fetchCard(http, sdk, { known, signal: signal ?? this.#parts.lifetime.signal });
    try {
      const read = running === undefined ? await reading : await within(reading, patienceMs, running.clock);
      if (read === undefined) interrupt(earlier);
      else if (read !== known) host.changed({ kind: "tool" });
    } catch (error) {
      if (signal?.aborted || !isBreak(error)) return;
      if (this.#runs.size > 0) interrupt(earlier);
      else this.#end(toError(agentFailure(error, this.#failing, "the request for its card", "card")));
    }
  }

  async call(name: string, input: unknown, given: CallContext): Promise<Content> {
    const context = wholeContext(given);
    const skill = this.#profile.skills.find((each) => each.name === name);
    if (skill === undefined) throw noSkill(name, this.#profile.skills, this.server.name);
    const parsed = parseSkillInput(name, input);
    for (const id of [parsed.taskId, parsed.contextId]) this.#assertOwn(id, context);
    return this.#call(skill, parsed, context);
  }

  /** Reads an artifact of a task. */
  async read(uri: string, given: CallContext | ReadOptions): Promise<Content> {
    const ids = parseArtifactUri(uri);
    if (ids === undefined) throw noArtifact(uri, this.server.name);
    const context = wholeContext(given);
    this.#assertOwn(ids.taskId, "session" in context ? context : undefined, uri);
    const client = await clientFor(this.#parts.profiles, this.#profile, callStateOf(context));
    const signal = context.signal ?? this.#parts.lifetime.signal;
    const task = await client.task(ids.taskId, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      if (protocolReason(error) === "TASK_NOT_FOUND") throw noArtifact(uri, this.server.name, error);
      throw agentFailure(error, this.#failing, `the request for ${uri}`, "read");
    });
    const artifact = task.artifacts.find(({ artifactId }) => artifactId === ids.artifactId);
    if (artifact === undefined || task.id !== ids.taskId) throw noArtifact(uri, this.server.name);
    return artifactContent(artifact, ids.taskId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end(undefined);
    for (const run of this.#runs) run.abort(unknownTask(run.task.id, this.#failing, "the connection was closed."));
    // Bounded: each has its limit.
    await this.#canceling.settled();
    this.#parts.lifetime.abort(new Error("The connection has ended."));
  }

  async #tools({ signal }: ReadOptions): Promise<DescriptorList<"tool">> {
    const { profiles, limits, lifetime } = this.#parts;
    if (this.#isFresh) this.#isFresh = false;
    else {
      const { chosen } = this.#profile;
      const read = await readProfile(profiles, signal ?? lifetime.signal, this.#profile).catch((error: unknown) => {
        throw signal?.aborted ? signal.reason : agentFailure(error, this.#failing, "the request for its card", "card");
      });
      if (read.chosen.url !== chosen.url || read.chosen.protocolBinding !== chosen.protocolBinding)
        this.#end(new Error("its card names another interface now"));
      this.#profile = read;
    }
    return toolList(this.#profile.skills, limits.maxListSize);
  }

  async #call(skill: NamedSkill, input: SkillInput, context: CallContext): Promise<Content> {
    const { profiles, limits, host, resumeMs } = this.#parts;
    const { signal, attachments } = context;
    const message = await firstMessage(skill, input, { attachments, signal, maxBytes: limits.maxMessageBytes });
    const client = await clientFor(profiles, this.#profile, callStateOf(context));
    signal.throwIfAborted();
    const identified = Promise.withResolvers<void>();
    const run = new TaskRun(
      {
        ...this.#failing,
        ...{ host, limits, resumeMs, streams: this.#profile.card.capabilities?.streaming === true },
        recovering: (change) => {
          this.#recovering += change;
        },
        began: ({ id, contextId }) => {
          for (const each of [id, contextId]) if (each !== "") this.#parts.owners.set(each, ownerOf(context));
          identified.resolve();
        },
      },
      client,
      { context, outputModes: skill.outputModes, taskId: input.taskId },
    );
    this.#runs.add(run);
    const running = run.run(message).finally(() => {
      this.#runs.delete(run);
      identified.resolve();
    });
    try {
      const task = await abortable(running, signal);
      if (task.contextId !== "") this.#parts.owners.set(task.contextId, ownerOf(context));
      return taskContent(task, { name: skill.name, agent: this.server.name, redactor: this.#failing.redactor });
    } catch (error) {
      if (signal.aborted || ToolkitError.is(error, "LIMIT_EXCEEDED"))
        this.#canceling.add(this.#cancel(run, client, { identified: identified.promise, reason: error }));
      // Whether the agent is still there shows now, and not with the next ping.
      if (ToolkitError.is(error, "UNAVAILABLE") || ToolkitError.is(error, "OUTCOME_UNKNOWN")) void this.ping({});
      throw error;
    }
  }

  /** Has the agent cancel a task whose call is over. The task may be known only when its first answer comes. */
  async #cancel(
    run: TaskRun,
    client: AgentClient,
    { identified, reason }: { readonly identified: Promise<void>; readonly reason: unknown },
  ): Promise<void> {
    const { task, clock } = run;
    if (task.id === "") await within(identified, cancelMs, clock);
    run.abort(reason);
    if (task.id === "" || task.isTerminal || task.reply !== undefined) return;
    await withinTime(cancelMs, { clock }, (signal) => client.cancel(task.id, signal)).catch((error: unknown) => {
      // It may have ended by itself.
      if (protocolReason(error) !== undefined) return;
      const data = `The task ${task.id} was not canceled: ${toError(agentFailure(error, this.#failing, "its cancellation", "read")).message}`;
      this.#parts.host.log({ level: "warning", logger: this.#failing.label, data });
    });
  }

  /** An id that another principal has got is unknown to every other one. @throws ToolkitError `NOT_FOUND` */
  #assertOwn(id: string, context: CallContext | undefined, uri?: string): void {
    const owner = id === "" ? undefined : this.#parts.owners.get(id);
    if (owner === undefined || owner === ownerOf(context)) return;
    if (uri !== undefined) throw noArtifact(uri, this.server.name);
    const message = `${this.server.name} has no task or conversation ${id} of this caller.`;
    throw new ToolkitError("NOT_FOUND", message, { key: id, suggestions: [] });
  }
}

const artifactTemplates: DescriptorList<"template"> = {
  items: [
    {
      name: "artifact",
      uriTemplate: artifactTemplate,
      description: "An artifact of a task, as long as the agent keeps it. The results of calls have the URIs.",
    },
  ],
  warnings: [],
};

function serverOf({ card, chosen, isExtended }: AgentProfile): ServerInfo {
  const { name, version, description, capabilities, provider } = card;
  const title = provider?.organization;
  return {
    name,
    ...present({ version: version || undefined, description: description || undefined, title: title || undefined }),
    protocolVersion: chosen.protocolVersion || "0.3",
    capabilities: { tools: {}, resources: {}, a2a: { streaming: capabilities?.streaming === true, isExtended } },
  };
}

function ownerOf(context: CallContext | undefined): string {
  const principal = context?.session.principal;
  return principal === undefined ? "" : `principal ${principal}`;
}

/** The value, or undefined where it takes too long. Its rejection later on is ignored. */
async function within<T>(value: Promise<T>, limitMs: number, clock: Clock): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = clock.setTimer(() => late.resolve(undefined), limitMs);
  timer.keepAlive(true);
  value.catch(() => {});
  try {
    return await Promise.race([value, late.promise]);
  } finally {
    timer.cancel();
  }
}

function noSkill(name: string, skills: readonly NamedSkill[], agent: string): ToolkitError<"NOT_FOUND"> {
  const suggestions = skills.slice(0, 5).map((skill) => skill.name);
  return new ToolkitError("NOT_FOUND", `${agent} no longer has the skill ${name}.`, { key: name, suggestions });
}

function noArtifact(uri: string, agent: string, cause?: unknown): ToolkitError<"NOT_FOUND"> {
  return new ToolkitError("NOT_FOUND", `${agent} has no artifact ${uri}.`, { key: uri, suggestions: [] }, { cause });
}

function interrupt(runs: readonly TaskRun[]): void {
  for (const run of runs) run.interrupt();
}
