import { definitionOf } from "../core/entry.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import { shown } from "../core/options.ts";
import { denied, type PolicyRules, type Ruling } from "../core/policy.ts";
import type { Content } from "../core/resource.ts";
import type { CallOptions, CallReport } from "../core/session.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { systemClock } from "../lib/clock.ts";
import { nearest } from "../lib/similar.ts";
import { isRecord } from "../lib/value.ts";
import { referencesOf } from "./references.ts";
import { RunPolicyCheck } from "./run-policy-check.ts";
import type {
  Caller,
  OfferedTools,
  ToolAnswer,
  ToolCall,
  ToolChoice,
  ToolDefinitionForModel,
  ToolEntry,
} from "./toolset-types.ts";

/** How a run begins. Its calls are made with these options. */
export interface BeginOptions extends CallOptions {
  /** How many calls the conversation has made already, where it goes on from before. */
  readonly toolCalls?: number | undefined;
  /** How many calls its own are inside of, for what decides by that. Default 0: the run is not part of a call. */
  readonly depth?: number | undefined;
  /** Hears each answer of what was run, as soon as it is there. */
  onAnswer?(answer: ToolAnswer): void;
}

/** One turn of a run. */
export interface Turn {
  readonly calls: readonly ToolCall[];
  readonly answers: readonly ToolAnswer[];
}

/** A distinct call of a batch, and the answers that wait for it. */
interface Job {
  readonly call: ToolCall;
  readonly entry: ToolEntry;
}

/** What was ruled on one. */
interface Judged {
  readonly key: string;
  readonly job: Job;
  readonly ruling: Ruling;
}

/** The state of one model run: which turn it is, what was called, and what is left to be called. */
export class ToolRun {
  readonly #offer: OfferedTools;
  readonly #caller: Caller;
  readonly #options: CallOptions;
  readonly #judge: RunPolicyCheck;
  readonly #onAnswer: BeginOptions["onAnswer"];
  readonly #history: Turn[] = [];
  readonly #evaluations = new Set<string>();
  #toolCalls: number;
  #final: Content | undefined;

  /** See `Toolset.begin`. */
  constructor(
    offer: OfferedTools,
    rules: PolicyRules,
    caller: Caller,
    { toolCalls = 0, depth = 0, onAnswer, ...options }: BeginOptions,
  ) {
    this.#onAnswer = onAnswer;
    this.#offer = offer;
    this.#caller = caller;
    this.#options = options;
    this.#toolCalls = toolCalls;
    this.#judge = new RunPolicyCheck(offer, rules, { ...options, depth });
  }

  /** From 0. */
  get turn(): number {
    return this.#history.length;
  }

  /** What was called in each turn, and what became of it. */
  get history(): readonly Turn[] {
    return this.#history;
  }

  /** How many calls the conversation has made: those that were let through, each of a batch of identical ones once. */
  get toolCalls(): number {
    return this.#toolCalls;
  }

  /** The names of the evaluations the tools that were used ask for, in the order of use. */
  get evaluations(): readonly string[] {
    return [...this.#evaluations];
  }

  /** The result of a tool that took control: the final answer of the run. */
  get final(): Content | undefined {
    return this.#final;
  }

  /** True for the alias of a tool whose result is the final answer. */
  takesControl(alias: string): boolean {
    return this.#offer.takesControl([{ name: alias }]);
  }

  /** What a model may use in this turn. */
  definitions(): readonly ToolDefinitionForModel[] {
    return this.#offer.definitionsOf(this.turn);
  }

  /** What a model must do in this turn. */
  get toolChoice(): ToolChoice {
    return this.#offer.toolChoiceOf(this.turn);
  }

  /**
   * Executes the calls of one turn, side by side, and answers each, in order: what is unknown, refused or failed too.
   *
   * Identical calls are one. Then the policy is asked. Then a tool that takes control must be alone: in a batch with others nothing runs.
   *
   * @throws ToolkitError `INVALID_INPUT` for what is no list of calls; the reason of an abort. Everything else is an answer
   */
  async execute(calls: readonly ToolCall[]): Promise<readonly ToolAnswer[]> {
    this.#options.signal?.throwIfAborted();
    assertCalls(calls);
    const batch = new Map<string, Promise<ToolAnswer>>();
    const firstIds = new Map<string, string>();
    const jobs = new Map<string, Job>();
    for (const call of calls) {
      const key = keyOf(call);
      const entry = this.#offer.get(call.name);
      if (firstIds.has(key)) continue;
      firstIds.set(key, call.id);
      if (entry === undefined) batch.set(key, Promise.resolve(this.#unknown(call)));
      else jobs.set(key, { call, entry });
    }
    for (const [key, answer] of await this.#answers(jobs)) batch.set(key, Promise.resolve(answer));
    const answers: ToolAnswer[] = [];
    for (const call of calls) {
      const key = keyOf(call);
      const answer = await batch.get(key);
      if (answer !== undefined) answers.push(shared(answer, call, firstIds.get(key)));
    }
    this.#history.push(Object.freeze({ calls: Object.freeze([...calls]), answers: Object.freeze(answers) }));
    return answers;
  }

  async #answers(jobs: ReadonlyMap<string, Job>): Promise<readonly (readonly [string, ToolAnswer])[]> {
    const judged: Judged[] = [];
    let inTurn = 0;
    for (const [key, job] of jobs) {
      const counted = { inTurn, inAll: this.#toolCalls + inTurn };
      const isOwn = this.#offer.isOwn?.(job.entry) === true;
      const ruling = isOwn ? undefined : await this.#judge.ruling(job.entry, job.call.input, counted);
      if (!isOwn && !ToolkitError.is(ruling)) inTurn += 1;
      judged.push({ key, job, ruling });
    }
    const passed = judged.filter(({ ruling }) => !ToolkitError.is(ruling)).map(({ job }) => job.call);
    const takesControl = this.#offer.takesControl(passed);
    if (takesControl && passed.length > 1) {
      const notAlone = this.#notAlone(passed);
      return judged.map(({ key, job, ruling }) => [
        key,
        this.#refused(job, ToolkitError.is(ruling) ? ruling : notAlone),
      ]);
    }
    this.#toolCalls += inTurn;
    return Promise.all(
      judged.map(async ({ key, job, ruling }) => {
        const answer = ToolkitError.is(ruling) ? this.#refused(job, ruling) : await this.#run(job, ruling?.approve);
        if (takesControl && answer.status === "ok") this.#final = answer.content;
        this.#onAnswer?.(answer);
        return [key, answer] as const;
      }),
    );
  }

  async #run({ call, entry }: Job, needsApproval: string | undefined): Promise<ToolAnswer> {
    const startedAt = systemClock.now();
    const report: CallReport = {};
    const about = () => ({
      ...this.#about(call, entry),
      durationMs: systemClock.now() - startedAt,
      debug: { ...this.#debug(call, entry), cached: report.cached === true, attempts: report.attempts ?? 1 },
    });
    try {
      const asked = needsApproval === undefined ? {} : { needsApproval };
      const options = { coerce: true, ...this.#options, ...asked, report, toolCallId: call.id };
      const content = await this.#caller.call(entry, call.input, options);
      for (const evaluation of definitionOf(entry).options?.evaluations ?? []) this.#evaluations.add(evaluation);
      return Object.freeze({ ...about(), status: "ok", content, references: referencesOf(content) });
    } catch (error) {
      if (!ToolkitError.is(error)) {
        this.#options.signal?.throwIfAborted();
        const message = `${entry.ref} was ended: ${messageOf(error)}`;
        const ended = new ToolkitError("TOOL_FAILED", message, {}, { cause: error, ref: entry.ref, phase: "execute" });
        return Object.freeze({ ...about(), status: "failed", error: ended, references: [] });
      }
      return Object.freeze({ ...about(), status: statusOf(error), error, references: [] });
    }
  }

  #unknown(call: ToolCall): ToolAnswer {
    const aliases = this.#offer.tools.map(({ alias }) => alias);
    const suggestions = nearest(call.name, aliases, 3);
    const hint = suggestions.length > 0 ? `Did you mean ${suggestions.join(", ")}?` : `There are ${few(aliases)}.`;
    const message = `There is no tool "${call.name}". ${aliases.length === 0 ? "There are no tools." : hint}`;
    const error = new ToolkitError("NOT_FOUND", message, { key: call.name, suggestions }, { phase: "resolve" });
    const debug = { forced: false, exclusive: false, cached: false, attempts: 0 };
    return Object.freeze({
      id: call.id,
      name: call.name,
      status: "failed",
      error,
      references: [],
      durationMs: 0,
      debug,
    });
  }

  #refused({ call, entry }: Job, error: ToolkitError): ToolAnswer {
    const debug = { ...this.#debug(call, entry), cached: false, attempts: 0 };
    return Object.freeze({
      ...this.#about(call, entry),
      status: statusOf(error),
      error,
      references: [],
      durationMs: 0,
      debug,
    });
  }

  #notAlone(passed: readonly ToolCall[]): ToolkitError<"DENIED"> {
    const controlling = passed.filter((call) => this.#offer.takesControl([call])).map(({ name }) => name);
    const names = [...new Set(controlling)].join(", ");
    const why = `${names} takes control and must be called alone, so none of these calls ran. Make the others first, and then call ${names} by itself`;
    return denied("The batch", "takesControl", { why });
  }

  #about({ id, name }: ToolCall, { ref }: ToolEntry) {
    return { id, name, ref };
  }

  #debug({ name }: ToolCall, entry: ToolEntry) {
    const exclusive = definitionOf(entry as Entry).options?.exclusive === true;
    return { origin: entry.namespace, forced: this.#offer.isForced(name), exclusive };
  }
}

/** Calls as whoever reads the model's answer makes them. */
function assertCalls(calls: unknown): void {
  if (!Array.isArray(calls)) throw noCalls("", `must be a list of calls, and is ${shown(calls)}`);
  const wrong = calls.findIndex((call) => !(isRecord(call) && typeof call.name === "string"));
  if (wrong >= 0) throw noCalls(`/${wrong}`, `must be a call { id, name, input }, and is ${shown(calls[wrong])}`);
}

function noCalls(pointer: string, message: string): ToolkitError<"INVALID_INPUT"> {
  const where = pointer === "" ? "What is executed" : `Call ${pointer.slice(1)} of what is executed`;
  return new ToolkitError("INVALID_INPUT", `${where} ${message}.`, { issues: [{ pointer, message }] });
}

function keyOf({ name, input }: ToolCall): string {
  return `${name} ${canonicalJson(input)}`;
}

/** Names for a message that a model reads. */
function few(names: readonly string[]): string {
  const most = 30;
  const rest = names.length - most;
  return rest > 0 ? `${names.slice(0, most).join(", ")} and ${rest} more` : names.join(", ");
}

/** The answer for one of identical calls: its own where it was the first, else that of the first under its own id. */
function shared(answer: ToolAnswer, { id }: ToolCall, firstId: string | undefined): ToolAnswer {
  if (id === answer.id) return answer;
  return Object.freeze({ ...answer, id, debug: { ...answer.debug, duplicateOf: firstId } });
}

function statusOf(error: ToolkitError): ToolAnswer["status"] {
  if (error.code === "PENDING") return "pending";
  return error.code === "DENIED" ? "denied" : "failed";
}
