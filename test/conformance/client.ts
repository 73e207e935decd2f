/**
 * The client that the official conformance suite runs: the built Toolkit. The URL of the suite's server is the last argument, what it
 * tests is in MCP_CONFORMANCE_SCENARIO.
 */
import { Toolkit, ToolkitError, type ToolkitOptions } from "toolweave";
import type { HttpAuth } from "toolweave/connector";
import { clientCredentials, oauth } from "toolweave/mcp";

interface Scenario {
  readonly options?: ToolkitOptions;
  /** The tool to call, once the server is connected and listed. */
  readonly tool?: string;
  readonly input?: unknown;
  /** The work beyond the handshake. */
  readonly more?: (toolkit: Toolkit) => Promise<void>;
}

/** Confirms whatever it is asked. */
const confirming: ToolkitOptions = {
  delegate: { elicit: async () => ({ action: "accept", content: { confirmed: true } }) },
};
/** Calls every tool, reads every resource and renders every prompt there is. */
async function useAll(toolkit: Toolkit): Promise<void> {
  for (const { ref } of (await toolkit.list({ kind: "tool" })).entries) await toolkit.call(ref, {});
  for (const { ref } of (await toolkit.list({ kind: "resource" })).entries) await toolkit.read(ref);
  for (const { ref } of (await toolkit.list({ kind: "prompt" })).entries) await toolkit.render(ref, {});
}
/** Calls the tools that the suite names. */
async function callNamed(toolkit: Toolkit): Promise<void> {
  const { toolCalls = [] } = context as { readonly toolCalls?: readonly { name: string; arguments: unknown }[] };
  for (const { name, arguments: input } of toolCalls) await toolkit.call(`suite.${name}`, input, { coerce: true });
}
/** Sends the schema of one tool back to another. */
async function echoSchema(toolkit: Toolkit): Promise<void> {
  const { entries } = await toolkit.list({ kind: "tool" });
  const focal = entries.find(({ name }) => name === "json_schema_2020_12_tool");
  await toolkit.call("suite.json_schema_echo", { schema: focal?.item.input });
}

const scenarios: Readonly<Record<string, Scenario>> = {
  initialize: {},
  tools_call: { tool: "add_numbers", input: { a: 5, b: 3 } },
  "sse-retry": { tool: "test_reconnection" },
  "json-schema-ref-no-deref": {},
  "request-metadata": {},
  "sep-2322-client-request-state": { options: confirming, more: useAll },
  "http-standard-headers": { more: useAll },
  "http-custom-headers": { more: callNamed },
  "http-invalid-tool-headers": { tool: "valid_tool", input: { region: "us-west1" } },
  "json-schema-2020-12-preservation": { more: echoSchema },
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

/** The suite's data of the client, such as its id and secret. */
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}") as Readonly<Record<string, string>>;
const { client_id: id, client_secret: secret, private_key_pem: privateKey, signing_algorithm: algorithm } = context;
/** The authorization server, as the operator of a client that was registered beforehand knows it. */
async function issuerOf(server: string): Promise<string> {
  const { origin, pathname } = new URL(server);
  for (const path of [pathname, ""]) {
    const response = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`);
    if (!response.ok) continue;
    const { authorization_servers: [issuer] = [] } = (await response.json()) as { authorization_servers?: string[] };
    if (issuer !== undefined) return issuer;
  }
  return origin;
}

/** Where the suite looks for a client that describes itself. */
const clientMetadataUrl = "https://conformance-test.local/client-metadata.json";

const visits: Promise<unknown>[] = [];
let visited = Promise.withResolvers<void>();
/** The person: whose browser goes wherever it is sent. */
function open(page: URL): void {
  visits.push(fetch(page).then((response) => response.text()));
  visited.resolve();
  visited = Promise.withResolvers();
}

async function authFor(scenario: string, server: string): Promise<HttpAuth> {
  const issuer = id === undefined ? "" : await issuerOf(server);
  if (scenario.startsWith("auth/client-credentials") && id !== undefined) {
    return clientCredentials({ client: { id, issuer, secret, privateKey, algorithm } });
  }
  return oauth({ open, clientMetadataUrl, client: id === undefined ? undefined : { id, issuer, secret } });
}

const toolkit = new Toolkit(scenario.options);
const auth = name.startsWith("auth/") ? await authFor(name, url) : undefined;
// The servers of the suite, the authorization servers too, are on this machine.
const egress = { allow: ["127.0.0.0/8", "::1/128"] };
const connection = toolkit.addConnector(url, { namespace: "suite", maxAttempts: 1, auth, egress });
await toolkit.start();
await connection.ready();
const call = async () => scenario.tool !== undefined && (await toolkit.call(`suite.${scenario.tool}`, scenario.input));
const earlier = visits.length;
await call().catch(async (error) => {
  if (!ToolkitError.is(error, "UNAUTHORIZED")) throw error;
  // The person is asked for more: when that is done the call is made again.
  while (visits.length === earlier) await visited.promise;
  await visits.at(-1);
  await call();
});
await scenario.more?.(toolkit);
await toolkit.close();
