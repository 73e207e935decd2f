import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commandLine } from "../../src/config/command-line.ts";
import { withConnector, withoutConnector } from "../../src/config/edit-config.ts";
import { clientFiles, findServers } from "../../src/config/other-clients.ts";
import { verifies } from "../support/verifies.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "toolweave-clients-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

verifies("X1", "comments and order stay when a server is added and removed", () => {
  const yaml = "# top\nconnectors:\n  a: https://a/mcp # first\n\n# end\nprompts: [x]\n";
  const added = withConnector("toolweave.yaml", yaml, "connectors", "b", { command: "npx", args: ["-y", "b"] });
  expect(added).toBe(
    "# top\nconnectors:\n  a: https://a/mcp # first\n  b:\n    command: npx\n    args:\n      - -y\n      - b\n\n# end\nprompts: [ x ]\n",
  );
  expect(withoutConnector("toolweave.yaml", added, "connectors", "b")).toBe(yaml.replace("[x]", "[ x ]"));
  expect(withoutConnector("toolweave.yaml", added, "connectors", "c")).toBeUndefined();
  const json = '{\n    // servers\n    "mcpServers": {\n        "a": { "command": "x" }\n    }\n}\n';
  const both = withConnector("mcp.json", json, "mcpServers", "b", { url: "https://b/mcp" });
  expect(both).toContain("// servers");
  expect(withoutConnector("mcp.json", both, "mcpServers", "b")?.replace(/\s+/g, "")).toBe(json.replace(/\s+/g, ""));
});

test("a command line is read with the quotes of a shell", () => {
  expect(commandLine(`npx -y "a b" 'c "d"' e\\ f ""`)).toEqual({
    command: "npx",
    args: ["-y", "a b", 'c "d"', "e f", ""],
  });
  expect(commandLine(" https://host/mcp ")).toEqual({ url: "https://host/mcp" });
  expect(() => commandLine("npx 'open")).toThrow(expect.objectContaining({ code: "INVALID_TARGET" }));
  expect(() => commandLine("  ")).toThrow(expect.objectContaining({ code: "INVALID_TARGET" }));
});

verifies("X1", "the servers of other clients are found in the forms of each, without their credentials", async () => {
  const cwd = join(home, "work");
  const files: Readonly<Record<string, string>> = {
    ".config/Claude/claude_desktop_config.json": JSON.stringify({
      mcpServers: { files: { command: "npx", args: ["-y", "files"], env: { API_KEY: "sk-123", MODE: "fast" } } },
    }),
    ".claude.json": JSON.stringify({
      projects: { [cwd]: { mcpServers: { local: { type: "http", url: "https://l/mcp" } } } },
    }),
    "work/.vscode/mcp.json":
      '{ // ours\n "inputs": [], "servers": { "gh": { "url": "https://gh/mcp", "headers": { "Authorization": "Bearer ${input:gh-token}" } } } }',
    ".codex/config.toml":
      '[mcp_servers.codex]\ncommand = "uvx"\nargs = ["x"]\n[mcp_servers.codex.env]\nTOKEN = "t"\n[mcp_servers.remote]\nurl = "https://r/mcp"\nbearer_token_env_var = "R_TOKEN"\nenv_http_headers = { "X-Team" = "TEAM" }\n',
    ".config/zed/settings.json":
      '{ "context_servers": { "zed": { "command": { "path": "z", "args": ["1"] } }, "off": { "command": "y", "enabled": false } } }',
    ".config/opencode/opencode.json":
      '{ "mcp": { "oc": { "type": "local", "command": ["npx", "oc"], "environment": { "A": "1" } } } }',
    ".cursor/mcp.json": "{ broken",
  };
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, file)), { recursive: true });
    await writeFile(join(home, file), text);
  }
  const found = await findServers(clientFiles({ home, cwd, platform: "linux" }), cwd);
  expect(found.problems).toEqual([expect.stringContaining(join(".cursor", "mcp.json: line 1"))]);
  expect(
    Object.fromEntries(
      found.servers.map(({ name, client, connector, variables }) => [name, [client, connector, variables]]),
    ),
  ).toEqual({
    files: [
      "claude-desktop",
      { command: "npx", args: ["-y", "files"], env: { API_KEY: "${API_KEY}", MODE: "fast" } },
      ["API_KEY"],
    ],
    local: ["claude-code", { url: "https://l/mcp" }, []],
    gh: ["vscode", { url: "https://gh/mcp", headers: { Authorization: "Bearer ${GH_TOKEN}" } }, ["GH_TOKEN"]],
    codex: ["codex", { command: "uvx", args: ["x"], env: { TOKEN: "${TOKEN}" } }, ["TOKEN"]],
    remote: [
      "codex",
      { url: "https://r/mcp", headers: { "X-Team": "${TEAM}", Authorization: "Bearer ${R_TOKEN}" } },
      ["TEAM", "R_TOKEN"],
    ],
    zed: ["zed", { command: "z", args: ["1"] }, []],
    oc: ["opencode", { command: "npx", args: ["oc"], env: { A: "1" } }, []],
  });
});
