import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { callStateOf } from "../../call/call-port.ts";
import { observersOf } from "../../call/observers.ts";
import { tracedModel } from "../../call/trace/model-trace.ts";
import type { AgentSource } from "../../core/agent-event.ts";
import { ToolkitError } from "../../core/error.ts";
import type { Issue } from "../../core/error-catalog.ts";
import type { CallContext } from "../../core/item.ts";
import { outputToolName } from "../../core/output-tool.ts";
import type { Content } from "../../core/resource.ts";
import { describeIssues } from "../../core/schema/violation.ts";
import type { Clock } from "../../lib/clock.ts";
import { jsonContent } from "../../resource/content.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import type { KnownLimits } from "../agent-options.ts";
import { chosenHistory, type HistoryHook } from "../conversation/history.ts";
import { ask, type StreamListener } from "../model/ask-model.ts";
import type { ModelCall, ModelQuestion } from "../model/model-call.ts";
import { type ChosenModel, modelRefOf } from "../model/models.ts";
import { assertAnswered, countCalls, type Reply, sourceOf, textIn, toMessage, withoutCalls } from "../model/reply.ts";
import { modelRequest, type StepRequest } from "./model-request.ts";
import { answerOf, type Ending, type StructuredForm, textAnswer } from "./run-answer.ts";
import { type ModelPrice, type RunState, repairRequest, usageOf } from "./run-state.ts";
import { resumeTurn, runTurn, type TurnOutcome, type TurnParts, type WaitingTurn } from "./tool-turn.ts";

/** So many calls one answer may have, however few a run may make: those beyond `maxToolCalls` are refused one by one. */
const minCallsOfAnswer = 128;
/** Limit of the last text of a model in an error, in characters. */
const maxText = 2_000;

/** The parts of a run. */
export interface RunParts extends Omit<TurnParts, "canWait" | "spending"> {
  readonly name: string;
  readonly chosen: ChosenModel;
  readonly question: Omit<StepRequest, "messages" | "tools">;
  readonly form: StructuredForm | undefined;
  readonly price: ModelPrice | undefined;
  readonly history: HistoryHook | undefined;
  /** The number of messages of earlier runs. */
  readonly earlier: number;
  readonly call: ModelCall;
  readonly clock: Clock;
  readonly context: CallContext;
  /** Stores a run that waits, and throws `PENDING`; undefined where it cannot be suspended. */
  readonly suspend: ((turn: WaitingTurn) => Promise<never>) | undefined;
}

/** One run of a model with its tools: step after step until there is an answer. */
export class AgentRun {
  readonly #parts: RunParts;
  readonly #turn: TurnParts;

  constructor(parts: RunParts) {
    const { events, suspend } = parts;
    const spending = {
      spend: events.usedInside.bind(events),
      assertLeft: () => this.#assertBudget(),
    };
    this.#parts = parts;
    this.#turn = { ...parts, spending, canWait: suspend !== undefined };
  }

  /**
   * Asks the model and makes its calls until it answers.
   *
   * @throws ToolkitError `STEP_LIMIT`, `LIMIT_EXCEEDED`, `MODEL_FAILED`, `INVALID_OUTPUT`, `PENDING`; the reason of an abort
   */
  async execute(): Promise<Content> {
    const { state, limits } = this.#parts;
    for (let text = ""; ; ) {
      if (state.steps.length >= limits.maxSteps) throw stepLimit(limits.maxSteps, text, state);
      this.#assertBudget();
      const reply = await this.#ask();
      const ending = await this.#settle(reply);
      if (ending !== undefined) return this.#finish(ending);
      text = textIn(reply);
    }
  }

  /** Continues after a turn whose calls had to wait, with their answers. */
  async goOn(turn: WaitingTurn, outcomes: readonly ToolAnswer[]): Promise<Content> {
    const ending = await this.#afterTurn(await resumeTurn(turn, outcomes, this.#turn));
    return ending === undefined ? this.execute() : this.#finish(ending);
  }

  /** @throws ToolkitError `LIMIT_EXCEEDED` where the budget of this run, or of one around it, is spent */
  #assertBudget(): void {
    const { state, limits, events } = this.#parts;
    assertBudgetLeft(state, limits);
    events.outer?.assertLeft();
  }

  async #ask(): Promise<Reply> {
    const { chosen, question, state, tools, clock, price, events, context } = this.#parts;
    const step = state.steps.length;
    const messages = await this.#history(step);
    const request = modelRequest({ ...question, messages, tools: tools?.port });
    const listener = events.deltasOf(step);
    const beganAt = clock.now();
    const { provider, modelId: model } = chosen;
    const stream = listener !== undefined;
    const asked = { provider, model, settings: question.settings, stream, input: request.prompt };
    const { reply, finishReason, usage } = await tracedModel(context, asked, async () => {
      const answer = await this.#answerTo(request, step, listener);
      const { finishReason: reason, content: output } = answer;
      return { reply: answer, finishReason: reason, usage: usageOf(answer.usage, price), output };
    });
    const taken = { step, provider, model, finishReason, usage, durationMs: clock.now() - beganAt };
    state.steps.push(taken);
    await events.emit("step", taken);
    await events.used(usage);
    return reply;
  }

  /** The answer of the model, or of one that observes the toolkit in its place: that is emitted in one piece. */
  async #answerTo(request: ModelQuestion, step: number, listener: StreamListener | undefined): Promise<Reply> {
    const { chosen, limits, call, context, events, state, tools } = this.#parts;
    const options = { call, maxOutputBytes: limits.maxOutputBytes, listener };
    const caller = callStateOf(context);
    const observers = observersOf(caller);
    if (observers === undefined) return ask(chosen, request, options);
    let isAsked = false;
    const { provider, modelId: model } = chosen;
    const turn = {
      ...{ call: caller?.call, run: state.id, ref: events.ref, step, provider, model, api: chosen.model.provider },
      ...{ request: { ...request }, offered: tools?.set.tools.map(({ entry }) => entry) ?? [] },
    };
    const reply = await observers.turn(turn, () => {
      isAsked = true;
      return ask(chosen, request, options);
    });
    if (isAsked || listener === undefined) return reply;
    for (const part of reply.content) {
      if (part.type === "text") await listener.text(part.text);
      else if (part.type === "reasoning") await listener.reasoning(part.text);
    }
    return reply;
  }

  /** The part of the conversation that the model is sent. */
  async #history(step: number): Promise<LanguageModelV4Prompt> {
    const { history, state, chosen, earlier, call } = this.#parts;
    if (history === undefined) return state.messages;
    return chosenHistory(history, state.messages, {
      model: modelRefOf(chosen),
      step,
      current: earlier,
      signal: call.signal,
    });
  }

  /** Makes the calls of a reply, or gives the answer that it is. */
  async #settle(reply: Reply): Promise<Ending | undefined> {
    assertAnswered(reply, this.#parts.chosen);
    const count = countCalls(reply);
    const most = Math.max(this.#parts.limits.maxToolCalls, minCallsOfAnswer);
    if (count > most) return this.#refuse(reply, `Your answer had ${count} tool calls, and may have ${most} at most.`);
    const { message, calls } = toMessage(reply);
    for (const part of reply.content) if (part.type === "source") await this.#nameSource(sourceOf(part));
    if (message.content.length > 0) this.#parts.state.messages.push(message);
    if (calls.length === 0) return this.#answer(reply);
    return this.#afterTurn(await runTurn(calls, this.#turn));
  }

  /** Makes none of the calls, which are no part of the conversation either: each would be sent with each further step. */
  async #refuse(reply: Reply, reason: string): Promise<undefined> {
    const { state, events } = this.#parts;
    const { message } = toMessage(withoutCalls(reply));
    if (message.content.length > 0) state.messages.push(message);
    state.messages.push(repairRequest(`${reason} None of them was made. Make fewer.`));
    await events.emit("repair", { step: state.steps.length - 1, reason });
  }

  async #nameSource(source: AgentSource): Promise<void> {
    const { state, events } = this.#parts;
    if (state.sources.some(({ id, url }) => id === source.id && url === source.url)) return;
    state.sources.push(source);
    await events.emit("source", { step: state.steps.length - 1, ...source });
  }

  async #answer(reply: Reply): Promise<Ending | undefined> {
    const { form, name, tools } = this.#parts;
    const { finishReason } = reply;
    if (form === undefined) {
      const content = textAnswer(reply, name);
      if (content !== undefined) return { content, finishReason };
      return this.#repair([{ pointer: "", message: "is empty" }], "Your answer was empty. Answer now.");
    }
    const answer = await form.parse(reply.structuredText ?? textIn(reply));
    if (answer.issues === undefined) return { content: jsonContent(answer.value, { name }), finishReason };
    if (finishReason === "length")
      throw invalidAnswer([{ pointer: "", message: "was truncated at the token limit of an answer" }], 0);
    const how =
      tools === undefined
        ? "Answer again, with nothing but JSON that fits the schema."
        : `Give the answer by calling ${outputToolName}.`;
    return this.#repair(answer.issues, `Your answer does not fit: ${describeIssues(answer.issues)}. ${how}`);
  }

  /** Asks the model to answer again. @throws ToolkitError `INVALID_OUTPUT` after the last repair */
  async #repair(issues: readonly Issue[], request: string): Promise<undefined> {
    await this.#countRepair(issues);
    this.#parts.state.messages.push(repairRequest(request));
  }

  async #countRepair(issues: readonly Issue[]): Promise<void> {
    const { state, limits } = this.#parts;
    if (state.repairs >= limits.maxRepairs) throw invalidAnswer(issues, state.repairs);
    state.repairs += 1;
    await this.#parts.events.emit("repair", { step: state.steps.length - 1, reason: describeIssues(issues) });
  }

  async #afterTurn({ final, waiting, refused }: TurnOutcome): Promise<Ending | undefined> {
    const { suspend, events, state } = this.#parts;
    if (waiting !== undefined && suspend !== undefined) {
      await events.emit("suspended", { id: state.id });
      return suspend(waiting);
    }
    if (final !== undefined) return { content: final, finishReason: "control" };
    if (refused !== undefined) await this.#countRepair(refused);
    return undefined;
  }

  async #finish({ content, finishReason }: Ending): Promise<Content> {
    const { state, chosen, name, tools, events } = this.#parts;
    await events.emit("finish", { finishReason, steps: state.steps.length, usage: state.usage });
    return answerOf({ content, finishReason }, { state, chosen, name, evaluations: tools?.run.evaluations ?? [] });
  }
}

/** The error of a run with too many steps, with the last text and the number of tool calls. */
function stepLimit(maxSteps: number, text: string, { calls }: RunState): ToolkitError<"STEP_LIMIT"> {
  const toolCalls = calls.length;
  const message = `The run was ended after ${maxSteps} steps without an answer; it made ${toolCalls} tool calls. Raise maxSteps, or ask for less at once.`;
  return new ToolkitError("STEP_LIMIT", message, {
    maxSteps,
    reached: { text: text.slice(0, maxText), toolCalls },
  });
}

/**
 * Refuses a further step once the budget is spent.
 *
 * @throws ToolkitError `LIMIT_EXCEEDED`
 */
function assertBudgetLeft({ usage }: RunState, { maxTokens, maxCost }: KnownLimits): void {
  const tokens = usage.inputTokens + usage.outputTokens;
  const spent = [
    ["maxTokens", tokens, maxTokens, "tokens were used"],
    ["maxCost", usage.cost ?? 0, maxCost, "were spent on models"],
  ] as const;
  for (const [limit, actual, max, what] of spent) {
    if (actual < max) continue;
    const message = `The run was ended before its answer: ${actual} ${what}, and ${limit} is ${max}.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, { limit, max, actual });
  }
}

/** The error of an answer that does not fit after all repairs. */
function invalidAnswer(issues: readonly Issue[], repairs: number): ToolkitError<"INVALID_OUTPUT"> {
  const asked =
    repairs === 0 ? "" : `, though the model was asked again ${repairs === 1 ? "once" : `${repairs} times`}`;
  const message = `The answer of the model does not fit the output schema${asked}: ${describeIssues(issues)}.`;
  return new ToolkitError("INVALID_OUTPUT", message, { issues });
}
