/**
 * Measures calls of one side alone, `ours` or `raw`, over `memory` or `stdio`, one after another or so many at once: what V8 learns from one
 * side is not to slow the other down. Prints the timing of one call as JSON.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { inMemoryConnector } from "../../src/mcp/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { measure, type Operation, type Timing } from "./harness.ts";
import { rawInMemoryClient, rawStdioClient, stdioServer } from "./raw.ts";
import { createServer, message } from "./server/tools.ts";

const [side = "", transport = "", atOnce = "1"] = process.argv.slice(2);
const call = side === "ours" ? await ourCall() : await rawCall();
const count = Number(atOnce);
const operation = count === 1 ? call : () => Promise.all(Array.from({ length: count }, call));
const { alone } = await measure({ alone: operation }, { rounds: 10, roundMs: 100, warmUpMs: 1_500 });
const each: Timing = { ...alone, p50: alone.p50 / count, p99: alone.p99 / count };
process.stdout.write(JSON.stringify(each), () => process.exit(0));

async function ourCall(): Promise<Operation> {
  const toolkit = new Toolkit();
  // The SDK declares optional properties in another strictness than ours.
  const local = inMemoryConnector((far) => createServer("bench").connect(far as Transport));
  toolkit.addConnector(transport === "memory" ? local : stdioServer, { namespace: "bench" });
  await toolkit.start();
  return () => toolkit.call("bench.echo", message);
}

async function rawCall(): Promise<Operation> {
  const client = await (transport === "memory" ? rawInMemoryClient() : rawStdioClient());
  return () => client.callTool({ name: "echo", arguments: message });
}
