// Kills a real server in the middle of a hundred calls, as often as its argument says, and prints what came of it. It must then end by
// itself. The tool says that it is safe to repeat, so that each call is to be made again where the next child runs, and to be answered.
import { Toolkit, ToolkitError } from "../../../../src/index.ts";
import { until } from "../../../support/until.ts";
import { everything, isAlive } from "../../support.ts";
import { handlesNow, heapGrown, heapNow, newHandles } from "./residue.ts";

const kills = Number(process.argv[2]);
const atOnce = 100;
const unhandled: string[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(String((reason as Error)?.stack ?? reason)));

await play(1);
const handles = await handlesNow();
const heap = await heapNow();
const observed = await play(kills);
const rest = { handles: await newHandles(handles), heapGrownMb: await heapGrown(heap), unhandled };
process.stdout.write(`${JSON.stringify({ ...observed, ...rest })}\n`);

async function play(times: number): Promise<object> {
  await using toolkit = new Toolkit();
  const connection = toolkit.addConnector(
    { command: process.execPath, args: [everything, "stdio"] },
    { namespace: "f" },
  );
  await connection.ready();
  // Its tools change right after the handshake.
  await until(() => connection.counts.tool >= 13);
  const names = () => connection.list("tool").map(({ name }) => name);
  const before = names().join();
  const pids: number[] = [];
  const codes: Record<string, number> = {};
  const waited: number[] = [];
  const healedMs: number[] = [];
  for (let round = 0; round < times; round++) {
    const pid = connection.processId ?? 0;
    pids.push(pid);
    const reported = new Set<number>();
    const calls = Array.from({ length: atOnce }, async (_, number) => {
      const input = { duration: 4, steps: 20 };
      const onProgress = () => void reported.add(number);
      return toolkit.call("f.trigger-long-running-operation", input, { timeoutMs: 25_000, onProgress }).then(
        () => "ok",
        (error: unknown) => (ToolkitError.is(error) ? error.code : String(error)),
      );
    });
    // Each of them runs: it has said so.
    await until(() => reported.size === atOnce);
    waited.push(connection.callsInFlight);
    const killedAt = performance.now();
    process.kill(pid, "SIGKILL");
    await until(() => connection.processId !== pid);
    await toolkit.call("f.echo", { message: "back" });
    healedMs.push(performance.now() - killedAt);
    for (const code of await Promise.all(calls)) codes[code] = (codes[code] ?? 0) + 1;
    await until(() => names().join() === before, 10_000);
  }
  pids.push(connection.processId ?? 0);
  await toolkit.close();
  return {
    codes,
    waited: Math.min(...waited),
    healedMs: Math.max(...healedMs),
    children: new Set(pids).size,
    alive: pids.filter(isAlive),
  };
}
