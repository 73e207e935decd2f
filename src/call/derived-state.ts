import type { AgentEvent } from "../core/agent-event.ts";
import type { ContextOverrides, Toolbox } from "../core/item.ts";
import { steadyLogger } from "../core/logger.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import { denied } from "../core/policy.ts";
import { assertAttachments, type Logger, type Session } from "../core/session.ts";
import { readSignal } from "../core/signal.ts";
import type { ConcurrencyLimit } from "../lib/concurrency-queue.ts";
import { present } from "../lib/value.ts";
import { type CallOrigin, CallState } from "./call-state.ts";

const overrideNames: OptionNames<ContextOverrides> = {
  signal: true,
  session: true,
  meta: true,
  logger: true,
  attachments: true,
  toolbox: true,
  onProgress: true,
  onEvent: true,
};

/**
 * The state of a context that was derived from another: some parts are its own, and time, limits and nesting those of the call. It is
 * never waited for, and listens to nothing of its own accord, so that any number may be derived.
 */
export class DerivedState extends CallState {
  readonly #from: CallState;
  readonly #overrides: ContextOverrides;
  readonly #given: AbortSignal | undefined;
  readonly #logger: Logger | undefined;
  #joined: AbortSignal | undefined;
  #listeners: Map<(reason: unknown) => void, () => void> | undefined;

  /** @throws ToolkitError `DENIED`, `INVALID_INPUT` or `INVALID_CONFIG`, as `CallContext.derive` */
  constructor(from: CallState, overrides: ContextOverrides) {
    assertOptionNames(overrides, overrideNames, "of derive");
    const { meta, attachments, onProgress, onEvent, logger, toolbox } = overrides;
    if (toolbox !== undefined && !mayUse(toolbox, from)) {
      throw denied(from.ref, "view", {
        why: "a call that was made through a view takes no other toolbox than its own context.toolbox",
      });
    }
    if (attachments !== undefined) assertAttachments(attachments);
    const session = overrides.session && from.origin.sessionFor(overrides.session);
    const own = present({ session, meta, attachments, onProgress, onEvent });
    super(from.host, from.subject, Object.assign(Object.create(from.options), own), from.origin);
    this.trace = from.trace;
    this.#from = from;
    this.#overrides = overrides;
    this.#given = readSignal(overrides);
    this.#logger = logger && steadyLogger(logger);
  }

  override get call(): object {
    return this.#from.call;
  }

  override get base(): CallState {
    return this.#from.base;
  }

  override on(base: CallState): CallState {
    return base === this.base ? this : new DerivedState(this.#from.on(base), this.#overrides);
  }

  override get session(): Session {
    return Object.hasOwn(this.options, "session") ? super.session : this.#from.session;
  }

  override get ownLogger(): Logger {
    return this.#logger ?? this.#from.ownLogger;
  }

  override get toolbox(): Toolbox {
    return this.givenToolbox ?? super.toolbox;
  }

  override get passedMeta(): ContextOverrides["meta"] {
    return this.#overrides.meta ?? this.#from.passedMeta;
  }

  override get givenToolbox(): Toolbox | undefined {
    return this.#overrides.toolbox ?? this.#from.givenToolbox;
  }

  override get limits(): readonly ConcurrencyLimit[] {
    return this.#from.limits;
  }

  override get isShared(): boolean {
    return this.#from.isShared;
  }

  override get waitingFor(): (() => Error | undefined) | undefined {
    return this.#from.waitingFor;
  }

  override set waitingFor(error: (() => Error | undefined) | undefined) {
    this.#from.waitingFor = error;
  }

  override get signal(): AbortSignal {
    if (this.#given === undefined) return this.#from.signal;
    this.#joined ??= AbortSignal.any([this.#from.signal, this.#given]);
    return this.#joined;
  }

  // Not the joined signal: a listener on that would keep it in memory for as long as the given one lives.
  override get innerSignals(): readonly AbortSignal[] {
    const { innerSignals } = this.#from;
    return this.#given === undefined ? innerSignals : [...innerSignals, this.#given];
  }

  override get isAborted(): boolean {
    return this.#from.isAborted || this.#given?.aborted === true;
  }

  override throwIfAborted(): void {
    this.#from.throwIfAborted();
    this.#given?.throwIfAborted();
  }

  override onAbort(listener: (reason: unknown) => void): void {
    const { signal } = this;
    const onAbort = () => listener(signal.reason);
    if (this.#given === undefined) this.#from.onAbort(listener);
    else if (signal.aborted) onAbort();
    else {
      this.#listeners ??= new Map();
      this.#listeners.set(listener, onAbort);
      signal.addEventListener("abort", onAbort, { once: true });
    }
  }

  override offAbort(listener: (reason: unknown) => void): void {
    const onAbort = this.#listeners?.get(listener);
    if (onAbort === undefined) this.#from.offAbort(listener);
    else {
      this.#listeners?.delete(listener);
      this.signal.removeEventListener("abort", onAbort);
    }
  }

  override keepAlive(): void {
    this.#from.keepAlive();
  }

  override pauseTimeout(): () => void {
    return this.#from.pauseTimeout();
  }

  override async progress(progress: number, total?: number, message?: string): Promise<boolean> {
    if (this.isAborted) return false;
    if (this.#overrides.onProgress === undefined) return this.#from.progress(progress, total, message);
    return super.progress(progress, total, message);
  }

  override emit(event: AgentEvent): void | PromiseLike<void> {
    if (this.#overrides.onEvent === undefined) return this.#from.emit(event);
    return super.emit(event);
  }
}

/** In a view the toolbox of the same call alone: what another one shows is not known. */
function mayUse(toolbox: Toolbox, from: CallState): boolean {
  return !from.isConfined || (toolbox as Partial<CallOrigin>).parent?.base === from.base;
}
