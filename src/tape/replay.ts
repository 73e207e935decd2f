import { type Agent, agent as makeAgent } from "../agent/index.ts";
import {
  type CallObserver,
  type ObservedCall,
  type ObservedQuestion,
  type ObservedTurn,
  observedToolkit,
} from "../call/observers.ts";
import type { ToolkitError } from "../core/error.ts";
import type { Item } from "../core/item.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import type { Content } from "../core/resource.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { glob } from "../lib/glob.ts";
import { isRecord, present } from "../lib/value.ts";
import { contentFromJson } from "../resource/from-json.ts";
import { Toolkit } from "../toolkit/toolkit.ts";
import { type DifferencePlace, differs, requestDifference } from "./difference.ts";
import { cutLine, type RecordedCall, type RecordedRun, RecordedRuns, RunNames } from "./recorded-runs.ts";
import type { Replay, ReplayedRun, ReplayOptions } from "./replay-types.ts";
import { standInConnector, standInItem, standInProviders, standInSource } from "./stand-ins.ts";
import type { Tape, TapeLine } from "./tape-format.ts";
import { fromPlain, TapeMask } from "./tape-mask.ts";
import {
  answerBody,
  attachmentOnTape,
  callText,
  errorOnTape,
  renderedOnTape,
  tapedRequest,
  tapedValue,
} from "./taped-values.ts";

const optionNames: OptionNames<ReplayOptions> = { items: true, sources: true, live: true, toolkit: true, agent: true };

/**
 * Makes a toolkit in which a tape answers in place of tools and models: nothing is reached, and no model is asked. The first step at which a run
 * differs from the tape ends it with `REPLAY_DIFFERS`.
 *
 * Turns of models are matched by run and step, calls by ref and arguments, in any order.
 *
 * @throws ToolkitError `INVALID_CONFIG`; as `toolkit.add` for the items
 *
 * @example
 * ```ts
 * await using replay = await replayed(await readTape("summarize.tape"), { items: [await readPrompt("prompts/summarize.md")] });
 * await replay.run();
 * ```
 */
export async function replayed(tape: Tape, options: ReplayOptions = {}): Promise<Replay> {
  assertOptionNames(options, optionNames, "of a replay");
  const replay = new TapeReplay(tape, options);
  try {
    await replay.start(options);
    return replay;
  } catch (error) {
    await replay[Symbol.asyncDispose]();
    throw error;
  }
}

/** The state of a run that is replayed. */
interface RunInReplay {
  readonly recorded: RecordedRun;
  /** The steps it has taken. */
  steps: number;
}

/** Namespaces whose items nothing can be added to. */
const unowned: ReadonlySet<string> = new Set(["inline", "user"]);

class TapeReplay implements Replay, CallObserver {
  readonly toolkit: Toolkit;
  readonly agent: Agent;
  readonly #tape: Tape;
  readonly #recorded: RecordedRuns;
  readonly #mask: TapeMask;
  readonly #live: (ref: string) => boolean;
  /** Refs of prompts that are made from the tape. */
  readonly #madeUp = new Set<string>();
  readonly #names = new RunNames();
  readonly #used = new Set<RecordedCall>();
  readonly #asked = new Set<TapeLine<"question">>();
  /** The runs by their id now. */
  readonly #runs = new Map<string, RunInReplay>();
  /** The last step of each call of a prompt, by its key. */
  readonly #places = new WeakMap<object, DifferencePlace>();
  #difference: ToolkitError<"REPLAY_DIFFERS"> | undefined;

  constructor(tape: Tape, { items = [], live = [], toolkit = {}, agent = {} }: ReplayOptions) {
    if (!Array.isArray(live) || !live.every((each) => typeof each === "string"))
      throw invalidOption("live", "a list of names and globs", live, "of a replay");
    const globs = live.flatMap((pattern) => [glob(pattern), glob(`*.${pattern}`)]);
    this.#live = (ref) => globs.some((fits) => fits(ref));
    this.#tape = tape;
    this.#recorded = new RecordedRuns(tape);
    this.#mask = new TapeMask([...tape.header.redact]);
    const { runs } = this.#recorded;
    const [first] = runs.flatMap((run) => run.turns);
    const defaultModel = first === undefined ? undefined : `${first.provider}/${first.model}`;
    this.agent = makeAgent({ ...agent, models: standInProviders(runs), defaultModel });
    this.toolkit = new Toolkit({ ...toolkit, items, delegate: this.agent });
    observedToolkit(this.toolkit)?.observers.add(this);
  }

  get difference(): ToolkitError<"REPLAY_DIFFERS"> | undefined {
    return this.#difference;
  }

  get fromTape(): readonly string[] {
    return [...this.#madeUp].sort();
  }

  /** Adds what is under test and what stands in, and waits for it. */
  async start({ items = [], sources = {} }: ReplayOptions): Promise<void> {
    for (const [namespace, source] of Object.entries(sources)) this.toolkit.addSource(namespace, source);
    this.#addStandIns(items, new Set(Object.keys(sources)));
    await this.toolkit.start();
  }

  async run({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<readonly ReplayedRun[]> {
    const done: ReplayedRun[] = [];
    for (const call of this.#recorded.calls.values()) {
      const { verb, kind, parent, ref, cut } = call.line;
      if (verb !== "call" || kind !== "prompt" || parent !== undefined || ref.startsWith("inline.")) continue;
      if (cut !== undefined) throw cutLine(this.#tape.name, `the input of ${ref}`);
      done.push(await this.#runAgain(call, signal));
    }
    this.assertSame();
    return done;
  }

  assertSame(): void {
    if (this.#difference !== undefined) throw this.#difference;
    for (const { recorded, steps } of this.#runs.values()) {
      const place = { ref: recorded.ref, step: steps };
      // The rest of a run that was suspended is that of another call.
      if (this.#recorded.calls.get(recorded.call ?? 0)?.end?.error?.code === "PENDING") continue;
      const [next] = recorded.turns.filter(({ step }) => step >= steps);
      if (next !== undefined)
        throw this.#differ(place, "the steps", `a request to ${next.provider}/${next.model}`, undefined);
      const missing = this.#recorded.inside(recorded.call).find((each) => !this.#used.has(each));
      if (missing !== undefined) throw this.#differ(place, "the calls", callText(missing.line), undefined);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.toolkit.close();
  }

  /** Prompts run, whose models the tape answers for; all else is answered. */
  answerCall(call: ObservedCall): unknown {
    const { verb, entry, input } = call;
    const { kind, ref } = entry;
    const wanted = { verb, kind, ref, input: this.#taped(input) };
    const place = (call.parent && this.#places.get(call.parent)) ?? { ref };
    const found = this.#recorded.alike(wanted).find((each) => !this.#used.has(each));
    if (found !== undefined) this.#used.add(found);
    const isRun = kind === "prompt" && (verb === "call" ? this.#hasTurns(ref) : !this.#madeUp.has(ref));
    if (isRun || this.#live(ref)) return undefined;
    if (found === undefined) {
      const others = [...this.#recorded.calls.values()].filter(
        (each) => each.line.verb === verb && each.line.ref === ref && !this.#used.has(each),
      );
      throw this.#differ(place, `the call of ${ref}`, others[0] && callText(others[0].line), callText(wanted));
    }
    return this.#endOf(found);
  }

  async answerTurn(turn: ObservedTurn): Promise<unknown> {
    const request = tapedRequest(turn, this.#mask);
    const run = this.#runOf(turn, request.digest);
    const place = { ref: turn.ref, step: turn.step };
    if (turn.call !== undefined) this.#places.set(turn.call, place);
    const recorded = run?.recorded.turns.find(({ step }) => step === turn.step);
    if (run === undefined || recorded === undefined)
      throw this.#differ(place, "the steps", undefined, `a request to ${turn.provider}/${turn.model}`);
    run.steps = turn.step + 1;
    if (!this.#madeUp.has(turn.ref)) this.#compare(turn, run, recorded);
    if (recorded.error !== undefined) throw errorOnTape(recorded.error);
    if (recorded.answer === undefined) throw cutLine(this.#tape.name, `the answer of step ${turn.step} of ${turn.ref}`);
    return fromPlain(this.#names.fromTape(recorded.answer));
  }

  /** Tools that run ask again what is on the tape. */
  answerQuestion({ kind, request, context }: ObservedQuestion): unknown {
    const asked = canonicalJson(this.#taped(request));
    const alike = this.#recorded.questions(kind, context.requester);
    const found = alike.find((each) => !this.#asked.has(each) && canonicalJson(each.request) === asked);
    if (found === undefined) return undefined;
    this.#asked.add(found);
    if (found.error !== undefined) throw errorOnTape(found.error);
    return found.answer;
  }

  #addStandIns(items: readonly Item[], given: ReadonlySet<string>): void {
    const { runs } = this.#recorded;
    const names = new Set(items.map(({ kind, name }) => `${kind} ${name}`));
    const lines = this.#recorded.items.filter((line) => !given.has(line.namespace) && !unowned.has(line.namespace));
    for (const [namespace, group] of Map.groupBy(lines, (line) => line.namespace)) {
      const missing = namespace === "builtin" ? group.filter(({ kind, name }) => !names.has(`${kind} ${name}`)) : group;
      for (const { kind, ref } of missing) if (kind === "prompt") this.#madeUp.add(ref);
      if (namespace !== "builtin") {
        const prompts = missing.filter(({ kind }) => kind === "prompt");
        if (prompts.length === 0) this.toolkit.addConnector(standInConnector(namespace, missing), { namespace });
        else this.toolkit.addSource(namespace, standInSource(missing, runs));
      } else {
        // Results of the agent's own template are read by the run itself.
        const own = missing.filter(({ ref }) => !ref.startsWith("result:"));
        this.toolkit.add(
          ...own.map((line) =>
            standInItem(
              line,
              runs.find(({ ref }) => ref === line.ref),
            ),
          ),
        );
      }
    }
  }

  #hasTurns(ref: string): boolean {
    return !this.#madeUp.has(ref) || this.#recorded.runs.some((run) => run.ref === ref);
  }

  #endOf({ line, end }: RecordedCall): unknown {
    if (end === undefined || end.cut !== undefined) throw cutLine(this.#tape.name, `the result of ${line.ref}`);
    if (end.error !== undefined) throw errorOnTape(end.error);
    if (line.verb !== "render") return contentFromJson(this.#names.fromTape(end.content));
    return renderedOnTape(this.#names.fromTape(end.rendered));
  }

  /** The run on the tape that a run stands for: of several of one prompt that with the same request first. */
  #runOf({ run: id, ref }: ObservedTurn, digest: string): RunInReplay | undefined {
    const known = this.#runs.get(id);
    if (known !== undefined) return known;
    const taken = new Set([...this.#runs.values()].map(({ recorded }) => recorded));
    const free = this.#recorded.runs.filter((run) => run.ref === ref && !taken.has(run));
    const recorded = free.find(({ turns: [first] }) => first?.request?.digest === digest) ?? free[0];
    if (recorded === undefined) return undefined;
    const run = { recorded, steps: 0 };
    this.#names.add(recorded.id, id);
    this.#runs.set(id, run);
    return run;
  }

  #compare(turn: ObservedTurn, { recorded: run }: RunInReplay, recorded: TapeLine<"turn">): void {
    const place = { ref: turn.ref, step: turn.step };
    const models = [recorded, turn].map(({ provider, model }) => `${provider}/${model}`);
    if (models[0] !== models[1]) throw this.#differ(place, "the model", models[0], models[1]);
    const actual = tapedRequest(turn, this.#mask, (json) => this.#names.toTape(json));
    if (actual.digest === recorded.request?.digest) return;
    const expected = this.#recorded.requestOf(run, recorded);
    if (expected === undefined) throw cutLine(this.#tape.name, `the request of step ${turn.step} of ${turn.ref}`);
    const found = requestDifference(expected, actual);
    if (found !== undefined) throw this.#differ(place, found.part, found.expected, found.actual);
  }

  async #runAgain(call: RecordedCall, signal: AbortSignal | undefined): Promise<ReplayedRun> {
    const { ref, input, attachments = [] } = call.line;
    const done = { ref, input };
    const attached = attachments.map((each) => attachmentOnTape(each) ?? this.#unread());
    let answer: Content;
    try {
      answer = await this.toolkit.call(ref, input ?? {}, present({ signal, attachments: attached }));
    } catch (error) {
      signal?.throwIfAborted();
      if (this.#difference !== undefined) throw this.#difference;
      const expected = call.end?.error;
      const actual = isRecord(error) ? { code: error.code, message: error.message } : { message: String(error) };
      if (expected === undefined || (expected.code ?? "") !== (actual.code ?? ""))
        throw this.#differ({ ref }, "the answer", expected ?? answerBody(call.end?.content), actual);
      return { ...done, error };
    }
    if (this.#difference !== undefined) throw this.#difference;
    const expected = call.end?.error ?? answerBody(call.end?.content);
    const actual = answerBody(this.#taped(answer));
    const isKnown = call.end !== undefined && call.end.cut === undefined;
    if (isKnown && canonicalJson(expected) !== canonicalJson(actual))
      throw this.#differ({ ref }, "the answer", expected, actual);
    return { ...done, answer };
  }

  /** A value as it would be on the tape. */
  #taped(value: unknown): unknown {
    const json = JSON.stringify(this.#mask.value(tapedValue(value)));
    return json === undefined ? undefined : JSON.parse(this.#names.toTape(json));
  }

  #unread(): never {
    throw cutLine(this.#tape.name, "an attachment, which was not read when it was recorded,");
  }

  /** The error of the first difference: what comes after it follows from it. */
  #differ(place: DifferencePlace, part: string, expected: unknown, actual: unknown): ToolkitError<"REPLAY_DIFFERS"> {
    this.#difference ??= differs(place, part, expected, actual);
    return this.#difference;
  }
}
