import type { LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import { type AiSdkContentPart, type AiSdkOutput, toAiSdkOutput } from "../../adapters/answer-content.ts";
import { callStateOf } from "../../call/call-port.ts";
import type { CallContext } from "../../core/item.ts";
import type { Content } from "../../core/resource.ts";
import { madeUpSessions } from "../../core/session.ts";
import type { Store } from "../../core/store.ts";
import { textContent } from "../../resource/content.ts";
import type { RunTool } from "../../toolset/run-tool.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import type { KnownLimits, ParsedAgentOptions } from "../agent-options.ts";
import { type ResultOwner, resultOwner } from "../results/result-owner.ts";
import type { ResultReader, StoredResults } from "../results/result-reader.ts";

/** The long results of a suspended run. */
export interface OwnedResults extends StoredResults {
  readonly owner: ResultOwner;
}

const noResults: StoredResults = { count: 0, contents: [] };

/** Options of the results of a run. */
export interface RunResultsOptions {
  /** The id of the run. */
  readonly run: string;
  readonly limits: KnownLimits;
  readonly options: ParsedAgentOptions;
  readonly context: CallContext;
  readonly signal: AbortSignal;
  /** Of the toolkit that the agent serves; undefined for a run outside of any. */
  readonly store: Store | undefined;
  /** True for the name of another tool of the run. */
  isTaken(name: string): boolean;
  /** Offers further tools from the next turn on. */
  offer(tools: readonly RunTool[]): void;
}

/** The results of the tools of one run. What is too long for the conversation is kept, and the tools that read it are offered from then on. */
export class RunResults {
  readonly #options: RunResultsOptions;
  #opening: Promise<ResultReader> | undefined;
  #reader: ResultReader | undefined;

  #owner: ResultOwner | undefined;

  constructor(options: RunResultsOptions) {
    const { context } = options;
    if (callStateOf(context)?.givenSession === undefined) madeUpSessions.add(context.session);
    this.#options = options;
  }

  /** True for a text within the limit of the conversation. */
  fits(text: string): boolean {
    return Buffer.byteLength(text) <= this.#options.limits.maxResultBytes;
  }

  /** True for a tool that reads results: its own are within the limit. */
  isReading(name: string): boolean {
    return this.#reader !== undefined && Object.values(this.#reader.names).includes(name);
  }

  /** For the record of a suspended run. */
  toJSON(): OwnedResults {
    return { ...(this.#reader?.toJSON() ?? noResults), owner: this.#ownerOf() };
  }

  /** Makes what is kept of a run, or of the conversation it continues, readable from its first turn on. */
  async restore(messages: LanguageModelV4Prompt, stored: OwnedResults | undefined): Promise<void> {
    this.#owner = stored?.owner;
    const { count = 0 } = stored ?? {};
    if (count === 0 && !messages.some(namesResult)) return;
    const reader = await this.open();
    if (stored !== undefined) reader.restore(stored);
  }

  /** The reader of what is kept. It is imported, and its tools are offered, once a run needs it. */
  open(): Promise<ResultReader> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<ResultReader> {
    const { run, limits, options, context, signal, store: given, isTaken, offer } = this.#options;
    const [{ openResults }, { KeptResults, ownStoreOf }] = await Promise.all([
      import("../results/result-tools.ts"),
      import("../results/kept-results.ts"),
    ]);
    const { clock, results } = options;
    const store = given ?? ownStoreOf(options, clock);
    const kept = new KeptResults({ store, clock, logger: context.logger, ...results });
    const reading = { run, maxBytes: limits.maxResultBytes, owner: this.#ownerOf(), kept };
    const opened = openResults(reading, { isTaken, signal });
    offer(opened.tools);
    this.#reader = opened.reader;
    return opened.reader;
  }

  #ownerOf(): ResultOwner {
    this.#owner ??= resultOwner(callStateOf(this.#options.context)?.givenSession);
    return this.#owner;
  }
}

const uriPattern = /result:[\da-f-]{36}\/\d/;

/** True for results in which the URI of a kept one stands. */
function namesResult({ role, content }: LanguageModelV4Prompt[number]): boolean {
  return role === "tool" && uriPattern.test(JSON.stringify(content));
}

/** A result for a model. */
export interface ShownResult {
  readonly part: LanguageModelV4ToolResultPart;
  /** The URI of the kept result; undefined where it is shown whole. */
  readonly uri: string | undefined;
}

/**
 * The answer to a call for the model that made it, its beginning where it is too long.
 *
 * @param notes - what the model is told beside it
 */
export async function resultPart(
  answer: ToolAnswer,
  results: RunResults,
  notes: readonly string[],
): Promise<ShownResult> {
  const whole = await toAiSdkOutput(answer);
  const { output, uri } = results.isReading(answer.name) ? { output: whole } : await bounded(whole, answer, results);
  const shown = notes.reduce(noted, output);
  return { part: { type: "tool-result", toolCallId: answer.id, toolName: answer.name, output: shown }, uri };
}

interface BoundedOutput {
  readonly output: AiSdkOutput;
  readonly uri?: string;
}

async function bounded(output: AiSdkOutput, { content }: ToolAnswer, results: RunResults): Promise<BoundedOutput> {
  const text = textIn(output);
  if (results.fits(text)) {
    // A sub-agent, or an earlier run, may name a result that it has kept.
    if (uriPattern.test(text)) await results.open();
    // Some providers refuse a result that is an empty text.
    return {
      output: output.type === "text" && text === "" ? { ...output, value: "The result is an empty text." } : output,
    };
  }
  const reader = await results.open();
  const kept: Content = content ?? textContent(text, { name: "text" });
  const uri = await reader.add(kept);
  const preview = await reader.preview(uri, kept);
  return { output: inPlaceOf(output, preview), uri };
}

/** The text that counts: files are beside it. */
function textIn(output: AiSdkOutput): string {
  switch (output.type) {
    case "json":
      return JSON.stringify(output.value);
    case "content":
      return output.value.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    case "execution-denied":
      return output.reason ?? "";
    default:
      return output.value;
  }
}

function inPlaceOf(output: AiSdkOutput, text: string): AiSdkOutput {
  switch (output.type) {
    case "json":
      return { type: "text", value: text };
    case "content":
      return {
        type: "content",
        value: [{ type: "text", text }, ...output.value.filter(({ type }) => type !== "text")],
      };
    case "execution-denied":
      return { ...output, reason: text };
    default:
      return { ...output, value: text };
  }
}

/** Notes go into the result: some providers refuse a message between results and answer. */
function noted(output: AiSdkOutput, text: string): AiSdkOutput {
  const note: AiSdkContentPart = { type: "text", text };
  switch (output.type) {
    case "content":
      return { type: "content", value: [...output.value, note] };
    case "json":
      return { type: "content", value: [{ type: "text", text: JSON.stringify(output.value) }, note] };
    case "execution-denied":
      return { ...output, reason: `${output.reason ?? ""}\n\n${text}`.trim() };
    default:
      return { ...output, value: `${output.value}\n\n${text}` };
  }
}
