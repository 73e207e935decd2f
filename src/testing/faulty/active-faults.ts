import { ToolkitError } from "../../core/error.ts";
import { systemClock } from "../../lib/clock.ts";
import { abortable } from "../../lib/promise.ts";
import { describeFault, type FaultName, type FaultOptions, faultCatalog } from "./faults.ts";

/** A fault that was switched on. Disposing of it switches it off. */
export interface Fault extends AsyncDisposable {
  readonly name: FaultName;
  /** When it was switched on, in milliseconds since the epoch. */
  readonly since: number;
  /** The number of times it has happened. */
  readonly happened: number;
  /**
   * Resolves once it has happened that many times.
   *
   * @throws the signal's reason when it aborts
   */
  happens(times?: number, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;
  /** Switches it off, also where it has not happened yet; it is idempotent. */
  off(): Promise<void>;
}

/** A request, for faults that select requests. */
export interface FaultedRequest {
  readonly method: string;
  /** Of a call. */
  readonly tool?: string | undefined;
}

/** The reason why a fault is off. */
export type FaultEnd = "switched off" | "used up";

/** The faults that are on. */
export class ActiveFaults {
  readonly #active = new Set<ActiveFault>();

  /**
   * Switches a fault on. With the same name it can be on several times; the first that fits happens.
   *
   * @param changed - called when it is switched off, or has used up its times
   * @throws ToolkitError `INVALID_CONFIG` for an unknown fault or option
   */
  add(name: FaultName, options: FaultOptions, changed: (how: FaultEnd) => Promise<void>): ActiveFault {
    checkFault(name, options);
    const fault = new ActiveFault(name, options, async (how) => {
      if (this.#active.delete(fault)) await changed(how);
    });
    this.#active.add(fault);
    return fault;
  }

  /** The options of a fault that is on, without using up one of its times. */
  find(name: FaultName): FaultOptions | undefined {
    return this.#find(name, undefined)?.options;
  }

  /** Makes a fault happen once where it is on, and gives its options. */
  take(name: FaultName, request?: FaultedRequest): FaultOptions | undefined {
    const fault = this.#find(name, request);
    fault?.happen();
    return fault?.options;
  }

  async clear(name: FaultName | undefined): Promise<void> {
    for (const fault of [...this.#active]) {
      if (name === undefined || fault.name === name) await fault.off();
    }
  }

  #find(name: FaultName, request: FaultedRequest | undefined): ActiveFault | undefined {
    for (const fault of this.#active) {
      if (fault.name === name && (request === undefined || fits(fault.options, request))) return fault;
    }
    return undefined;
  }
}

class ActiveFault implements Fault {
  readonly name: FaultName;
  readonly since = systemClock.now();
  readonly options: FaultOptions;
  readonly #onOff: (how: FaultEnd) => Promise<void>;
  #happened = 0;
  #waiting: { readonly times: number; readonly resolve: () => void }[] = [];

  constructor(name: FaultName, options: FaultOptions, onOff: (how: FaultEnd) => Promise<void>) {
    this.name = name;
    this.options = options;
    this.#onOff = onOff;
  }

  get happened(): number {
    return this.#happened;
  }

  happen(): void {
    this.#happened++;
    for (const { times, resolve } of this.#waiting) if (times <= this.#happened) resolve();
    this.#waiting = this.#waiting.filter(({ times }) => times > this.#happened);
    const { times = Number.POSITIVE_INFINITY } = this.options;
    if (this.#happened >= times) void this.#onOff("used up");
  }

  async happens(times = 1, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    if (this.#happened >= times) return;
    await abortable(new Promise<void>((resolve) => this.#waiting.push({ times, resolve })), signal);
  }

  off(): Promise<void> {
    return this.#onOff("switched off");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.off();
  }
}

function fits({ method = "tools/call", tool }: FaultOptions, request: FaultedRequest): boolean {
  return method === request.method && (tool === undefined || tool === request.tool);
}

function checkFault(name: FaultName, options: FaultOptions): void {
  if (!Object.hasOwn(faultCatalog, name)) {
    throw invalid(
      "fault",
      `There is no fault ${JSON.stringify(name)}. There are: ${Object.keys(faultCatalog).join(", ")}.`,
    );
  }
  const allowed: readonly string[] = ["times", ...(describeFault(name).options ?? [])];
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (!allowed.includes(option)) {
      throw invalid(option, `The fault ${name} has no option ${option}. It has: ${allowed.join(", ")}.`);
    }
    if (
      option === "method" || option === "tool" ? typeof value !== "string" : !(typeof value === "number" && value > 0)
    ) {
      throw invalid(option, `The option ${option} of the fault ${name} is ${JSON.stringify(value)}.`);
    }
  }
}

function invalid(path: string, message: string): ToolkitError<"INVALID_CONFIG"> {
  return new ToolkitError("INVALID_CONFIG", message, { path });
}
