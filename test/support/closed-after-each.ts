import { afterEach } from "vitest";

/**
 * A list of functions that close something: they are called at the end of each test, the last first. Every test file makes its own list:
 * files of one process share the modules that they import, and a hook which such a module sets as it is loaded is one of the first file alone.
 */
export function closedAfterEach(): (() => unknown)[] {
  const open: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
  });
  return open;
}
