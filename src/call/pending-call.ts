import { randomUUID } from "node:crypto";
import { ToolkitError } from "../core/error.ts";
import type { PendingRequest } from "../core/pending.ts";
import { isRecord, present } from "../lib/value.ts";

/** The error that `context.pending` throws. It becomes the answer of the call once it is kept. */
export class PendingCall extends ToolkitError<"PENDING"> {
  readonly id: string;
  readonly request: PendingRequest;

  /** @throws TypeError for a request that is none */
  constructor(tool: string, input: unknown, request: PendingRequest) {
    assertRequest(request);
    const { reason, message, expiresAt = Number.POSITIVE_INFINITY, callbackUrl, metadata } = request;
    const id = randomUUID();
    const details = { id, reason, message, tool, arguments: input, expiresAt, ...present({ callbackUrl, metadata }) };
    super("PENDING", message, details, { ref: tool, phase: "execute" });
    this.id = id;
    this.request = request;
  }
}

const fields: { readonly [F in keyof PendingRequest]-?: readonly [wanted: string, is: (value: unknown) => boolean] } = {
  reason: ["a text", (value) => typeof value === "string"],
  message: ["a text", (value) => typeof value === "string"],
  expiresAt: ["a time in milliseconds since the epoch", (value) => value === undefined || Number.isFinite(value)],
  callbackUrl: ["a text", (value) => value === undefined || typeof value === "string"],
  metadata: ["an object", (value) => value === undefined || isRecord(value)],
};

function assertRequest(request: unknown): void {
  for (const [name, [wanted, is]] of Object.entries(fields)) {
    if (!is(isRecord(request) ? request[name] : undefined))
      throw new TypeError(`context.pending wants ${wanted} for ${name}.`);
  }
}
