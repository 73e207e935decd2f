import { randomUUID } from "node:crypto";
import { ToolkitError } from "../core/error.ts";
import type { PendingRequest } from "../core/pending.ts";
import { type FieldCheck, isText, optional } from "../lib/field-checks.ts";
import { isRecord, present } from "../lib/value.ts";

/** The state that a call ends in, as far as its error says something of it. */
interface PendingState {
  readonly ref: string;
  readonly base: { readonly input: unknown };
}

/** The error that `context.pending` throws. It becomes the answer of the call once it is kept. */
export class PendingCall extends ToolkitError<"PENDING"> {
  readonly id: string;
  readonly request: PendingRequest;
  readonly #state: PendingState;

  /** @throws TypeError for a request that is none */
  constructor(state: PendingState, request: PendingRequest) {
    assertRequest(request);
    const { reason, message, expiresAt = Number.POSITIVE_INFINITY, callbackUrl, metadata } = request;
    const { ref: tool, base } = state;
    const id = randomUUID();
    const optional = present({ callbackUrl, metadata });
    const details = { id, reason, message, tool, arguments: base.input, expiresAt, ...optional };
    super("PENDING", message, details, { ref: tool, phase: "execute" });
    this.id = id;
    this.request = request;
    this.#state = state;
  }

  /** The state whose context threw it. */
  get state(): PendingState {
    return this.#state;
  }
}

const fields: { readonly [F in keyof PendingRequest]-?: readonly [wanted: string, is: FieldCheck] } = {
  reason: ["a text", isText],
  message: ["a text", isText],
  expiresAt: ["a time in milliseconds since the epoch", optional(Number.isFinite)],
  callbackUrl: ["a text", optional(isText)],
  metadata: ["an object", optional(isRecord)],
};

function assertRequest(request: unknown): void {
  for (const [name, [wanted, is]] of Object.entries(fields)) {
    if (!is(isRecord(request) ? request[name] : undefined))
      throw new TypeError(`context.pending wants ${wanted} for ${name}.`);
  }
}
