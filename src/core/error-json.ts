import { isRecord } from "../lib/value.ts";
import { messageOf, ToolkitError } from "./error.ts";
import { type ErrorCode, errorCatalog, type Phase } from "./error-catalog.ts";

const phases: { readonly [P in Phase]: true } = {
  resolve: true,
  policy: true,
  validate: true,
  connect: true,
  execute: true,
  result: true,
};

/** An error as JSON, for a store: what JSON cannot hold of its details is left out. */
export function errorToJson(error: ToolkitError): unknown {
  const { remedy: _remedy, status: _status, ...said } = error.toJSON();
  try {
    return JSON.parse(JSON.stringify(said));
  } catch {
    return { ...said, details: {} };
  }
}

/**
 * The error that was written down with `errorToJson` or `toJSON`: its code, message, details, ref and phase. Its cause and its stack were
 * not written down.
 *
 * @throws TypeError for what is none
 */
export function errorFromJson(json: unknown): ToolkitError {
  if (!isRecord(json) || !isCode(json.code) || typeof json.message !== "string" || !isRecord(json.details))
    throw new TypeError(`${messageOf(json)} is no error`);
  const { code, message, details, ref, phase } = json;
  return new ToolkitError(code, message, details as never, {
    ref: typeof ref === "string" ? ref : undefined,
    phase: isPhase(phase) ? phase : undefined,
  });
}

const isCode = (code: unknown): code is ErrorCode => typeof code === "string" && Object.hasOwn(errorCatalog, code);

const isPhase = (phase: unknown): phase is Phase => typeof phase === "string" && Object.hasOwn(phases, phase);
