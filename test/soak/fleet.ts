import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memory } from "../e2e/support.ts";
import { FaultySoakServer, type Way } from "./faulty-soak-server.ts";
import type { Ledger } from "./ledger.ts";
import { ChildSoakServer, ServiceSoakServer } from "./real-soak-server.ts";
import type { SoakServer } from "./server.ts";

const ways: readonly (readonly [Way, number])[] = [
  ["in-memory", 4],
  ["stdio", 3],
  ["sse", 3],
  ["json", 2],
];
/** One of each speaks the second era. */
const statelessWays = ways.map(([way]) => way);

/** The servers of a soak. Disposed of, all are gone. */
export interface Fleet extends AsyncDisposable {
  readonly servers: readonly SoakServer[];
}

/**
 * Twenty servers on all transports: sixteen that can do anything wrong, of which four have no sessions, and four people use.
 *
 * @param only - the name of the one to open; undefined for all
 */
export async function openFleet(ledger: Ledger, only: string | undefined): Promise<Fleet> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "toolweave-soak-"));
  opened.defer(() => rm(folder, { recursive: true }));
  const wanted = makers(ledger, folder).filter(({ name }) => only === undefined || only === name);
  if (wanted.length === 0) throw new Error(`There is no server ${only}.`);
  // Each is known to the stack as soon as it is there, so that one that fails leaves none behind.
  const servers = await Promise.all(wanted.map(async ({ name, open }) => opened.use(await open(name))));
  const ending = opened.move();
  return { servers, [Symbol.asyncDispose]: () => ending.disposeAsync() };
}

interface Maker {
  readonly name: string;
  open(name: string): SoakServer | Promise<SoakServer>;
}

function makers(ledger: Ledger, folder: string): readonly Maker[] {
  const faulty = ways.flatMap(([way, count]) =>
    Array.from({ length: count }, (_, at) => ({
      name: `${way}-${at + 1}`,
      open: (name: string) => FaultySoakServer.open(name, { way, isStateless: false }, ledger),
    })),
  );
  const stateless = statelessWays.map((way) => ({
    name: `stateless-${way}`,
    open: (name: string) => FaultySoakServer.open(name, { way, isStateless: true }, ledger),
  }));
  const env = { MEMORY_FILE_PATH: join(folder, "memory.jsonl") };
  return [
    ...faulty,
    ...stateless,
    { name: "everything-stdio", open: ChildSoakServer.everything },
    { name: "everything-http", open: (name) => ServiceSoakServer.open(name, "streamableHttp") },
    { name: "everything-sse", open: (name) => ServiceSoakServer.open(name, "sse") },
    { name: "memory", open: (name) => new ChildSoakServer(name, { command: process.execPath, args: [memory], env }) },
  ];
}
