import type { RawMessage } from "../server/fixture/raw-client.ts";
import { Quantiles } from "../soak/quantiles.ts";

/** A call that was made, for the comparison of the answer of its client with the runs at its server. */
export interface MadeCall {
  readonly id: string;
  /** A tool that must not run twice, and that counts its runs. */
  readonly isRecord: boolean;
}

/** Codes that say that a call surely did not run. */
const notRun: ReadonlySet<string> = new Set([
  "UNAVAILABLE",
  "RATE_LIMITED",
  "LIMIT_EXCEEDED",
  "NOT_FOUND",
  "INVALID_INPUT",
  "DENIED",
]);

/** The calls of a run: their durations, errors by code, and those that were lost, doubled or mixed up. */
export class LoadLedger {
  readonly durations = new Quantiles();
  readonly errors = new Map<string, number>();
  readonly breaches: string[] = [];
  readonly #records = new Map<string, string>();

  get answered(): number {
    return this.durations.count;
  }

  answer({ id, isRecord }: MadeCall, message: RawMessage, durationMs: number): void {
    this.durations.add(durationMs);
    const code = codeOf(message);
    if (code !== undefined) this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
    if (code === undefined && !JSON.stringify(message.result?.content).includes(id))
      this.breaches.push(`${id}: the answer is of another call: ${JSON.stringify(message).slice(0, 200)}`);
    if (isRecord) this.#records.set(id, code ?? "ok");
  }

  /** No answer came. */
  lose({ id, isRecord }: MadeCall, error: unknown): void {
    this.breaches.push(`${id}: no answer: ${error instanceof Error ? error.message : String(error)}`);
    if (isRecord) this.#records.set(id, "OUTCOME_UNKNOWN");
  }

  /** Compares what was said of each call that must not run twice with how often it ran. */
  settle(runsOf: (id: string) => number): void {
    for (const [id, said] of this.#records) {
      const runs = runsOf(id);
      if (runs > 1) this.breaches.push(`${id}: ran ${runs} times`);
      if (runs === 0 && said === "ok") this.breaches.push(`${id}: succeeded, and did not run`);
      if (runs === 1 && notRun.has(said)) this.breaches.push(`${id}: ${said}, and it ran`);
    }
  }
}

/** The code of a failure: that of the Toolkit, else of JSON-RPC; undefined for a success. */
function codeOf({ result, error }: RawMessage): string | undefined {
  if (error !== undefined) {
    const { data } = error as { readonly data?: Readonly<Record<string, unknown>> };
    return String(data?.["toolweave/code"] ?? error.code);
  }
  if (result?.isError !== true) return undefined;
  const meta = result._meta as Readonly<Record<string, unknown>> | undefined;
  return String(meta?.["toolweave/code"] ?? "TOOL_FAILED");
}
