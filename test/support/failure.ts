import { ToolkitError } from "../../src/core/error.ts";

/** The value that a promise rejects with, such as the reason of an abort. */
export async function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("It did not fail.");
}

/** The ToolkitError something rejects with. */
export async function failure(promise: PromiseLike<unknown>): Promise<ToolkitError> {
  const error = await rejection(promise);
  if (ToolkitError.is(error)) return error;
  throw new Error(`Expected a ToolkitError, got ${String(error)}`);
}
