import type { AsyncLocalStorage } from "node:async_hooks";
import type {
  CallObserver,
  ObservedCall,
  ObservedEnd,
  ObservedQuestion,
  ObservedToolkit,
  ObservedTurn,
} from "../call/observers.ts";
import type { Connection } from "../core/connection.ts";
import { definitionOf } from "../core/entry.ts";
import { messageOf } from "../core/error.ts";
import type { ListChange, ListEventType, ToolkitEvent } from "../core/event.ts";
import type { Entry } from "../core/item.ts";
import { digest } from "../lib/canonical.ts";
import { LruCache } from "../lib/lru-cache.ts";
import { packageVersion } from "../lib/package.ts";
import { present } from "../lib/value.ts";
import { type TapeLine, tapeVersion } from "./tape-format.ts";
import { TapeMask } from "./tape-mask.ts";
import type { TapeWriter } from "./tape-writer.ts";
import { tapedError, tapedRequest, tapedValue } from "./taped-values.ts";

/** The parts of a recording. */
export interface RecordingParts {
  readonly toolkit: ObservedToolkit;
  readonly connections: readonly Connection[];
  readonly writer: TapeWriter;
  /** Globs on keys whose values are masked, beside those that always are. */
  readonly redact: readonly string[];
  /** Is set within the run that is recorded; undefined where everything is. */
  readonly scope: AsyncLocalStorage<true> | undefined;
  /** Listens to all events until the returned function is called. */
  readonly listen: (listener: (event: ToolkitEvent) => void) => () => void;
}

/** The messages of the last turn of a run, by their digests, and the tools that it offered. */
interface LastTurn {
  readonly messages: readonly string[];
  readonly offered: string;
}

const listKinds: Readonly<Record<ListEventType, "tool" | "prompt" | "resource">> = {
  toolListChanged: "tool",
  promptListChanged: "prompt",
  resourceListChanged: "resource",
};

/** Writes the lines of a tape as things happen. */
export class ToolkitRecording implements CallObserver {
  readonly #toolkit: ObservedToolkit;
  readonly #writer: TapeWriter;
  readonly #mask: TapeMask;
  readonly #scope: AsyncLocalStorage<true> | undefined;
  readonly #beganAt: number;
  readonly #ids = new WeakMap<object, number>();
  readonly #items = new LruCache<true>({ maxEntries: 10_000 });
  readonly #turns = new LruCache<LastTurn>({ maxEntries: 1_000 });
  readonly #ends: readonly (() => void)[];
  #calls = 0;
  #running = 0;
  #closing: Promise<void> | undefined;
  #isWarned = false;

  constructor({ toolkit, connections, writer, redact, scope, listen }: RecordingParts) {
    this.#toolkit = toolkit;
    this.#scope = scope;
    this.#mask = new TapeMask(redact);
    this.#writer = writer;
    this.#beganAt = toolkit.clock.now();
    const beganAt = new Date(this.#beganAt).toISOString();
    this.#put({ type: "tape", version: tapeVersion, toolweave: packageVersion(), beganAt, redact });
    for (const { namespace, state } of connections)
      if (state === "connected") this.#put({ type: "connection", at: 0, namespace, state });
    this.#ends = [toolkit.observers.add(this), listen((event) => this.#unharmed(() => this.#record(event)))];
  }

  call(call: ObservedCall): ((end: ObservedEnd) => void) | undefined {
    const { key, parent, verb, entry, input, attachments, principal } = call;
    if (!this.#includes(parent)) return undefined;
    const id = ++this.#calls;
    this.#ids.set(key, id);
    this.#running += 1;
    const at = this.#now();
    this.#unharmed(() => {
      this.#item(entry);
      const outer = parent && this.#ids.get(parent);
      const given = { input: tapedValue(input), principal };
      const attached = attachments.length === 0 ? undefined : attachments.map(tapedValue);
      const { kind, ref } = entry;
      this.#put({
        type: "call",
        at,
        call: id,
        ...present({ parent: outer }),
        verb,
        kind,
        ref,
        ...given,
        attachments: attached,
      });
    });
    return (end) => {
      this.#running -= 1;
      const common = { type: "result", at: this.#now(), call: id, durationMs: this.#since(at) } as const;
      this.#unharmed(() => {
        if ("error" in end) this.#put({ ...common, error: tapedError(end.error) });
        else this.#put({ ...common, [verb === "render" ? "rendered" : "content"]: tapedValue(end.value) });
      });
    };
  }

  turn(turn: ObservedTurn): ((end: ObservedEnd) => void) | undefined {
    if (this.#scope !== undefined && !this.#includes(turn.call)) return undefined;
    const at = this.#now();
    return (end) => this.#unharmed(() => this.#putTurn(turn, at, end));
  }

  question({ kind, request, context }: ObservedQuestion): ((end: ObservedEnd) => void) | undefined {
    if (!this.#isRunning) return undefined;
    const at = this.#now();
    return (end) =>
      this.#unharmed(() => {
        const asked = { kind, requester: context.requester, durationMs: this.#since(at), request };
        const outcome = "error" in end ? { error: tapedError(end.error) } : { answer: end.value };
        this.#put({ type: "question", at, ...asked, ...outcome });
      });
  }

  /** Writes the last line, and closes the file. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const end of this.#ends) end();
    this.#writer.write({ type: "end", at: this.#now(), dropped: this.#writer.dropped });
    await this.#writer.close();
    this.#warn();
  }

  /** Of one run only what it calls is recorded, and what that calls. */
  #includes(parent: object | undefined): boolean {
    if (this.#scope === undefined || this.#scope.getStore() === true) return true;
    return parent !== undefined && this.#ids.has(parent);
  }

  /** A server that asks does not say in which call. */
  get #isRunning(): boolean {
    return this.#scope === undefined || this.#running > 0;
  }

  #now(): number {
    return rounded(this.#toolkit.clock.now() - this.#beganAt);
  }

  #since(at: number): number {
    return rounded(this.#now() - at);
  }

  #item(entry: Entry): void {
    const { kind, ref, namespace, name } = entry;
    if (kind === "template") return;
    const { fingerprint, title, description, input, output, annotations, mediaType, options } = definitionOf(entry);
    const key = `${kind} ${ref} ${fingerprint}`;
    if (this.#items.get(key) === true) return;
    this.#items.set(key, true);
    const described = { title, description, input, output, annotations, mediaType };
    const shown = present({ ...described, options: options && shownOptions(options) });
    this.#writer.write(
      this.#mask.described({ type: "item", at: this.#now(), kind, ref, namespace, name, ...shown }) as TapeLine,
    );
  }

  #putTurn(turn: ObservedTurn, at: number, end: ObservedEnd): void {
    const { call, run, ref, step, provider, model, api, offered } = turn;
    for (const entry of offered) this.#item(entry as Entry);
    const { messages, ...request } = tapedRequest(turn, this.#mask);
    const before = this.#turns.get(run);
    const digests = messages.map((message) => digest(message));
    const differing = digests.findIndex((each, index) => each !== before?.messages[index]);
    const kept = differing === -1 ? digests.length : differing;
    const refs = offered.map((entry) => entry.ref);
    const isSame = before?.offered === refs.join("\n");
    this.#turns.set(run, { messages: digests, offered: refs.join("\n") });
    const common = { type: "turn", at, run, ref, step, provider, model, api, durationMs: this.#since(at) } as const;
    const outcome = "error" in end ? { error: tapedError(end.error) } : { answer: end.value };
    const number = call && this.#ids.get(call);
    this.#put({
      ...common,
      ...present({ call: number, offered: isSame ? undefined : refs }),
      request: { ...request, kept, added: messages.slice(kept) },
      ...outcome,
    });
  }

  #record(event: ToolkitEvent): void {
    const at = this.#now();
    switch (event.type) {
      case "toolListChanged":
      case "promptListChanged":
      case "resourceListChanged":
        this.#put({ type: "list", at, kind: listKinds[event.type], ...changesOf(event) });
        break;
      case "connectorConnected":
        this.#put({ type: "connection", at, namespace: event.namespace, state: "connected" });
        break;
      case "connectorDisconnected":
      case "connectorRemoved": {
        const state = event.type === "connectorRemoved" ? "removed" : "disconnected";
        this.#put({ type: "connection", at, namespace: event.namespace, state, message: event.error?.message });
        break;
      }
      case "approvalRequested":
        if (this.#isRunning)
          this.#put({ type: "approval", at, id: event.id, ref: event.ref, status: "pending", reason: event.reason });
        break;
      case "approvalResolved": {
        const { id, ref, status, reason, by } = event;
        if (this.#isRunning) this.#put({ type: "approval", at, id, ref, status, reason, by });
        break;
      }
      default:
    }
  }

  #put(line: object): void {
    this.#writer.write(this.#mask.value(line) as TapeLine);
  }

  /** A tape must not harm what it records. */
  #unharmed(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#writer.drop();
      this.#toolkit.logger.debug(`A line of a tape could not be made: ${messageOf(error)}`, { error });
    }
    this.#warn();
  }

  /** Once, however many lines are missing. */
  #warn(): void {
    const { dropped, failure } = this.#writer;
    if (this.#isWarned || (dropped === 0 && failure === undefined)) return;
    this.#isWarned = true;
    const why = failure === undefined ? "raise maxBytes, or record less" : messageOf(failure);
    this.#toolkit.logger.warn(`A tape lacks lines from now on: ${why}.`);
  }
}

/** To microseconds. */
function rounded(ms: number): number {
  return Math.max(0, Math.round(ms * 1_000) / 1_000);
}

function changesOf({ namespace, added, removed, changed }: ListChange): object {
  const some = (refs: readonly string[]) => (refs.length === 0 ? undefined : refs);
  return { namespace, ...present({ added: some(added), removed: some(removed), changed: some(changed) }) };
}

/** The options that a model run looks at. Others concern the run of the tool, which a tape answers. */
function shownOptions(options: NonNullable<ReturnType<typeof definitionOf>["options"]>): object | undefined {
  const { guidance, formatGuidance, takesControl, exclusive, capability } = options;
  const shown = present({ guidance, formatGuidance, takesControl, exclusive, capability });
  return Object.keys(shown).length === 0 ? undefined : shown;
}
