/**
 * Measures calls of one side alone, `ours` or `raw`, over `memory` or `stdio`, one after another and so many at once: what V8 learns from one
 * side is not to slow the other down. Prints the timings of one call as JSON, by how many are made at once.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { measure, type Operation, type Timing } from "./harness.ts";
import { rawInMemoryClient, rawStdioClient, stdioServer } from "./raw.ts";
import { createServer } from "./server/tools.ts";
import { ourCallOf, rawCallOf, together } from "./whole-call.ts";

const [side = "", transport = "", ...counts] = process.argv.slice(2);
const call = side === "ours" ? await ourCall() : await rawCall();
const timings: Record<string, Timing> = {};
for (const count of counts.map(Number)) {
  const { alone } = await measure({ alone: together(count, call) }, { rounds: 10, roundMs: 50, warmUpMs: 600 });
  timings[count] = { ...alone, p50: alone.p50 / count, p99: alone.p99 / count };
}
process.stdout.write(JSON.stringify(timings), () => process.exit(0));

async function ourCall(): Promise<Operation> {
  const toolkit = new Toolkit();
  // The SDK declares optional properties in another strictness than ours.
  const local = inMemoryConnector((far) => createServer("bench").connect(far as Transport));
  toolkit.addConnector(transport === "memory" ? local : stdioServer, { namespace: "bench" });
  await toolkit.start();
  return ourCallOf(toolkit, "bench.echo");
}

async function rawCall(): Promise<Operation> {
  return rawCallOf(await (transport === "memory" ? rawInMemoryClient() : rawStdioClient()));
}
