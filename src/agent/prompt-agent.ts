import { wholeContext } from "../call/call-context.ts";
import { callStateOf } from "../call/call-port.ts";
import { wayWithin } from "../call/call-way.ts";
import type { InteractionContext } from "../core/delegate.ts";
import { ToolkitError } from "../core/error.ts";
import type { SampleRequest, SampleResult } from "../core/interaction.ts";
import type { CallContext, Entry, Toolbox } from "../core/item.ts";
import { assertOptionNames } from "../core/options.ts";
import type { Content } from "../core/resource.ts";
import type { ServedToolkit, SuspendedPrompt } from "../core/served-toolkit.ts";
import type { Session } from "../core/session.ts";
import type { Store } from "../core/store.ts";
import { withinDeadline } from "../core/within-deadline.ts";
import { RetryBudget } from "../lib/retry-budget.ts";
import { present } from "../lib/value.ts";
import { Toolkit } from "../toolkit/toolkit.ts";
import {
  type Agent,
  type Conversations,
  type ForgetOptions,
  forgetNames,
  type GenerateOptions,
  generateNames,
  type PromptCall,
  type ResumeOptions,
  type RunOptions,
  type RunToResume,
  resumeNames,
  runNames,
  type WaitingRun,
} from "./agent.ts";
import {
  type AgentOptions,
  type KnownLimits,
  type ParsedAgentOptions,
  parseAgentOptions,
  readLimits,
} from "./agent-options.ts";
import { type AgentStream, EventStream } from "./agent-stream.ts";
import { parseConversation } from "./conversation/conversation-messages.ts";
import { KeptConversations } from "./conversation/kept-conversations.ts";
import { toUiMessages, type UiMessage, waitingUiMessages } from "./conversation/ui-messages.ts";
import type { ModelCall } from "./model/model-call.ts";
import { Models } from "./model/models.ts";
import { sampled } from "./model/sampling.ts";
import { findResult, ownStoreOf, resultTemplate } from "./results/kept-results.ts";
import { type Assignment, prepareRun } from "./run/prepare-run.ts";
import type { RunResults } from "./run/run-results.ts";
import { type Conversation, conversationIn, newRunState } from "./run/run-state.ts";
import { type EarlierConversation, inlinePrompt, type Task, taskOf, textTask } from "./run/task.ts";
import type { WaitingTurn } from "./run/tool-turn.ts";
import { awaitedPrompt } from "./suspend/collect-outcomes.ts";
import { ResumeRun } from "./suspend/resume-run.ts";
import { pendingRun, suspendedRun } from "./suspend/suspended-run.ts";
import { Suspensions } from "./suspend/suspensions.ts";
import { waitingPart } from "./suspend/waiting-part.ts";

/**
 * Makes an agent.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an option out of its range, or an unknown one
 *
 * @example
 * ```ts
 * const toolkit = new Toolkit({ delegate: agent({ defaultModel: "anthropic/claude-sonnet-5" }) });
 * toolkit.add(...(await readPrompts("prompts")));
 * const summary = await toolkit.call("summarize", { text });
 * ```
 */
export function agent(options: AgentOptions = {}): Agent {
  return new PromptAgent(options);
}

function sessionOf(options: Pick<RunOptions, "session"> = {}): Session | undefined {
  assertOptionNames<Pick<RunOptions, "session">>(options, { session: true }, "of conversations");
  return options.session;
}

const noTurns: Conversation = { messages: [], toolCalls: 0 };

class PromptAgent implements Agent {
  readonly #models: Models;
  readonly #options: ParsedAgentOptions;
  readonly #budget: RetryBudget;
  readonly #suspensions: Suspensions;
  readonly #kept: KeptConversations;
  /** For runs outside of any toolkit. Without connectors and stores it holds nothing open, so it needs no end but that of the agent. */
  #own: Toolbox | undefined;
  /** By the `meta` of the answer: validation against an output schema may make another Content of it. */
  readonly #conversations = new WeakMap<object, Conversation>();

  constructor(options: AgentOptions) {
    const { models, defaultModel } = options;
    this.#options = parseAgentOptions(options);
    this.#models = new Models({ models, defaultModel });
    this.#budget = new RetryBudget(this.#options.clock);
    this.#suspensions = new Suspensions(this.#options.clock, this.#options.suspended);
    const { clock, conversations: limits } = this.#options;
    this.#kept = new KeptConversations({ clock, limits, isWaiting: (id) => this.#suspensions.isWaiting(id) });
  }

  attach(toolkit: ServedToolkit): void {
    this.#suspensions.attach(toolkit);
    toolkit.add(resultTemplate(toolkit.store, this.#options));
    const { rules } = this.#options;
    if (rules !== undefined) toolkit.checkPolicy(rules, "policy of an agent");
  }

  async sample(request: SampleRequest, { signal }: InteractionContext): Promise<SampleResult | undefined> {
    if (!this.#options.sampling) return undefined;
    return sampled(request, this.#models, this.#modelCall(signal));
  }

  async runPrompt(entry: Entry<"prompt">, input: unknown, outer: CallContext): Promise<Content> {
    const context = wholeContext(outer);
    const given = callStateOf(context)?.options.conversation;
    return this.#inConversation(given, context, async (before) =>
      this.#begin(await taskOf(entry, input, context, before), context, this.#options.limits, before),
    );
  }

  async generate(text: string, options: GenerateOptions = {}): Promise<Content> {
    const { toolbox, signal, session, meta, attachments, forced, timeoutMs, onEvent, output, conversation } = options;
    assertOptionNames(options, generateNames, "of generate");
    const limits = readLimits({ ...options, timeoutMs: undefined }, this.#options.limits);
    const prompt = inlinePrompt({ name: "generate", output }, (_input, context) =>
      this.#inConversation(conversation, context, async (before) =>
        this.#begin(await textTask(text, options, context, before), context, limits, before),
      ),
    );
    const call = present({ signal, session, meta, attachments, forced, timeoutMs, onEvent });
    return this.#toolbox(toolbox).call(prompt, {}, call);
  }

  stream(
    request: string | PromptCall | RunToResume,
    options: GenerateOptions | RunOptions | ResumeOptions = {},
  ): AgentStream {
    const id = typeof request === "object" && "resume" in request ? request.resume : undefined;
    const run = (given: AbortSignal, onEvent: RunOptions["onEvent"]) => {
      const signal = options.signal === undefined ? given : AbortSignal.any([options.signal, given]);
      const streamed = { ...options, signal, onEvent };
      if (typeof request === "string") return this.generate(request, streamed);
      return "resume" in request ? this.resume(request.resume, streamed) : this.#callPrompt(request, streamed);
    };
    return new EventStream(run, { clock: this.#options.clock, id });
  }

  async resume(id: string, options: ResumeOptions = {}): Promise<Content> {
    assertOptionNames(options, resumeNames, "of resume");
    return new ResumeRun(this.#suspensions, this.#run.bind(this)).resume(id, options);
  }

  async suspendedPrompt(id: string): Promise<SuspendedPrompt | undefined> {
    const found = await this.#suspensions.kept(id);
    const runs = new ResumeRun(this.#suspensions, this.#run.bind(this));
    return found && awaitedPrompt(found, this.#suspensions, runs.resume.bind(runs));
  }

  async suspended(options: Pick<RunOptions, "session"> = {}): Promise<readonly WaitingRun[]> {
    assertOptionNames(options, { session: true }, "of suspended");
    return this.#suspensions.list(options.session);
  }

  async forget(id: string, options: ForgetOptions = {}): Promise<void> {
    assertOptionNames(options, forgetNames, "of forget");
    return this.#suspensions.forget(id, options);
  }

  async readResult(uri: string, { session }: Pick<RunOptions, "session"> = {}): Promise<Content> {
    return findResult(uri, { session, stores: this.#stores, options: this.#options });
  }

  get conversations(): Conversations {
    return {
      get: async (id, options) => (await this.#kept.find(id, sessionOf(options), this.#stores))?.conversation,
      uiMessages: async (id, options) => this.#uiMessages(id, sessionOf(options)),
      list: async (options) => this.#kept.list(sessionOf(options), this.#stores),
      delete: async (id, options) => this.#kept.delete(id, sessionOf(options), this.#stores),
    };
  }

  conversationOf(answer: Content): Conversation | undefined {
    return answer.meta === undefined ? undefined : this.#conversations.get(answer.meta);
  }

  async #callPrompt({ prompt, input }: PromptCall, options: RunOptions): Promise<Content> {
    assertOptionNames(options, runNames, "of a run");
    const { toolbox, ...call } = options;
    return this.#toolbox(toolbox).call(prompt as string, input, present(call));
  }

  async #uiMessages(id: string, session: Session | undefined): Promise<UiMessage[]> {
    const found = await this.#kept.find(id, session, this.#stores);
    if (found === undefined) return [];
    const { conversation, waitsFor } = found;
    const waiting = waitsFor === undefined ? undefined : await this.#suspensions.waiting(waitsFor);
    return waiting === undefined ? toUiMessages(conversation) : waitingUiMessages(await waitingPart(waiting));
  }

  /** Runs in the conversation that is given, or that the store has under this id. */
  async #inConversation(
    given: unknown,
    context: CallContext,
    run: (before: EarlierConversation) => Promise<Content>,
  ): Promise<Content> {
    if (typeof given !== "string")
      return run({ conversation: given === undefined ? noTurns : parseConversation(given) });
    const store = this.#suspensions.toolkitOf(context)?.store ?? this.#ownStore;
    const session = callStateOf(context)?.givenSession;
    return this.#kept.open(given, { store, session }, run);
  }

  get #stores(): readonly Store[] {
    return [...this.#suspensions.stores, this.#ownStore];
  }

  get #ownStore(): Store {
    return ownStoreOf(this.#options, this.#options.clock);
  }

  /** Executes a task from its first step. */
  async #begin(
    given: Task,
    context: CallContext,
    limits: KnownLimits,
    { conversation }: EarlierConversation,
  ): Promise<Content> {
    const state = newRunState(given.messages, conversation.toolCalls);
    const toolkit = this.#suspensions.toolkitOf(context);
    const suspend = async (kept: ServedToolkit, turn: WaitingTurn, results: RunResults): Promise<never> => {
      const { ownTools = [], output, thread } = given;
      const waiting = { store: kept.store, waitsFor: state.id };
      const task = { ...given, thread: thread && (await this.#kept.save(conversation, thread, waiting)) };
      const isLocal = callStateOf(context)?.isConfined === true || ownTools.length > 0;
      const { now } = this.#suspensions;
      const run = suspendedRun({
        ...{ task, state, results, turn, limits, isLocal, now },
        ...{ caller: context, via: wayWithin(context) },
      });
      await this.#suspensions.suspend(run, { toolbox: context.toolbox, ownTools, output }, kept);
      throw pendingRun(run);
    };
    const store = toolkit?.store;
    const assignment = { task: given, state, store, limits, suspend: toolkit && suspend.bind(undefined, toolkit) };
    return this.#run(assignment, context);
  }

  /** Executes a run: from its first step, or from the turn that waited. */
  async #run(assignment: Assignment, context: CallContext): Promise<Content> {
    const { task, state, limits, lost, resumed } = assignment;
    const { clock } = this.#options;
    const { timeoutMs } = limits;
    const signal = lost === undefined ? context.signal : AbortSignal.any([context.signal, lost]);
    const deadline = {
      what: `The run of ${task.ref}`,
      limit: "timeoutMs of the agent",
      signal,
      clock,
      timeoutMs,
    };
    const content = await withinDeadline(deadline, async (ending) => {
      const chosen = await this.#models.choose(present({ provider: task.provider, model: task.model }));
      const call = this.#modelCall(ending);
      const run = await prepareRun({ ...assignment, context, chosen, options: this.#options, call });
      return resumed === undefined ? run.execute() : run.goOn(resumed.turn, resumed.outcomes);
    });
    const conversation = conversationIn(state);
    const { thread } = task;
    if (thread !== undefined)
      await this.#kept.save(conversation, thread, { store: assignment.store ?? this.#ownStore });
    if (content.meta !== undefined) this.#conversations.set(content.meta, conversation);
    return content;
  }

  #modelCall(signal: AbortSignal): ModelCall {
    const { clock, random, retries } = this.#options;
    return { signal, clock, random, budget: this.#budget, ...retries };
  }

  /** The toolbox of a run without one: the only toolkit that the agent is the delegate of, else one of the agent's own. */
  #toolbox(given: Toolbox | undefined): Toolbox {
    const served = given ?? this.#suspensions.only?.toolbox;
    if (served !== undefined) return served;
    if (this.#suspensions.servesSeveral) {
      const message = "The option toolbox must name a toolkit: the agent is the delegate of several.";
      throw new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "/toolbox", message }] });
    }
    this.#own ??= new Toolkit({ clock: this.#options.clock });
    return this.#own;
  }
}
