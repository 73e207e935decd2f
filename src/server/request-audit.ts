import { hash } from "node:crypto";
import { messageOf } from "../core/error.ts";
import { runDetached } from "../lib/promise.ts";
import { isRecord, present } from "../lib/value.ts";
import type { AuditRecord, ReadServeOptions } from "./serve-options.ts";
import { callToolName } from "./tool-discovery.ts";
import { auditCode, errorKey } from "./wire/error-form.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The request that a record is of. */
export interface AuditedRequest {
  readonly method: string;
  readonly params: Fields;
  readonly principal: string | undefined;
  readonly session: string | undefined;
  readonly signal: AbortSignal;
}

/** The most characters of a name or URI in a record. */
const maxTarget = 500;

/** Writes a record of each request to the `audit` of the options. Without that it costs nothing. */
export class RequestAudit {
  readonly #options: ReadServeOptions;
  readonly #transport: AuditRecord["transport"];
  #running = 0;
  #idle: (() => void) | undefined;

  constructor(options: ReadServeOptions, transport: AuditRecord["transport"]) {
    this.#options = options;
    this.#transport = transport;
  }

  /** Runs a request, and writes down how it ended. */
  async run(request: AuditedRequest, work: () => Promise<Fields>): Promise<Fields> {
    const { audit, clock } = this.#options;
    const startedAt = clock.now();
    this.#running += 1;
    try {
      const result = await work();
      if (audit !== undefined) this.#write(request, startedAt, outcomeOf(result, request.signal));
      return result;
    } catch (error) {
      const outcome = request.signal.aborted ? "cancelled" : "failed";
      if (audit !== undefined) this.#write(request, startedAt, { outcome, code: auditCode(error) });
      throw error;
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#idle?.();
    }
  }

  /** Writes down that a request was refused before it was read. */
  refused(method: string, code: number, principal?: string): void {
    if (this.#options.audit === undefined) return;
    const request = { method, params: {}, principal, session: undefined };
    this.#write(request, this.#options.clock.now(), { outcome: "refused", code });
  }

  /** Resolves when no request is running. */
  idle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const others = this.#idle;
      this.#idle = () => {
        others?.();
        this.#idle = undefined;
        resolve();
      };
    });
  }

  #write(
    { method, params, principal, session }: Omit<AuditedRequest, "signal">,
    startedAt: number,
    end: Pick<AuditRecord, "outcome" | "code">,
  ): void {
    const { clock, audit, logger } = this.#options;
    const digest = session === undefined ? undefined : hash("sha256", session).slice(0, 12);
    const target = targetOf(method, params, this.#options);
    const record = {
      at: Math.floor(startedAt),
      transport: this.#transport,
      method,
      ...present({ target, principal, session: digest }),
      ...end,
      durationMs: clock.now() - startedAt,
    };
    runDetached(
      () => audit?.(record),
      (error) => logger.error(`The audit of a request failed: ${messageOf(error)}`, { error }),
    );
  }
}

/** The tool that is called, also where another one calls it. */
function targetOf(method: string, { name, uri, ref, arguments: input }: Fields, options: ReadServeOptions) {
  const isIndirect = method === "tools/call" && options.discovery === "search" && name === callToolName;
  const called = isIndirect && isRecord(input) && typeof input.name === "string" ? input.name : name;
  const target = called ?? uri ?? (isRecord(ref) ? (ref.name ?? ref.uri) : undefined);
  return typeof target === "string" ? target.slice(0, maxTarget) : undefined;
}

function outcomeOf(result: Fields, signal: AbortSignal): Pick<AuditRecord, "outcome" | "code"> {
  if (signal.aborted) return { outcome: "cancelled" };
  if (result.isError !== true) return { outcome: "ok" };
  const code = isRecord(result._meta) ? result._meta[errorKey] : undefined;
  return { outcome: "failed", ...(typeof code === "string" ? { code } : { code: "TOOL_FAILED" }) };
}
