/** A value, now or later. */
export type Awaitable<T> = T | PromiseLike<T>;

/** A value, now or later, where later is a real promise: what our own code hands on. */
export type MaybePromise<T> = T | Promise<T>;

/** True for whatever has a `then`. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

/**
 * Goes on with a value at once where it is there already, so that what is synchronous stays so. Only a real promise is waited for: a
 * value that happens to have a `then` is a value.
 */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Runs something and puts another error in the place of whatever it throws, now or later. */
export function rescue<T>(run: () => Awaitable<T>, errorFor: (thrown: unknown) => unknown): MaybePromise<T> {
  try {
    const result = run();
    if (!isPromiseLike(result)) return result;
    return genuine(result).then(undefined, (thrown) => {
      throw errorFor(thrown);
    });
  } catch (thrown) {
    throw errorFor(thrown);
  }
}

/** A real promise of a foreign thenable, whose own `then` may return nothing, call back twice or throw. */
export function genuine<T>(promise: PromiseLike<T>): Promise<T> {
  return promise instanceof Promise ? promise : Promise.resolve(promise);
}

/** Calls foreign code without waiting for its result. Its error or rejection goes to `onError`. */
export function runDetached(run: () => unknown, onError: (error: unknown) => void): void {
  try {
    const result = run();
    if (isPromiseLike(result)) Promise.resolve(result).catch(onError);
  } catch (error) {
    onError(error);
  }
}

/** Rejects with the signal's reason when it aborts first; leaves no listener behind. */
export function abortable<T>(promise: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return Promise.resolve(promise);
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) {
      Promise.resolve(promise).catch(() => undefined);
      reject(signal.reason);
      return;
    }
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(
      (value) => {
        signal.removeEventListener("abort", onAbort);
        resolve(value);
      },
      (error) => {
        signal.removeEventListener("abort", onAbort);
        reject(error);
      },
    );
  });
}

/** Work in progress that must have ended before something is closed. */
export class PendingWork {
  readonly #work = new Set<Promise<void>>();

  /** Adds work that `settled` waits for, whether it fulfils or rejects. */
  add(work: Promise<unknown>): void {
    const nothing = () => undefined;
    const entry: Promise<void> = work.then(nothing, nothing).finally(() => this.#work.delete(entry));
    this.#work.add(entry);
  }

  /** Resolves when all of it has settled, work added meanwhile included. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }
}
