/** A value, now or later. */
export type Awaitable<T> = T | PromiseLike<T>;

/** True for whatever has a `then`. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

/** Goes on with a value at once where it is there already, so that what is synchronous stays so. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return isPromiseLike(value) ? (value as PromiseLike<T>).then(next) : next(value as T);
}

/** Runs something and puts another error in the place of whatever it throws, now or later. */
export function rescue<T>(run: () => Awaitable<T>, errorFor: (thrown: unknown) => unknown): Awaitable<T> {
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

/** Somebody's own `then` may give nothing, call back twice or throw: a real promise does none of that. */
function genuine<T>(promise: PromiseLike<T>): Promise<T> {
  return promise instanceof Promise ? promise : Promise.resolve(promise);
}

/**
 * Runs something and goes on with what it gives; puts another error in the place of whatever the run, and only the run, throws. As
 * `andThen` of `rescue`, with one promise less.
 */
export function attempt<T, R>(
  run: () => Awaitable<T>,
  receive: (value: T) => Awaitable<R>,
  errorFor: (thrown: unknown) => unknown,
): Awaitable<R> {
  let result: Awaitable<T>;
  try {
    result = run();
  } catch (thrown) {
    throw errorFor(thrown);
  }
  if (!isPromiseLike(result)) return receive(result);
  return genuine(result).then(receive, (thrown) => {
    throw errorFor(thrown);
  });
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
