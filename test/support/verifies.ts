import { test } from "vitest";
import { requirements } from "../requirements.ts";

const known: ReadonlySet<string> = new Set(requirements.map((requirement) => requirement.id));

/**
 * A test that proves a requirement: vitest's `test`, with the ids in its name. What cites nothing is a plain `test`.
 *
 * @throws Error at once for an id that `test/requirements.ts` does not have, or for none at all.
 */
export function verifies(id: string | readonly string[], title: string, fn: () => unknown, timeoutMs?: number): void {
  const ids = typeof id === "string" ? [id] : id;
  const unknown = ids.filter((one) => !known.has(one));
  if (ids.length === 0) throw new Error(`"${title}" cites no requirement: name one, or use test().`);
  if (unknown.length > 0) {
    throw new Error(`"${title}" cites ${unknown.join(", ")}, which test/requirements.ts does not have.`);
  }
  test(
    `[${ids.join(" ")}] ${title}`,
    async () => {
      await fn();
    },
    timeoutMs,
  );
}
