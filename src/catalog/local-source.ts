import { type Definition, readDefinition } from "../core/definition.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { type Item, type Kind, kinds, type ListFailure } from "../core/item.ts";
import type { Logger } from "../core/session.ts";
import type { Source, SourceChange } from "../core/source.ts";
import type { Clock } from "../lib/clock.ts";
import { Coalescer } from "../lib/coalesce.ts";
import { FirstAttempt } from "../lib/first-attempt.ts";
import { runDetached } from "../lib/promise.ts";
import { Turns } from "../lib/turns.ts";
import type { Catalog } from "./catalog.ts";
import type { Registration } from "./deferred-items.ts";
import type { Namespace } from "./namespace.ts";
import type { NamespaceChange } from "./namespace-change.ts";
import { SourceFailures } from "./source-failures.ts";

/** The parts of a toolkit that a local source needs. */
export interface LocalSourceHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time that lookups and `start` wait for it to be read, in milliseconds. */
  readonly startTimeoutMs: number;
  emit(event: ToolkitEvent): void;
}

const burstMs = 20;

/** Kinds that are read together, because one event reports them. */
const groups: readonly (readonly Kind[])[] = [["tool"], ["prompt"], ["resource", "template"]];

/** A user's Source in a namespace of its own: read once, and again whatever it says has changed. */
export class LocalSource {
  readonly #source: Source;
  readonly #host: LocalSourceHost;
  readonly #namespace: Namespace;
  readonly #abort = new AbortController();
  readonly #reload: Coalescer<Kind>;
  /** Why a kind could not be read. */
  readonly #unread = new Map<Kind, ListFailure>();
  readonly #problems: SourceFailures;
  readonly #reading = new Set<Kind>();
  /** Of a source whose items never change: those that were read. */
  readonly #known = new WeakMap<Item, Registration>();
  /** And its lists as they were read last, without a failure. */
  readonly #last = new Map<Kind, readonly Item[]>();
  readonly #settling = new FirstAttempt();
  #unwatch: (() => void) | undefined;

  /** @throws ToolkitError `CONFLICT` when the namespace is taken; `INVALID_INPUT` for what is no source; whatever its `watch` throws. Nothing is mounted then. */
  constructor(name: string, source: Source, host: LocalSourceHost) {
    assertSource(name, source);
    this.#source = source;
    this.#host = host;
    this.#problems = new SourceFailures(name, source, host);
    this.#namespace = host.catalog.mount(name, {
      settling: () => this.#settling.pending,
      failures: () => [...this.#unread.values(), ...this.#problems.failures],
      subscribe: source.subscribe?.bind(source),
    });
    const { clock, startTimeoutMs } = host;
    this.#reload = new Coalescer((changed) => this.#load(changed), {
      delayMs: burstMs,
      clock,
      onError: (error) => host.logger.error(`The source ${name} failed: ${messageOf(error)}`, { error }),
    });
    this.#settling.limit(clock, startTimeoutMs, () => this.#late(startTimeoutMs));
    try {
      this.#unwatch = source.watch?.((change) => this.#changed(change));
    } catch (error) {
      this.close();
      throw error;
    }
    void this.#load(new Set(kinds)).then(() => this.#settling.settle());
  }

  get namespace(): string {
    return this.#namespace.name;
  }

  /** Resolves when it was read once, took longer than `startTimeoutMs`, or was closed. */
  async settled(): Promise<void> {
    await this.#settling.pending;
  }

  /** Takes its namespace away. */
  close(): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort(new ToolkitError("CLOSED", `The source ${this.namespace} is closed.`, { what: this.namespace }));
    this.#reload.stop();
    runDetached(
      () => this.#unwatch?.(),
      (error) =>
        this.#host.logger.error(`The source ${this.namespace} did not stop watching: ${messageOf(error)}`, { error }),
    );
    this.#host.catalog.unmount(this.#namespace);
    this.#settling.settle();
  }

  /** Lookups and `start` wait no longer for kinds that have not been read; they come when they come. */
  #late(afterMs: number): void {
    for (const kind of this.#reading) this.#fail(kind, new Error(`no answer within ${afterMs} ms`));
  }

  #changed({ kind, uri }: SourceChange): void {
    if (this.#abort.signal.aborted) return;
    if (uri !== undefined) this.#host.emit({ type: "resourceUpdated", namespace: this.namespace, uri });
    else if (kinds.includes(kind)) this.#reload.request(kind);
    else
      this.#host.logger.warn(
        `The source ${this.namespace} says that a ${messageOf(kind)} changed: there is no such kind.`,
      );
  }

  /** Reads what is wanted. What takes long, or fails, keeps back nothing else. It never rejects. */
  async #load(wanted: ReadonlySet<Kind>): Promise<void> {
    await Promise.all(groups.map((group) => this.#loadGroup(group.filter((kind) => wanted.has(kind)))));
  }

  async #loadGroup(group: readonly Kind[]): Promise<void> {
    if (group.length === 0) return;
    const lists = await Promise.all(group.map(async (kind) => [kind, await this.#read(kind)] as const));
    if (this.#abort.signal.aborted) return;
    this.#problems.refresh();
    const replaced = new Map<Kind, readonly Registration[]>();
    for (const [kind, list] of lists) {
      if (list === undefined) continue;
      if ("change" in list) this.#host.catalog.change(this.#namespace, list.change);
      else replaced.set(kind, list);
    }
    if (replaced.size > 0) this.#host.catalog.replace(this.#namespace, replaced);
  }

  /** The items of a kind, or their change; undefined where they cannot be read: what there was stays, and the failure is shown. */
  async #read(kind: Kind): Promise<readonly Registration[] | { readonly change: NamespaceChange } | undefined> {
    this.#reading.add(kind);
    try {
      const items: readonly Item[] = (await this.#source[kind]?.({ signal: this.#abort.signal })) ?? [];
      this.#unread.delete(kind);
      const change = this.#changeOf(kind, items);
      this.#last.delete(kind);
      const read = change === undefined ? await this.#registrations(kind, items) : { change };
      if (this.#source.immutable === true && !this.#unread.has(kind)) this.#last.set(kind, items);
      return read;
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#fail(kind, error);
      return undefined;
    } finally {
      this.#reading.delete(kind);
    }
  }

  /** The change since the last list, so that what is the same is only compared; undefined where all items are to be looked at. */
  #changeOf(kind: Kind, items: readonly Item[]): NamespaceChange | undefined {
    const last = this.#last.get(kind);
    // Resources and templates are one event.
    if (last === undefined || kind === "resource" || kind === "template") return undefined;
    const [gone, come] = differing(last, items);
    const removed = new Set(gone.map((item) => this.#known.get(item)?.definition.key ?? ""));
    const put = new Map<string, Registration>();
    for (const item of come) {
      const { definition } = this.#known.get(item) ?? { definition: definitionIn(item, kind) };
      if (definition === undefined || put.has(definition.key)) return undefined;
      if (!removed.has(definition.key) && this.#namespace.has(kind, definition.key)) return undefined;
      put.set(definition.key, { definition, item });
    }
    for (const registration of put.values()) this.#known.set(registration.item, registration);
    const remove = [...removed].filter((key) => !put.has(key)).map((key) => ({ kind, key }));
    return { put: [...put.values()], remove };
  }

  async #registrations(kind: Kind, items: readonly Item[]): Promise<Registration[]> {
    const registrations = new Map<string, Registration>();
    const turns = new Turns();
    for (const item of items) {
      if (turns.isOver) await turns.next();
      try {
        const known = this.#known.get(item);
        const definition = known?.definition ?? readDefinition(item, "local");
        if (definition.kind !== kind) throw new TypeError(`a ${definition.kind} stands in its list of ${kind}s`);
        if (registrations.has(definition.key)) throw new TypeError(`the ${kind} "${definition.key}" is listed twice`);
        // Made now: what JSON cannot hold throws here, where it harms this one only.
        void definition.fingerprint;
        const registration = known ?? { definition, item };
        registrations.set(definition.key, registration);
        if (this.#source.immutable === true) this.#known.set(item, registration);
      } catch (error) {
        // One bad item takes no sibling with it.
        this.#fail(kind, error);
      }
    }
    return [...registrations.values()];
  }

  #fail(kind: Kind, cause: unknown): void {
    const message = `The source ${this.namespace} could not give its ${kind}s: ${messageOf(cause)}`;
    this.#host.logger.warn(message, { error: cause });
    const error = ToolkitError.is(cause)
      ? cause
      : new ToolkitError("UNAVAILABLE", message, { namespace: this.namespace }, { cause });
    this.#unread.set(kind, { namespace: this.namespace, error, since: Math.floor(this.#host.clock.now()) });
  }
}

/** The items that only one of two lists has at its place, but for those that both begin or end with. */
function differing(before: readonly Item[], after: readonly Item[]): readonly [readonly Item[], readonly Item[]] {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  let [end, afterEnd] = [before.length, after.length];
  for (; end > start && afterEnd > start && before[end - 1] === after[afterEnd - 1]; end -= 1) afterEnd -= 1;
  const [gone, come] = [before.slice(start, end), after.slice(start, afterEnd)];
  if (gone.length !== come.length) return [gone, come];
  return [gone.filter((item, at) => item !== come[at]), come.filter((item, at) => item !== gone[at])];
}

/** The definition of an item; undefined where it has none that JSON can hold, or is of another kind. */
function definitionIn(item: Item, kind: Kind): Definition | undefined {
  try {
    const definition = readDefinition(item, "local");
    void definition.fingerprint;
    return definition.kind === kind ? definition : undefined;
  } catch {
    return undefined;
  }
}

function assertSource(name: string, source: unknown): void {
  if (typeof source === "object" && source !== null) return;
  const message = `must be an object with a function for each kind it has, and is ${messageOf(source)}`;
  throw new ToolkitError("INVALID_INPUT", `The source "${name}" ${message}.`, { issues: [{ pointer: "", message }] });
}
