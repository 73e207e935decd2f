import type { Catalog } from "../catalog/catalog.ts";
import type { Namespace, Registration } from "../catalog/namespace.ts";
import { readDefinition } from "../core/definition.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { type Item, type Kind, kinds, type ListFailure } from "../core/item.ts";
import type { Logger } from "../core/session.ts";
import type { Source } from "../core/source.ts";
import type { Clock } from "../lib/clock.ts";
import { Coalescer } from "../lib/coalesce.ts";

/** What a local source is mounted with. */
export interface LocalSourceHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly logger: Logger;
  emit(event: ToolkitEvent): void;
}

const burstMs = 20;

/** A user's Source in a namespace of its own: read once, and again whatever it says has changed. */
export class LocalSource {
  readonly #source: Source;
  readonly #host: LocalSourceHost;
  readonly #namespace: Namespace;
  readonly #abort = new AbortController();
  readonly #reload: Coalescer<Kind>;
  readonly #problems = new Map<Kind, ListFailure>();
  readonly #unwatch: (() => void) | undefined;
  #loading: Promise<void> | undefined;

  /** @throws ToolkitError `CONFLICT` when the namespace is taken */
  constructor(name: string, source: Source, host: LocalSourceHost) {
    this.#source = source;
    this.#host = host;
    this.#namespace = host.catalog.mount(name, {
      settling: () => this.#loading,
      failures: () => [...this.#problems.values()],
    });
    this.#reload = new Coalescer((changed) => this.#load(changed), { delayMs: burstMs, clock: host.clock });
    this.#unwatch = source.watch?.(({ kind, uri }) => {
      if (this.#abort.signal.aborted) return;
      if (uri === undefined) this.#reload.request(kind);
      else host.emit({ type: "resourceUpdated", namespace: name, uri });
    });
    this.#loading = this.#load(new Set(kinds)).finally(() => {
      this.#loading = undefined;
    });
  }

  get namespace(): string {
    return this.#namespace.name;
  }

  /** Resolves when it was read once. */
  async settled(): Promise<void> {
    await this.#loading;
  }

  /** Takes its namespace away. */
  close(): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort(new ToolkitError("CLOSED", `The source ${this.namespace} is closed.`, { what: this.namespace }));
    this.#reload.stop();
    try {
      this.#unwatch?.();
    } catch (error) {
      this.#host.logger.error(`The source ${this.namespace} did not stop watching: ${messageOf(error)}`, { error });
    }
    this.#host.catalog.unmount(this.#namespace);
  }

  async #load(wanted: ReadonlySet<Kind>): Promise<void> {
    const lists = await Promise.all([...wanted].map(async (kind) => [kind, await this.#read(kind)] as const));
    if (this.#abort.signal.aborted) return;
    this.#host.catalog.replace(
      this.#namespace,
      new Map(lists.flatMap(([kind, list]) => (list === undefined ? [] : [[kind, list]]))),
    );
  }

  /** The items of a kind; undefined where they cannot be read: what there was stays, and the failure is shown. */
  async #read(kind: Kind): Promise<readonly Registration[] | undefined> {
    try {
      const items: readonly Item[] = (await this.#source[kind]?.({ signal: this.#abort.signal })) ?? [];
      this.#problems.delete(kind);
      return this.#registrations(kind, items);
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#fail(kind, error);
      return undefined;
    }
  }

  #registrations(kind: Kind, items: readonly Item[]): Registration[] {
    const registrations = new Map<string, Registration>();
    for (const item of items) {
      try {
        const definition = readDefinition(item, "local");
        if (definition.kind !== kind) throw new TypeError(`a ${definition.kind} stands in its list of ${kind}s`);
        if (registrations.has(definition.key)) throw new TypeError(`the ${kind} "${definition.key}" is listed twice`);
        registrations.set(definition.key, { definition, item });
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
    this.#problems.set(kind, { namespace: this.namespace, error, since: this.#host.clock.now() });
  }
}
