import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { folderWith, loadManifest, toolkitOf } from "../manifest/manifest-fixture.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const node = JSON.stringify(process.execPath);
const program = (args: string, fields = "") => `kind: Tool
metadata: { name: run }
spec:
  description: Runs a program.
  mode: exec
  exec: { command: ${node}, args: ${args}${fields} }
`;
const mocked = (fields: string) => `kind: Tool
metadata: { name: mocked }
spec:
  description: A tool.
  ${fields}
`;

describe("a caller of a tool that is a program", () => {
  const texts = [
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "| touch pwned",
    "> pwned",
    "a\nb",
    '"',
    "'",
    "\\",
  ];
  const script = "console.log(JSON.stringify({ result: process.argv.slice(2) }))";

  verifies("W1", "has one argument of it, whatever that holds, and runs nothing", async () => {
    const folder = await folderWith({ "tool.mjs": script });
    const toolkit = await toolkitOf(program('["tool.mjs", "{{text}}"]'), { folder });
    for (const text of texts) expect(await (await toolkit.call("manifest.run", { text })).json()).toEqual([text]);
    expect(existsSync(join(folder, "pwned"))).toBe(false);
  });

  verifies("W1", "gives it no option, and no template of its own", async () => {
    const folder = await folderWith({ "tool.mjs": script });
    const toolkit = await toolkitOf(program('["tool.mjs", "{{text}}"]'), { folder });
    for (const text of ["--eval=1", "-e", "--", "-r./x"])
      expect(await failure(toolkit.call("manifest.run", { text }))).toMatchObject({ code: "INVALID_INPUT" });
    expect(await (await toolkit.call("manifest.run", { text: "{{text}}${HOME}" })).json()).toEqual(["{{text}}${HOME}"]);
  });

  verifies("W1", "does not keep it running: a call that is aborted ends it, and what it started", async () => {
    const folder = await folderWith({
      "tool.mjs": `import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
process.on("SIGTERM", () => {});
const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
writeFileSync("pids.tmp", process.pid + " " + child.pid);
writeFileSync("pids", process.pid + " " + child.pid);
setInterval(() => {}, 1000);`,
    });
    const toolkit = await toolkitOf(program('["tool.mjs"]'), { folder });
    const controller = new AbortController();
    const call = toolkit.call("manifest.run", {}, { signal: controller.signal }).catch((error: unknown) => error);
    await expect.poll(() => existsSync(join(folder, "pids")), { timeout: 20_000 }).toBe(true);
    const pids = (await readFile(join(folder, "pids"), "utf8")).split(" ").map(Number);
    controller.abort(new Error("enough"));
    expect(await call).toMatchObject({ message: "enough" });
    await expect.poll(() => pids.filter(isRunning), { timeout: 20_000 }).toEqual([]);
  });
});

describe("a program of a manifest", () => {
  verifies(
    "W1",
    "that writes without end is ended at the limit, also where it keeps running for many calls",
    async () => {
      const endless =
        "for (;;) if (!process.stdout.write('x'.repeat(65536))) await new Promise((r) => process.stdout.once('drain', r));";
      const folder = await folderWith({
        "tool.mjs": endless,
        "server.mjs": `process.stdin.once("data", async () => { ${endless} });`,
      });
      const once = await toolkitOf(program('["tool.mjs"]', ", max_output_bytes: 1000000"), { folder });
      expect(await failure(once.call("manifest.run", {}))).toMatchObject({ code: "LIMIT_EXCEEDED" });
      const server = await toolkitOf(program('["server.mjs"]', ", runtime: server, max_output_bytes: 1000000"), {
        folder,
      });
      expect(await failure(server.call("manifest.run", {}))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    },
  );

  verifies("W1", "that answers for others, twice, or with what is no answer, changes no other call", async () => {
    const folder = await folderWith({
      "server.mjs": `import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const { id, params } = JSON.parse(line);
  for (const odd of ["nonsense", "[]", "{}", '{"id":"1"}', '{"id":999,"result":1}', '{"id":__proto__}']) console.log(odd);
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: params.args.n }));
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: "again" }));
}`,
    });
    const toolkit = await toolkitOf(program('["server.mjs"]', ", runtime: server"), { folder });
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    const answers = await Promise.all(numbers.map(async (n) => (await toolkit.call("manifest.run", { n })).json()));
    expect(answers).toEqual(numbers);
  });

  verifies("W1", "gets no variable that the manifest does not name", async () => {
    const folder = await folderWith({
      "tool.mjs": "console.log(JSON.stringify({ result: process.env.SHOP_TOKEN ?? null }))",
    });
    const toolkit = await toolkitOf(program('["tool.mjs"]'), { folder, env: { SHOP_TOKEN: "t-12345678" } });
    expect(await (await toolkit.call("manifest.run", {})).json()).toBeNull();
  });
});

describe("the author of a manifest", () => {
  verifies("W1", "who nests, repeats or lengthens it without measure is refused at once", async () => {
    const bombs = [
      `kind: Tool\nspec: ${"[".repeat(100_000)}`,
      `kind: Tool\nspec: { mock_result: ${"{a: ".repeat(1_000)}`,
      `a: &a [x, x, x, x, x, x, x, x]\n${Array.from({ length: 29 }, (_, at) => `b${at}: &b${at} [${`*${at === 0 ? "a" : `b${at - 1}`}, `.repeat(8)}]`).join("\n")}\nkind: Tool\nspec: {}`,
      `kind: Tool\nspec: { description: "${"x".repeat(300_000)}" }`,
      `kind: Tool\nmetadata: { name: a }\nspec: { ${Array.from({ length: 20_000 }, (_, at) => `f${at}: 1`).join(", ")} }`,
    ];
    for (const bomb of bombs) {
      const began = process.cpuUsage();
      const error = await failure(loadManifest(bomb));
      expect(error.code).toBe("INVALID_MANIFEST");
      expect(error.message.length).toBeLessThan(30_000);
      expect(process.cpuUsage(began).user / 1_000).toBeLessThan(5_000);
    }
  });

  verifies("W1", "reads no file that is not beside it, through a path or a link", async () => {
    const outside = await folderWith({ "secret.json": '"the secret"' });
    const folder = await folderWith({});
    await symlink(outside, join(folder, "linked"));
    await symlink(join(outside, "secret.json"), join(folder, "link.json"));
    await mkdir(join(folder, "inside"));
    await writeFile(join(folder, "inside", "own.json"), "1");
    const paths = [
      "../x.json",
      join(outside, "secret.json"),
      "linked/secret.json",
      "link.json",
      "/dev/zero",
      "inside",
      ".",
    ];
    for (const path of paths) {
      const error = await failure(loadManifest(mocked(`mock_result_file: ${JSON.stringify(path)}`), { folder }));
      expect(error, path).toMatchObject({ code: "INVALID_MANIFEST" });
      expect(error.message).not.toContain("the secret");
    }
    for (const path of ["linked", ".."])
      expect(await failure(loadManifest(mocked(`mock_recordings: ${path}`), { folder }))).toMatchObject({
        code: "INVALID_MANIFEST",
      });
    await loadManifest(mocked("mock_result_file: inside/own.json"), { folder });
  });

  verifies("W1", "has templates that end at the limit of their work", async () => {
    const loops = "{{#each xs}}{{#each @root.xs}}{{#each @root.xs}}{{this}}{{/each}}{{/each}}{{/each}}";
    const toolkit = await toolkitOf(mocked(`mock_template: '${loops}'`));
    const xs = Array.from({ length: 1_000 }, (_, at) => at);
    expect(await failure(toolkit.call("manifest.mocked", { xs }))).toMatchObject({ code: "LIMIT_EXCEEDED" });
  });

  verifies(
    "W1",
    "runs nothing outside of a sandbox that it names, and no mode by the name of a member of objects",
    async () => {
      for (const name of ["none", "constructor", "__proto__"])
        expect(await failure(loadManifest(program("[]", `, sandbox: ${name}`)))).toMatchObject({
          code: "INVALID_MANIFEST",
        });
      for (const mode of ["constructor", "__proto__", "toString"])
        expect(await failure(loadManifest(mocked(`mode: ${mode}`)))).toMatchObject({ code: "INVALID_MANIFEST" });
    },
  );
});

describe("a recording of a stranger", () => {
  verifies("W1", "is refused where it is no recording, and harms no object", async () => {
    const deep = `${'{"result":'}${"[".repeat(500)}${"]".repeat(500)}}`;
    const files = {
      "deep.json": deep,
      "cut.json": '{"result": 1',
      "list.json": "[1]",
      "both.json": '{"result": 1, "error": {}}',
      "first.jsonl": '{"type":"call"}\n',
      "odd.jsonl":
        '{"type":"tape","version":1}\n{"type":"call","call":1,"kind":"tool","ref":"a.mocked"}\n{"type":"result","call":1,"content":{"kind":"no"}}\n\n',
      "empty.jsonl": '{"type":"tape","version":1}\n',
      "proto.json": '{"arguments": {"__proto__": {"polluted": true}}, "result": {"__proto__": {"polluted": true}}}',
    };
    const folder = await folderWith(files);
    for (const name of Object.keys(files).filter((each) => each !== "proto.json"))
      expect(await failure(loadManifest(mocked(`mock_recordings: ${name}`), { folder })), name).toMatchObject({
        code: "INVALID_MANIFEST",
      });
    const toolkit = await toolkitOf(mocked("mock_recordings: proto.json"), { folder });
    const answered = await toolkit
      .call("manifest.mocked", JSON.parse('{"__proto__": {"polluted": true}}'))
      .catch((error: unknown) => error);
    expect(ToolkitError.is(answered) || answered !== undefined).toBe(true);
    expect(({} as { readonly polluted?: unknown }).polluted).toBeUndefined();
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
