import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ConfiguredToolkit } from "../../src/config/configured-toolkit.ts";
import { findConfig, readConfig } from "../../src/config/read-config.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

let folder = "";
const opened: Toolkit[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolweave-config-"));
});
afterEach(async () => {
  for (const toolkit of opened.splice(0)) await toolkit.close();
  await rm(folder, { recursive: true, force: true });
});

async function read(name: string, text: string) {
  await writeFile(join(folder, name), text);
  return readConfig(join(folder, name));
}
async function mistakes(name: string, text: string): Promise<readonly string[]> {
  const error: Error = await read(name, text).then(
    () => new Error("It was read."),
    (reason) => reason,
  );
  return error.message.split("\n");
}

verifies(
  "X1",
  "each mistake of a configuration is named with its file, line, column and the name that was meant",
  async () => {
    const text = `connectors:
  files:
    comand: npx
    args: [1]
    trust: untrustd
  far: 5
promts: []
models: { providers: { local: { url: "http://localhost/v1", hedaers: {} } } }
`;
    expect(await mistakes("toolweave.yaml", text)).toEqual([
      'toolweave.yaml:3:5 There is no field "comand" in connectors.files. Did you mean "command"?',
      "toolweave.yaml:4:12 connectors.files.args.0 must be a text, and is 1.",
      'toolweave.yaml:5:5 connectors.files.trust must be standard, untrusted, and is "untrustd". Did you mean "untrusted"?',
      "toolweave.yaml:6:3 connectors.far must be a text or fields by name, and is 5.",
      'toolweave.yaml:7:1 There is no field "promts". Did you mean "prompts"?',
      'toolweave.yaml:8:61 There is no field "hedaers" in models.providers.local. Did you mean "headers"?',
    ]);
    expect(await mistakes("toolweave.jsonc", '{\n  // a comment\n  "store": 4,\n}')).toEqual([
      "toolweave.jsonc:3:3 store must be a text, and is 4.",
    ]);
    expect(await mistakes("toolweave.yaml", "connectors: [1,\n")).toEqual([
      expect.stringMatching(/^toolweave\.yaml:2:1 cannot be parsed: /),
    ]);
    for (const [text, expected] of [
      [
        "connectors:\n  a: [x\nprompts: []\n",
        /^toolweave\.yaml:3:1 .*not indented as the lines around it, or a bracket/,
      ],
      ['store: "x\n', /^toolweave\.yaml:2:1 .*a quote, a colon or a comma is missing/],
      ["store: x\nstore: y\n", /^toolweave\.yaml:2:1 .*there is a field of this name already/],
      ["server:\n\tname: x\n", /^toolweave\.yaml:2:1 .*a tab indents this line; use blanks/],
      ["store: a: b\n", /^toolweave\.yaml:1:8 .*a second colon follows on one line/],
      ["store: @x\n", /^toolweave\.yaml:1:8 .*put it in quotes/],
      ["store\nserver: {}\n", /^toolweave\.yaml:1:1 .*write name: value/],
      ["store: x\n---\nstore: y\n", /^toolweave\.yaml:2:1 .*remove the line ---/],
    ] as const)
      expect(await mistakes("toolweave.yaml", text)).toEqual([expect.stringMatching(expected)]);
    expect(await mistakes("toolweave.json", '{ "store": }')).toEqual([
      "toolweave.json:1:12 cannot be parsed: Value expected.",
    ]);
  },
);

verifies("X1", "the forms of other clients are read too, and what else they hold is ignored", async () => {
  const vscode = await read(
    "a.jsonc",
    '{ "inputs": [], "servers": { "a": { "type": "stdio", "command": "x", "gallery": true }, } }',
  );
  expect(vscode.written.servers).toMatchObject({ a: { command: "x" } });
  const claude = await read(
    ".mcp.json",
    '{ "mcpServers": { "b": { "url": "https://host/mcp", "disabled": true } }, "other": 1 }',
  );
  expect(claude.written.mcpServers).toMatchObject({ b: { url: "https://host/mcp" } });
});

test("aliases that multiply are refused, not expanded", async () => {
  const lines = Array.from({ length: 30 }, (_, at) => `  a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}]`);
  await expect(read("toolweave.yaml", `x:\n  a0: &a0 [1]\n${lines.join("\n")}\n`)).rejects.toThrow(
    /toolweave\.yaml.*alias/is,
  );
});

verifies("X1", "the nearest configuration above a folder is found", async () => {
  await mkdir(join(folder, "a", "b"), { recursive: true });
  await writeFile(join(folder, "toolweave.yaml"), "{}");
  await mkdir(join(folder, "a", ".vscode"));
  expect(await findConfig(join(folder, "a", "b"))).toBe(join(folder, "toolweave.yaml"));
  await writeFile(join(folder, "a", ".vscode", "mcp.json"), "{}");
  expect(await findConfig(join(folder, "a", "b"))).toBe(join(folder, "a", ".vscode/mcp.json"));
});

verifies(
  "X1",
  "a toolkit has what its configuration says, and a server whose variable is missing harms no other part",
  async () => {
    await mkdir(join(folder, "prompts"));
    await writeFile(join(folder, "prompts", "greet.md"), "---\ndescription: Greets.\n---\nHello {{name}}");
    await writeFile(join(folder, "table.csv"), "a,b\n1,2\n");
    const config = await read(
      "toolweave.yaml",
      `connectors:
  far: { url: "https://host.invalid/mcp", headers: { Authorization: "Bearer \${env:NOT_SET}" } }
  off: { command: x, disabled: true }
prompts: [./prompts]
resources: [./table.csv]
policy: { block: ["prompts.greet"], ask: ["far.*"] }
store: ":memory:"
`,
    );
    const toolkit = (await ConfiguredToolkit.of(config, { env: {} })).toolkit;
    opened.push(toolkit);
    await toolkit.start();
    expect(toolkit.connections.map(({ namespace, lastError }) => [namespace, lastError?.message])).toEqual([
      [
        "far",
        expect.stringContaining("toolweave.yaml:2:3 headers.Authorization needs the environment variable NOT_SET"),
      ],
    ]);
    const { entries } = await toolkit.list();
    expect(entries.map(({ ref }) => ref)).toEqual(["prompts.greet", expect.stringMatching(/table\.csv#builtin$/)]);
    expect(await (await toolkit.read(entries[1]?.ref ?? "")).text()).toBe("a,b\n1,2\n");
    await expect(toolkit.render("prompts.greet", { name: "Ada" })).rejects.toMatchObject({ code: "DENIED" });
  },
);

test("what a toolkit refuses is said with the place in the file", async () => {
  const config = await read("toolweave.yaml", "connectors:\n  a: { command: x, url: y }\n");
  await expect(ConfiguredToolkit.of(config)).rejects.toThrow(
    "toolweave.yaml:2:3 connectors.a has both url and command: write one of them.",
  );
  const store = await read("toolweave.yaml", "\nstore: redis://host\n");
  await expect(ConfiguredToolkit.of(store)).rejects.toThrow(
    "toolweave.yaml:2:1 store must be the path of an SQLite file, or begin with postgres://.",
  );
});
