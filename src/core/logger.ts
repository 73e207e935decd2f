import { isPromiseLike } from "../lib/promise.ts";
import type { Logger } from "./session.ts";

const nothing = () => undefined;

/** Where nobody listens: the library never writes to the console by itself. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** The user's logger, with whatever it throws or rejects with swallowed: there is nobody left to tell, and a call must not fail for it. */
export function steadyLogger(logger: Logger): Logger {
  const steady = (method: keyof Logger) => (message: string, details?: unknown) => {
    try {
      const result: unknown = details === undefined ? logger[method](message) : logger[method](message, details);
      if (isPromiseLike(result)) Promise.resolve(result).catch(() => undefined);
    } catch {}
  };
  return { debug: steady("debug"), info: steady("info"), warn: steady("warn"), error: steady("error") };
}
