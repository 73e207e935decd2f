import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { inheritedEnvironment, machineNames, posixNames } from "../../src/lib/child/child-command.ts";
import { mcpConnector } from "../../src/mcp/mcp-connector.ts";
import { contextOf, never, RecordingHost } from "./fixture/host.ts";

const environment = {
  PATH: "/bin",
  HTTPS_PROXY: "http://user:pw@proxy:3128",
  http_proxy: "http://proxy:3128",
  NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
  npm_config_registry: "http://registry.local/",
  LANG: "de_CH.UTF-8",
  TMPDIR: "/var/tmp",
  APP_REGION: "eu",
  APP_PASSWORD: "hunter2",
  APP_URL: "postgres://me:hunter2@db/app",
  APP_ID: "ghp_16C7e42F292c6912",
  GITHUB_TOKEN: "hunter2",
};
const names = (options?: Parameters<typeof inheritedEnvironment>[1]) =>
  Object.keys(inheritedEnvironment(environment, options).variables);
const usual = ["PATH", "http_proxy", "NODE_EXTRA_CA_CERTS", "npm_config_registry", "LANG", "TMPDIR"];

test("what reaches registries and proxies is inherited, a proxy with a password is not and is reported", () => {
  expect(names()).toEqual(usual);
  expect(inheritedEnvironment(environment).withheld).toEqual(["HTTPS_PROXY"]);
});

test("inheritEnv adds names, and globs that fit no credential", () => {
  expect(names({ inheritEnv: ["APP_*"] })).toEqual([...usual, "APP_REGION"]);
  expect(names({ inheritEnv: ["*"] })).toEqual([...usual, "APP_REGION"]);
  const inheritEnv = ["GITHUB_TOKEN", "APP_URL", "HTTPS_PROXY", "NOT_SET"];
  const named = inheritedEnvironment(environment, { inheritEnv });
  expect(Object.keys(named.variables)).toEqual([...usual, "HTTPS_PROXY", "APP_URL", "GITHUB_TOKEN"].sort(byPlace));
  expect(named.withheld).toEqual([]);
  expect(named.secrets).toEqual(["hunter2", environment.APP_URL, environment.HTTPS_PROXY]);
});

test("inheritEnv takes away, and false leaves PATH alone, as an untrusted server has it", () => {
  expect(names({ inheritEnv: ["!http_proxy", "!npm_*"] })).toEqual(["PATH", "NODE_EXTRA_CA_CERTS", "LANG", "TMPDIR"]);
  expect(inheritedEnvironment(environment, { inheritEnv: ["!HTTPS_PROXY"] }).withheld).toEqual([]);
  expect(names({ inheritEnv: false })).toEqual(["PATH"]);
  expect(names({ trust: "untrusted" })).toEqual(["PATH"]);
  expect(names({ trust: "untrusted", inheritEnv: ["LANG"] })).toEqual(["PATH", "LANG"]);
});

test("a child has what was named, and what it prints of that is masked", async () => {
  process.env.TOOLWEAVE_TEST_TOKEN = "hunter2-hunter2";
  const script = `
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    process.stderr.write("token " + process.env.TOOLWEAVE_TEST_TOKEN + "\\n");
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      const serverInfo = { name: "env", version: "1" };
      if (method === "initialize")
        send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } });
      else if (id !== undefined) {
        const text = String(process.env.TOOLWEAVE_TEST_TOKEN?.length);
        send({ id, result: { content: [{ type: "text", text }] } });
      }
    });`;
  const connector = mcpConnector({
    command: process.execPath,
    args: ["--eval", script],
    inheritEnv: ["TOOLWEAVE_TEST_TOKEN"],
  });
  try {
    const session = await connector.connect({ signal: never, host: new RecordingHost() });
    expect(await (await session.call("length", {}, contextOf())).text()).toBe("15");
    while (!session.stderr?.().endsWith("\n")) await new Promise((resolve) => setImmediate(resolve));
    expect(session.stderr?.()).toBe("token ***\n");
    await session[Symbol.asyncDispose]();
  } finally {
    delete process.env.TOOLWEAVE_TEST_TOKEN;
  }
});

test("the page for operators lists every variable that is inherited", async () => {
  const page = await readFile(new URL("../../docs/operating.md", import.meta.url), "utf8");
  const section = page.slice(page.indexOf("## Child processes"), page.indexOf("## Events"));
  const listed = new Set([...section.matchAll(/`([A-Za-z_]+)`/g)].map(([, name = ""]) => name.toLowerCase()));
  const missing = [...machineNames, ...posixNames].filter((name) => !listed.has(name.toLowerCase()));
  expect(missing).toEqual([]);
});

function byPlace(a: string, b: string): number {
  const order = [...usual, "GITHUB_TOKEN", "APP_URL", "HTTPS_PROXY"];
  return order.indexOf(a) - order.indexOf(b);
}
