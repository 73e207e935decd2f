// #region toolkit
import { defineTool, Toolkit, ToolkitError } from "toolweave";
import { z } from "zod";

const greet = defineTool({
  name: "greet",
  input: z.object({ name: z.string() }),
  run: ({ name }, { session }) => ({ greeting: `Hello, ${name}!`, asked: session.principal }),
});

/** One for the process: it keeps the connections to all servers. */
export const toolkit = new Toolkit({ items: [greet] });
await toolkit.start();

/** An answer for a client that says no more than its caller may know. */
export function failure(error: unknown): { status: number; body: { error: string; code: string } } {
  if (!ToolkitError.is(error)) return { status: 500, body: { error: "Internal error.", code: "INTERNAL" } };
  const { status } = error;
  return { status, body: { error: error.message, code: error.code } };
}
// #endregion
