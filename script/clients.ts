/**
 * Clients that others made use a served Toolkit, over stdio and over HTTP with a token: each lists, calls, gets and reads, and must get what
 * is there. What a client needs is installed into an ignored folder; where that cannot be had, the client is left out, and the table says
 * why. A name as argument runs only that client.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../src/core/error.ts";
import { buildGoPeer, installPeer, installPythonPeer } from "../test/bench/peer.ts";
import { type ClientOutcome, expectedOutcome } from "../test/clients/expected.ts";
import { type ClientTarget, fieldOf, firstSdk, type SdkClasses, useSdk } from "../test/clients/javascript.ts";
import { serveOverHttp } from "../test/server/fixture/client.ts";
import { servedToolkit } from "../test/server/fixture/toolkit.ts";
import { project } from "./support/project.ts";
import { run } from "./support/run.ts";
import { table } from "./support/table.ts";

/** A revision to ask for; `default` is what the client does by itself. */
type Asked = "default" | "2025-11-25" | "2026-07-28";
type Use = (target: ClientTarget, asked: Asked) => Promise<ClientOutcome>;

interface ForeignClient {
  readonly name: string;
  readonly asked: readonly Asked[];
  /** Installs it. @throws Error where it cannot be had here */
  prepare(): Promise<Use>;
}

/** The revisions that are served, one of each era. */
const served: readonly Asked[] = ["2025-11-25", "2026-07-28"];
const token = "ada-3f1c9a7d5e20";
const limitMs = 60_000;

const clients: readonly ForeignClient[] = [
  { name: "sdk-1", asked: ["default"], prepare: async () => (target) => useSdk(firstSdk, target) },
  { name: "sdk-2", asked: ["default", ...served], prepare: secondSdk },
  { name: "inspector", asked: ["default", ...served], prepare: inspector },
  { name: "python", asked: ["default", ...served], prepare: python },
  { name: "go", asked: ["default", ...served], prepare: go },
];

async function secondSdk(): Promise<Use> {
  const load = await installPeer("sdk-2-client", { "@modelcontextprotocol/client": "2.4.0" });
  const classes: SdkClasses = {
    ...load("@modelcontextprotocol/client"),
    ...load("@modelcontextprotocol/client/stdio"),
  };
  const modes = { default: "auto", "2025-11-25": "legacy", "2026-07-28": { pin: "2026-07-28" } };
  return (target, asked) => useSdk(classes, target, { versionNegotiation: { mode: modes[asked] } });
}

/** The Inspector makes a connection for each method. */
async function inspector(): Promise<Use> {
  const load = await installPeer("inspector", { "@modelcontextprotocol/inspector": "2.12.0" });
  const manifest = load.resolve("@modelcontextprotocol/inspector/package.json");
  const { bin } = JSON.parse(await readFile(manifest, "utf8")) as { readonly bin: Readonly<Record<string, string>> };
  const program = join(manifest, "..", bin["mcp-inspector"] ?? "");
  const eras = { default: [], "2025-11-25": ["legacy"], "2026-07-28": ["modern"] };
  return async (target, asked) => {
    const era = eras[asked].flatMap((each) => ["--protocol-era", each]);
    const place =
      "url" in target
        ? [target.url, "--transport", "http", "--header", `Authorization: Bearer ${target.token}`]
        : [target.command, ...target.args];
    const method = async (name: string, ...options: readonly string[]): Promise<unknown> =>
      JSON.parse(await output(process.execPath, [program, "--cli", ...place, ...era, "--method", name, ...options]));
    const list = (value: unknown, field: string, key: string) =>
      (fieldOf(value, field) as readonly object[]).map((each) => fieldOf(each, key));
    const called = await method("tools/call", "--tool-name", "sum", "--tool-arg", "a=1", "--tool-arg", "b=2");
    const prompt = await method("prompts/get", "--prompt-name", "greet", "--prompt-args", "name=Ada", "times=3");
    const read = await method("resources/read", "--uri", "text:note");
    return {
      tools: list(await method("tools/list"), "tools", "name") as string[],
      called: fieldOf(called, "structuredContent"),
      prompts: list(await method("prompts/list"), "prompts", "name") as string[],
      prompt: list(prompt, "messages", "content").map((content) => fieldOf(content, "text")),
      resources: list(await method("resources/list"), "resources", "uri") as string[],
      read: list(read, "contents", "text")[0],
    };
  };
}

async function python(): Promise<Use> {
  const commands = await installPythonPeer("python-client", "mcp==2.3.0");
  return program(join(commands, "python"), join(project, "test/clients/client.py"));
}

async function go(): Promise<Use> {
  const folder = join(project, "test/clients/go");
  const [main, mod] = await Promise.all(["main.go", "go.mod"].map((file) => readFile(join(folder, file), "utf8")));
  return program(await buildGoPeer("go-client", { "main.go": main ?? "", "go.mod": mod ?? "" }));
}

/** A program that prints its outcome. */
function program(command: string, ...first: readonly string[]): Use {
  return async (target, asked) => {
    const place = "url" in target ? [target.url, target.token] : [target.command, ...target.args];
    return JSON.parse(await output(command, [...first, asked, ...place])) as ClientOutcome;
  };
}

async function output(command: string, args: readonly string[]): Promise<string> {
  const { stdout, failure, output } = await run(command, args, { cwd: project, timeoutMs: limitMs });
  if (failure !== undefined) throw new Error(`${failure}: ${output.trim()}`);
  return stdout;
}

/** The difference of an outcome; undefined where it is what was expected. */
function faultOf({ protocol, ...outcome }: ClientOutcome, asked: Asked): string | undefined {
  if (asked !== "default" && protocol !== undefined && protocol !== asked) return `speaks ${protocol}`;
  const { protocol: _, ...expected } = expectedOutcome;
  const wrong = Object.entries(expected).filter(
    ([field, value]) => !isDeepStrictEqual(value, outcome[field as keyof typeof expected]),
  );
  if (wrong.length === 0) return undefined;
  return wrong.map(([field]) => `${field}: ${JSON.stringify(outcome[field as keyof typeof expected])}`).join("; ");
}

const [only] = process.argv.slice(2);
const chosen = clients.filter(({ name }) => only === undefined || name === only);
if (chosen.length === 0) {
  console.error(`There is no client ${only}. There are ${clients.map(({ name }) => name).join(", ")}.`);
  process.exit(2);
}
await using toolkit = servedToolkit();
await toolkit.start();
await using endpoint = await serveOverHttp(toolkit, { tokens: { ada: token } });
const targets: Readonly<Record<string, ClientTarget>> = {
  stdio: { command: process.execPath, args: [join(project, "test/server/fixture/stdio-program.ts")] },
  HTTP: { url: endpoint.url.href, token },
};
const rows: string[][] = [];
for (const { name, asked, prepare } of chosen) {
  let use: Use;
  try {
    use = await prepare();
  } catch (error) {
    rows.push([name, "", "", "", `skipped: ${messageOf(error)}`]);
    continue;
  }
  for (const [transport, target] of Object.entries(targets)) {
    for (const each of asked) {
      let spoken = "";
      let fault: string | undefined;
      try {
        const outcome = await use(target, each);
        spoken = outcome.protocol ?? "not said";
        fault = faultOf(outcome, each);
      } catch (error) {
        fault = messageOf(error);
      }
      if (fault !== undefined) process.exitCode = 1;
      rows.push([name, transport, each, spoken, fault === undefined ? "ok" : `FAILED: ${fault}`]);
    }
  }
}
console.log(table(["client", "transport", "asked for", "spoken", "list, call, get, read"], rows));
