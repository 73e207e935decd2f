import { tracedModel } from "../../call/trace/model-trace.ts";
import type { Issue } from "../../core/error-catalog.ts";
import type { CallContext } from "../../core/item.ts";
import { outputToolName } from "../../core/output-tool.ts";
import type { Content } from "../../core/resource.ts";
import { describeIssues } from "../../core/schema/violation.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import type { KnownLimits } from "../agent-options.ts";
import { userText } from "../conversation.ts";
import type { ModelCall } from "../model/model-call.ts";
import type { ChosenModel } from "../model/models.ts";
import { answerOf, type Ending, jsonAnswer, textAnswer } from "./agent-answer.ts";
import type { StructuredForm } from "./answer-form.ts";
import { ask } from "./ask-model.ts";
import { modelRequest, type StepRequest } from "./model-request.ts";
import { asMessage, callsIn, type Reply, textIn, withDistinctIds } from "./reply.ts";
import { assertAnswered, assertBudget, invalidAnswer, stepLimit } from "./run-failure.ts";
import type { Spending } from "./spending.ts";
import { resumeTurn, runTurn, type TurnOutcome, type TurnParts, type WaitingTurn } from "./tool-turn.ts";
import { type ModelPrice, usageOf } from "./usage.ts";

/** What a run is made of. */
export interface RunParts extends Omit<TurnParts, "canWait" | "spending"> {
  readonly name: string;
  readonly chosen: ChosenModel;
  readonly question: Omit<StepRequest, "messages" | "tools">;
  readonly form: StructuredForm | undefined;
  readonly limits: KnownLimits;
  readonly price: ModelPrice | undefined;
  readonly call: ModelCall;
  readonly clock: Clock;
  readonly context: CallContext;
  /** Keeps a run that waits; undefined where nothing can. It throws `PENDING`. */
  readonly suspend: ((turn: WaitingTurn) => Promise<never>) | undefined;
}

/** One run of a model with its tools, from step to step until there is an answer. */
export class AgentRun {
  readonly #parts: RunParts;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  /**
   * Asks the model, makes the calls it wants, and so on.
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

  /** Goes on after a turn whose calls had to wait, with what they came to. */
  async goOn(turn: WaitingTurn, outcomes: readonly ToolAnswer[]): Promise<Content> {
    const ending = await this.#afterTurn(await resumeTurn(turn, outcomes, this.#turnParts));
    return ending === undefined ? this.execute() : this.#finish(ending);
  }

  get #turnParts(): TurnParts {
    const { teller, suspend } = this.#parts;
    const spending: Spending = {
      spend: (run, usage) => teller.usedInside(run, usage),
      assertLeft: () => this.#assertBudget(),
    };
    return { ...this.#parts, spending, canWait: suspend !== undefined };
  }

  /** @throws ToolkitError `LIMIT_EXCEEDED` where this run, or one around it, has spent what it may */
  #assertBudget(): void {
    const { state, limits, teller } = this.#parts;
    assertBudget(state, limits);
    teller.outer?.assertLeft();
  }

  async #ask(): Promise<Reply> {
    const { chosen, question, state, tools, limits, call, clock, price, teller, context } = this.#parts;
    const step = state.steps.length;
    const request = modelRequest({ ...question, messages: state.messages, tools: tools?.port });
    const listener = {
      text: (delta: string) => this.#parts.teller.emit("textDelta", { step, delta }),
      reasoning: (delta: string) => this.#parts.teller.emit("reasoningDelta", { step, delta }),
    };
    const beganAt = clock.now();
    const { provider, modelId: model } = chosen;
    const { isHeard } = teller;
    const asked = { provider, model, settings: question.settings, stream: isHeard, input: request.prompt };
    const { reply, finishReason, usage } = await tracedModel(context, asked, async () => {
      const { maxOutputBytes } = limits;
      const heard = { call, maxOutputBytes, listener: isHeard ? listener : undefined };
      const answer = withDistinctIds(await ask(chosen, request, heard));
      const used = usageOf(answer.usage, price);
      return { reply: answer, finishReason: answer.finishReason, usage: used, output: answer.content };
    });
    const told = { step, provider, model, finishReason, usage, durationMs: clock.now() - beganAt };
    state.steps.push(told);
    await teller.emit("step", told);
    await teller.used(usage);
    return reply;
  }

  /** Does what a reply asks for; gives the answer of the run where it is that. */
  async #settle(reply: Reply): Promise<Ending | undefined> {
    assertAnswered(reply, this.#parts.chosen);
    const message = asMessage(reply);
    if (message.content.length > 0) this.#parts.state.messages.push(message);
    const calls = callsIn(reply);
    if (calls.length === 0) return this.#answer(reply);
    return this.#afterTurn(await runTurn(calls, this.#turnParts));
  }

  async #answer(reply: Reply): Promise<Ending | undefined> {
    const { form, name, tools } = this.#parts;
    const { finishReason } = reply;
    if (form === undefined) {
      const content = await textAnswer(reply, name);
      if (content !== undefined) return { content, finishReason };
      return this.#repair([{ pointer: "", message: "is empty" }], "Your answer was empty. Answer now.");
    }
    const answer = await form.read(reply.structuredText ?? textIn(reply));
    if (answer.issues === undefined) return { content: jsonAnswer(answer.value, name), finishReason };
    if (finishReason === "length")
      throw invalidAnswer([{ pointer: "", message: "was cut at the most tokens an answer may have" }], 0);
    const how =
      tools === undefined
        ? "Answer again, with nothing but JSON that fits the schema."
        : `Give the answer by calling ${outputToolName}.`;
    return this.#repair(answer.issues, `Your answer does not fit: ${describeIssues(answer.issues)}. ${how}`);
  }

  /** Has the model answer again. @throws ToolkitError `INVALID_OUTPUT` where that was done often enough */
  async #repair(issues: readonly Issue[], request: string): Promise<undefined> {
    await this.#countRepair(issues);
    this.#parts.state.messages.push(userText(request));
  }

  async #countRepair(issues: readonly Issue[]): Promise<void> {
    const { state, limits } = this.#parts;
    if (state.repairs >= limits.maxRepairs) throw invalidAnswer(issues, state.repairs);
    state.repairs += 1;
    await this.#parts.teller.emit("repair", { step: state.steps.length - 1, reason: describeIssues(issues) });
  }

  async #afterTurn({ final, waiting, refused }: TurnOutcome): Promise<Ending | undefined> {
    const { suspend, teller, state } = this.#parts;
    if (waiting !== undefined && suspend !== undefined) {
      await teller.emit("suspended", { id: state.id });
      return suspend(waiting);
    }
    if (final !== undefined) return { content: final, finishReason: "control" };
    if (refused !== undefined) await this.#countRepair(refused);
    return undefined;
  }

  async #finish({ content, finishReason }: Ending): Promise<Content> {
    const { state, chosen, name, tools, teller } = this.#parts;
    await teller.emit("finish", { finishReason, steps: state.steps.length, usage: state.usage });
    return answerOf({ content, finishReason }, { state, chosen, name, evaluations: tools?.run.evaluations ?? [] });
  }
}
