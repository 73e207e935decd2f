import type { Logger } from "./session.ts";

const nothing = () => undefined;

/** Where nobody listens: the library never writes to the console by itself. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** The user's logger, with whatever it throws swallowed: there is nobody left to tell, and a call must not fail for it. */
export function steadyLogger(logger: Logger): Logger {
  const steady = (method: keyof Logger) => (message: string, details?: unknown) => {
    try {
      if (details === undefined) logger[method](message);
      else logger[method](message, details);
    } catch {}
  };
  return { debug: steady("debug"), info: steady("info"), warn: steady("warn"), error: steady("error") };
}
