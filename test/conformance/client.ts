/**
 * The client that the official conformance suite runs: the built Toolkit. The URL of the suite's server is the last argument, what it
 * tests is in MCP_CONFORMANCE_SCENARIO.
 */
import { Toolkit, type ToolkitOptions } from "toolweave";

interface Scenario {
  readonly options?: ToolkitOptions;
  /** The tool to call, once the server is connected and listed. */
  readonly tool?: string;
  readonly input?: unknown;
}

const scenarios: Readonly<Record<string, Scenario>> = {
  initialize: {},
  tools_call: { tool: "add_numbers", input: { a: 5, b: 3 } },
  "sse-retry": { tool: "test_reconnection" },
  "elicitation-sep1034-client-defaults": {
    tool: "test_client_elicitation_defaults",
    // The person fills in nothing: the defaults are the toolkit's to put in.
    options: { delegate: { elicit: async () => ({ action: "accept", content: {} }) } },
  },
};
const authorized: Scenario = { tool: "test-tool" };

const url = process.argv.at(-1);
const name = process.env.MCP_CONFORMANCE_SCENARIO;
if (url === undefined || name === undefined) throw new Error("The conformance suite runs this: npm run conformance");
const scenario = name.startsWith("auth/") ? authorized : scenarios[name];
if (scenario === undefined)
  throw new Error(`There is no scenario ${name} here yet: add it to test/conformance/client.ts`);

const toolkit = new Toolkit(scenario.options);
const connection = toolkit.addConnector(url, { namespace: "suite", maxAttempts: 1 });
await toolkit.start();
await connection.ready();
if (scenario.tool !== undefined) await toolkit.call(`suite.${scenario.tool}`, scenario.input);
await toolkit.close();
