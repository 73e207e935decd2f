import { wholeContext } from "../call/call-context.ts";
import { callStateOf } from "../call/call-port.ts";
import type { InteractionContext } from "../core/delegate.ts";
import { ToolkitError } from "../core/error.ts";
import type { SampleRequest, SampleResult } from "../core/interaction.ts";
import type { CallContext, Entry, Toolbox } from "../core/item.ts";
import { assertOptionNames } from "../core/options.ts";
import type { Content } from "../core/resource.ts";
import type { ServedToolkit } from "../core/served-toolkit.ts";
import { RetryBudget } from "../lib/retry-budget.ts";
import { present } from "../lib/value.ts";
import { loneToolbox } from "../toolkit/lone-toolbox.ts";
import type {
  Agent,
  ForgetOptions,
  GenerateOptions,
  PromptCall,
  ResumeOptions,
  RunOptions,
  WaitingRun,
} from "./agent.ts";
import {
  type AgentOptions,
  type KnownLimits,
  type ReadAgentOptions,
  readAgentOptions,
  readLimits,
} from "./agent-options.ts";
import { type AgentStream, EventStream } from "./agent-stream.ts";
import { type Conversation, userText } from "./conversation.ts";
import { generateNames } from "./generate-names.ts";
import { inlinePrompt } from "./inline-prompt.ts";
import type { ModelCall } from "./model/model-call.ts";
import { Models } from "./model/models.ts";
import type { AgentRun } from "./run/agent-run.ts";
import { modelMessages } from "./run/model-message.ts";
import { type Assignment, prepareRun } from "./run/prepare-run.ts";
import { withinDeadline } from "./run/run-deadline.ts";
import { conversationIn, newRunState } from "./run/run-state.ts";
import { nothingAsked, type Task, taskOf } from "./run/task.ts";
import { sampled } from "./sampling.ts";
import { ResumeRun } from "./suspend/resume-run.ts";
import { pendingRun, suspendedRun } from "./suspend/suspended-run.ts";
import { Suspensions } from "./suspend/suspensions.ts";

/**
 * Makes an agent.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an option out of its range, or one there is not
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

class PromptAgent implements Agent {
  readonly #models: Models;
  readonly #options: ReadAgentOptions;
  readonly #budget: RetryBudget;
  readonly #suspensions: Suspensions;
  #lone: Toolbox | undefined;
  /** By the meta of the answer: an output schema may make another Content of it. */
  readonly #conversations = new WeakMap<object, Conversation>();

  constructor(options: AgentOptions) {
    const { models, defaultModel } = options;
    this.#options = readAgentOptions(options);
    this.#models = new Models({ models, defaultModel });
    this.#budget = new RetryBudget(this.#options.clock);
    this.#suspensions = new Suspensions(this.#options.clock, this.#options.suspended);
  }

  attach(toolkit: ServedToolkit): void {
    this.#suspensions.attach(toolkit);
  }

  async sample(request: SampleRequest, { signal }: InteractionContext): Promise<SampleResult | undefined> {
    if (!this.#options.sampling) return undefined;
    return sampled(request, this.#models, this.#modelCall(signal));
  }

  async runPrompt(entry: Entry<"prompt">, input: unknown, given: CallContext): Promise<Content> {
    const context = wholeContext(given);
    return this.#begin(await taskOf(entry, input, context), context, this.#options.limits, 0);
  }

  generate(text: string, options: GenerateOptions = {}): Promise<Content> {
    return this.#generate(text, options);
  }

  stream(request: string | PromptCall, options: GenerateOptions | RunOptions = {}): AgentStream {
    return new EventStream((given, onEvent) => {
      const signal = options.signal === undefined ? given : AbortSignal.any([options.signal, given]);
      const heard = { ...options, signal, onEvent };
      if (typeof request === "string") return this.#generate(request, heard);
      return this.#callPrompt(request, heard);
    });
  }

  async resume(id: string, options: ResumeOptions = {}): Promise<Content> {
    return new ResumeRun(this.#suspensions, this.#run.bind(this)).resume(id, options);
  }

  suspended({ session }: Pick<RunOptions, "session"> = {}): Promise<readonly WaitingRun[]> {
    return this.#suspensions.list(session);
  }

  forget(id: string, options: ForgetOptions = {}): Promise<void> {
    return this.#suspensions.forget(id, options);
  }

  conversationOf(answer: Content): Conversation | undefined {
    return answer.meta === undefined ? undefined : this.#conversations.get(answer.meta);
  }

  async #callPrompt({ prompt, input }: PromptCall, options: RunOptions): Promise<Content> {
    const { toolbox, ...call } = options;
    return this.#toolbox(toolbox).call(prompt as string, input, present(call));
  }

  async #generate(text: string, options: GenerateOptions): Promise<Content> {
    const { toolbox, signal, session, meta, attachments, timeoutMs, onEvent, conversation } = options;
    assertOptionNames(options, generateNames, "of generate");
    const limits = readLimits({ ...options, timeoutMs: undefined }, this.#options.limits);
    const tools = options.tools ?? [];
    const { output, system, model, provider, thinking, thinkingBudget, settings } = options;
    const run = async (_input: unknown, context: CallContext) => {
      const said = userText(text);
      const attached = await modelMessages([{ role: "user", content: context.attachments }], context);
      const [first] = attached;
      if (said.role === "user" && first?.role === "user") said.content.push(...first.content);
      if (text.trim() === "" && said.content.length === 1) throw nothingAsked("The text");
      const task: Task = {
        ref: "inline.generate",
        name: "generate",
        messages: [...(conversation?.messages ?? []), said],
        tools: tools.filter((tool) => typeof tool === "string"),
        ownTools: tools.filter((tool) => typeof tool !== "string"),
        ...{ output, system, model, provider, thinking, thinkingBudget, settings },
      };
      return this.#begin(task, context, limits, conversation?.toolCalls ?? 0);
    };
    const call = present({ signal, session, meta, attachments, timeoutMs, onEvent });
    return this.#toolbox(toolbox).call(inlinePrompt({ name: "generate", output }, run), {}, call);
  }

  /** Executes a task from its beginning. */
  async #begin(task: Task, context: CallContext, limits: KnownLimits, toolCalls: number): Promise<Content> {
    const state = newRunState(task.messages, toolCalls);
    const toolkit = this.#suspensions.toolkitOf(context);
    const isLocal = callStateOf(context)?.isConfined === true || (task.ownTools?.length ?? 0) > 0;
    const suspend =
      (kept: ServedToolkit): Assignment["suspend"] =>
      async (turn, results) => {
        const { now } = this.#suspensions;
        const run = suspendedRun({ task, state, results, turn, limits, isLocal, now, caller: context });
        const { ownTools, output } = task;
        await this.#suspensions.suspend(run, { toolbox: context.toolbox, ownTools, output }, kept);
        throw pendingRun(run);
      };
    const assignment = { task, state, limits, suspend: toolkit === undefined ? undefined : suspend(toolkit) };
    return this.#run(assignment, context, (run) => run.execute());
  }

  async #run(assignment: Assignment, context: CallContext, go: (run: AgentRun) => Promise<Content>): Promise<Content> {
    const { task, state, limits, lost } = assignment;
    const { clock } = this.#options;
    const { timeoutMs } = limits;
    const signal = lost === undefined ? context.signal : AbortSignal.any([context.signal, lost]);
    const deadline = { ref: task.ref, signal, clock, timeoutMs };
    const content = await withinDeadline(deadline, async (ending) => {
      const chosen = await this.#models.choose(present({ provider: task.provider, model: task.model }));
      const call = this.#modelCall(ending);
      return go(await prepareRun({ ...assignment, context, chosen, options: this.#options, call }));
    });
    if (content.meta !== undefined) this.#conversations.set(content.meta, conversationIn(state));
    return content;
  }

  #modelCall(signal: AbortSignal): ModelCall {
    const { clock, random, patience } = this.#options;
    return { signal, clock, random, budget: this.#budget, ...patience };
  }

  /** Where a run is made that says nothing of it: in the toolkit the agent serves, or in none. */
  #toolbox(given: Toolbox | undefined): Toolbox {
    const served = given ?? this.#suspensions.only?.toolbox;
    if (served !== undefined) return served;
    if (this.#suspensions.servesSeveral) {
      const message = "The option toolbox must say where to run: the agent serves several toolkits.";
      throw new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "/toolbox", message }] });
    }
    this.#lone ??= loneToolbox({ clock: this.#options.clock, isTraced: true });
    return this.#lone;
  }
}
