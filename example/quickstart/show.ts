import type { Toolkit } from "toolweave";

/** Prints a heading. */
export function step(title: string): void {
  console.log(`\n${title}`);
}

/** Prints what was seen, and ends the program with exit code 1 where it is not what was expected. */
export function check(what: string, seen: unknown, expected: (seen: never) => boolean): void {
  const shown = typeof seen === "string" ? seen : JSON.stringify(seen);
  const right = expected(seen as never);
  console.log(`  ${right ? "ok  " : "FAIL"} ${what}: ${shown.length > 100 ? `${shown.slice(0, 100)}...` : shown}`);
  if (!right) throw new Error(`"${what}" is not as expected: ${shown}`);
}

/** Rows of text in columns. */
export function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const all = [header, ...rows].map((row) => row.map(String));
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  for (const row of all)
    console.log(`  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd());
}

/** What an operator wants to see: who is connected, and with what. */
export function showConnections(toolkit: Toolkit): void {
  table(
    ["namespace", "state", "transport", "server", "tools", "prompts", "resources", "templates"],
    toolkit.connections.map(({ namespace, state, transport, server, counts }) => [
      namespace,
      state,
      transport ?? "-",
      server === undefined ? "-" : `${server.name} ${server.version ?? ""}`,
      counts.tool,
      counts.prompt,
      counts.resource,
      counts.template,
    ]),
  );
}

/** Resolves when the condition holds; fails when it does not within the time. */
export async function until(what: string, condition: () => boolean, limitMs = 15_000): Promise<void> {
  const end = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`Waited ${limitMs} ms in vain: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** True while a process lives. */
export function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
}
