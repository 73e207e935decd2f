import { runDetached } from "./promise.ts";

/** An event: anything with a type. */
export interface TypedEvent {
  readonly type: string;
}

interface Listener<E> {
  readonly receive: (event: E) => unknown;
  /** The number of the last event before the listener was added: it receives those after. */
  readonly since: number;
  active: boolean;
}

/**
 * Delivers events in the order in which they were emitted, each after the code that emitted it has returned: a listener sees the
 * state the event speaks of, and events it causes itself are delivered afterwards, to all.
 */
export class Emitter<E extends TypedEvent> {
  /** By type. @internal */
  readonly listeners = new Map<string, Set<Listener<E>>>();
  readonly #onError: (error: unknown, event: E) => void;
  #queue: { readonly event: E; readonly number: number }[] = [];
  #emitted = 0;

  constructor(onError: (error: unknown, event: E) => void) {
    this.#onError = onError;
  }

  /** True where the type has a listener: without one, the event need not be made. */
  hasListeners(type: E["type"]): boolean {
    return this.listeners.size > 0 && (this.listeners.has(type) || this.listeners.has("*"));
  }

  /** Listens to a type, or to all with `*`, to what is emitted from now on and until the returned function is called. */
  on(type: E["type"] | "*", listener: (event: E) => void): () => void {
    // One of its own, so that a function that listens twice is two listeners.
    const own: Listener<E> = { receive: listener, since: this.#emitted, active: true };
    let listeners = this.listeners.get(type);
    if (listeners === undefined) {
      listeners = new Set();
      this.listeners.set(type, listeners);
    }
    listeners.add(own);
    return () => {
      own.active = false;
      const current = this.listeners.get(type);
      current?.delete(own);
      if (current?.size === 0) this.listeners.delete(type);
    };
  }

  emit(event: E): void {
    if (!this.hasListeners(event.type)) return;
    this.#emitted += 1;
    this.#queue.push({ event, number: this.#emitted });
    if (this.#queue.length === 1) queueMicrotask(() => this.flush());
  }

  /** Delivers now whatever was emitted. */
  flush(): void {
    while (this.#queue.length > 0) {
      const events = this.#queue;
      this.#queue = [];
      for (const { event, number } of events) this.#deliver(event, number);
    }
  }

  #deliver(event: E, number: number): void {
    for (const listener of [...(this.listeners.get("*") ?? []), ...(this.listeners.get(event.type) ?? [])]) {
      if (!listener.active || listener.since >= number) continue;
      runDetached(
        () => listener.receive(event),
        (error) => this.#onError(error, event),
      );
    }
  }
}
