import type { Logger } from "../../src/core/session.ts";

/** A logger that keeps warnings, and nothing else. */
export function warningsLogger(warnings: string[] = []): { readonly warnings: string[]; readonly logger: Logger } {
  const ignore = () => undefined;
  const warn = (message: string) => void warnings.push(message);
  return { warnings, logger: { debug: ignore, info: ignore, error: ignore, warn } };
}
