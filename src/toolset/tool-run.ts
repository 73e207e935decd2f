import { randomUUID } from "node:crypto";
import { definitionOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import type { OptionNames } from "../core/options.ts";
import { shown } from "../core/options.ts";
import { noCalls, type OuterCall, type ViaOptions, viaKey } from "../core/outer-call.ts";
import type { PolicyRules } from "../core/policy.ts";
import type { Content } from "../core/resource.ts";
import { type CallOptions, callOptionNames } from "../core/session.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { systemClock } from "../lib/clock.ts";
import { isRecord, present } from "../lib/value.ts";
import type { Disclosure } from "./disclosure.ts";
import { type KnownCall, type PolicyCheck, type RuledCall, rulingsOn } from "./run-policy.ts";
import type { RunTool } from "./run-tool.ts";
import { type CallRun, failed, malformed, notFound, refused, shared, succeeded } from "./tool-answer.ts";
import type {
  Callee,
  OfferedTools,
  ToolAnswer,
  ToolCall,
  ToolCaller,
  ToolChoice,
  ToolDefinitionForModel,
} from "./toolset-types.ts";

/** Options of a run, for all of its calls. */
export interface BeginOptions extends CallOptions {
  /** Calls that the conversation has made before this run. Default 0. */
  readonly toolCalls?: number | undefined;
  /** Turns that were before, where it continues a run: its tool choice is that of a later turn. Default 0. */
  readonly turns?: number | undefined;
  /** Calls around those of the run, for a policy that decides by depth. Default 0: the run is not part of a call. */
  readonly depth?: number | undefined;
  /** The calls that led to those of the run, the outermost first, for policies that decide by them. Default: what the toolbox knows. */
  readonly via?: readonly OuterCall[] | undefined;
}

export const beginNames: OptionNames<BeginOptions> = {
  ...callOptionNames,
  toolCalls: true,
  turns: true,
  depth: true,
  via: true,
};

/** One turn of a run. */
export interface Turn {
  readonly calls: readonly ToolCall[];
  readonly answers: readonly ToolAnswer[];
}

/** The parts of a run. */
export interface ToolRunParts {
  readonly offered: OfferedTools;
  /** Undefined for a policy without rules. */
  readonly rules: PolicyRules | undefined;
  readonly caller: ToolCaller;
  /** Of a toolset that does not fit its budget. */
  readonly disclosure: Disclosure | undefined;
  /** Executed by the run itself, beside the offered ones. */
  readonly own: readonly RunTool[];
}

/** The state of one model run: its turn, its calls with their answers, and the tools of the next turn. */
export class ToolRun {
  readonly #parts: ToolRunParts;
  /** The tools that it executes itself, by alias. */
  readonly #own = new Map<string, RunTool>();
  readonly #ownDefinitions: ToolDefinitionForModel[] = [];
  readonly #options: CallOptions & ViaOptions;
  readonly #check: PolicyCheck;
  readonly #history: Turn[] = [];
  readonly #evaluations = new Set<string>();
  readonly #before: number;
  #toolCalls: number;
  #final: Content | undefined;

  /** See `Toolset.begin`. */
  constructor(parts: ToolRunParts, { toolCalls = 0, turns = 0, depth = 0, via, ...options }: BeginOptions) {
    const { offered, rules, disclosure, own } = parts;
    const { session = Object.freeze({ id: randomUUID() }) } = options;
    this.#parts = parts;
    for (const tool of disclosure?.tools ?? []) this.#own.set(tool.definition.name, tool);
    if (own.length > 0) this.offer(own);
    this.#options = via === undefined ? options : { ...options, [viaKey]: via };
    this.#toolCalls = toolCalls;
    this.#before = turns;
    this.#check = { policy: offered.policy, rules, session, depth, via: via ?? noCalls };
  }

  /** From 0, or from the number of turns that were before. */
  get turn(): number {
    return this.#before + this.#history.length;
  }

  /** The calls of each turn, and their answers. */
  get history(): readonly Turn[] {
    return this.#history;
  }

  /** Calls that the conversation has made: those that the policy allowed, each of a batch of identical ones once. */
  get toolCalls(): number {
    return this.#toolCalls;
  }

  /** The names of the evaluations that the used tools ask for, in the order of use. */
  get evaluations(): readonly string[] {
    return [...this.#evaluations];
  }

  /** The result of a tool that took control: the final answer of the run. */
  get final(): Content | undefined {
    return this.#final;
  }

  /** True for the alias of a tool whose result is the final answer. */
  takesControl(alias: string): boolean {
    return this.#calleeOf(alias)?.options?.takesControl === true;
  }

  /** The definitions of the tools that a model may use in this turn. */
  definitions(): readonly ToolDefinitionForModel[] {
    const { offered, disclosure } = this.#parts;
    const definitions = (disclosure ?? offered).definitionsOf(this.turn);
    if (offered.policy.toolChoice === "none") return definitions;
    return this.#ownDefinitions.length === 0 ? definitions : [...definitions, ...this.#ownDefinitions];
  }

  /** Offers further tools of the run itself, from the next turn on. @internal */
  offer(tools: readonly RunTool[]): void {
    for (const tool of tools) {
      this.#own.set(tool.definition.name, tool);
      this.#ownDefinitions.push(tool.definition);
    }
  }

  /** The tool choice of this turn. */
  get toolChoice(): ToolChoice {
    return this.#parts.offered.toolChoiceOf(this.turn);
  }

  /**
   * Executes the calls of one turn in parallel, and answers each, in order, also those that are unknown, refused or failed.
   *
   * Identical calls run once. Then a tool that takes control must be alone: in a batch with others, unknown and malformed ones included,
   * nothing runs. Then the policy is asked.
   *
   * @throws ToolkitError `INVALID_INPUT` for what is no list of calls; the reason of an abort. Everything else is an answer
   */
  async execute(calls: readonly ToolCall[]): Promise<readonly ToolAnswer[]> {
    this.#options.signal?.throwIfAborted();
    assertCalls(calls);
    const distinct = new Map<string, ToolCall>();
    const firsts: ToolCall[] = [];
    const known: KnownCall[] = [];
    for (const call of calls) {
      const key = `${call.name} ${call.malformed ?? ""} ${canonicalJson(call.input)}`;
      const first = distinct.get(key);
      firsts.push(first ?? call);
      if (first !== undefined) continue;
      distinct.set(key, call);
      const callee = call.malformed === undefined ? this.#calleeOf(call.name) : undefined;
      if (callee !== undefined) known.push({ call, callee });
    }
    const { calls: ruled, counted } = await rulingsOn({ known, size: distinct.size }, this.#toolCalls, this.#check);
    this.#toolCalls += counted;
    const answered = new Map<ToolCall, ToolAnswer>();
    await Promise.all(ruled.map(async (each) => answered.set(each.call, await this.#run(each))));
    const answers = calls.map((call, at) => {
      const first = firsts[at] ?? call;
      const answer = answered.get(first) ?? this.#unmade(first);
      return first === call ? answer : shared(answer, call, first.id);
    });
    this.#history.push(Object.freeze({ calls: Object.freeze([...calls]), answers: Object.freeze(answers) }));
    return answers;
  }

  async #run({ ruling, ...known }: RuledCall): Promise<ToolAnswer> {
    const { call, callee } = known;
    const { offered, disclosure } = this.#parts;
    const isForced = offered.isForced(call.name);
    if (ToolkitError.is(ruling)) return refused(known, isForced, ruling);
    const run: CallRun = { isForced, startedAt: systemClock.now(), report: {} };
    const { signal } = this.#options;
    try {
      disclosure?.reveal(call.name);
      const approval = ruling === undefined ? {} : { needsApproval: ruling.approve };
      const listeners = present({ onProgress: call.onProgress?.bind(call), onPartial: call.onPartial?.bind(call) });
      const own = { ...approval, ...listeners, report: run.report, toolCallId: call.id };
      const options = { coerce: true, ...this.#options, ...own };
      const content = await callee.execute(call.input, options);
      for (const evaluation of callee.options?.evaluations ?? []) this.#evaluations.add(evaluation);
      if (callee.options?.takesControl === true) this.#final = content;
      return succeeded(known, run, content);
    } catch (error) {
      if (!ToolkitError.is(error)) signal?.throwIfAborted();
      return failed(known, run, error);
    }
  }

  #unmade(call: ToolCall): ToolAnswer {
    return call.malformed === undefined ? notFound(call, this.#aliases) : malformed(call);
  }

  #calleeOf(alias: string): Callee | undefined {
    const own = this.#own.get(alias);
    const { offered, caller } = this.#parts;
    const entry = offered.get(alias);
    if (own !== undefined || entry === undefined) return own;
    const { ref, namespace } = entry;
    const execute: Callee["execute"] = (input, options) => caller.call(entry, input, options);
    return { ref, namespace, options: definitionOf(entry).options, entry, isCounted: true, execute };
  }

  get #aliases(): readonly string[] {
    const own = this.#ownDefinitions.map(({ name }) => name);
    return [...this.#parts.offered.tools.map(({ alias }) => alias), ...own];
  }
}

/** Calls come as the service parsed them from the reply of a model. */
function assertCalls(calls: unknown): void {
  if (!Array.isArray(calls)) throw invalidCalls("", `must be a list of calls, and is ${shown(calls)}`);
  for (const [at, call] of calls.entries()) {
    if (isRecord(call) && typeof call.name === "string") continue;
    throw invalidCalls(`/${at}`, `must be a call { id, name, input }, and is ${shown(call)}`);
  }
}

function invalidCalls(pointer: string, message: string): ToolkitError<"INVALID_INPUT"> {
  const where = pointer === "" ? "The argument of execute" : `Call ${pointer.slice(1)} of execute`;
  return new ToolkitError("INVALID_INPUT", `${where} ${message}.`, { issues: [{ pointer, message }] });
}
