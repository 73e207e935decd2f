import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { operatorError } from "../../src/core/server-output.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { folderWith, loadManifest, toolkitOf } from "./manifest-fixture.ts";

const node = JSON.stringify(process.execPath);

/** A manifest of the tool `run` that runs a script of Node. */
const exec = (fields: string, args = '["tool.mjs"]') => `kind: Tool
metadata: { name: run }
spec:
  description: Runs a program.
  mode: exec
  exec:
    command: ${node}
    args: ${args}
${fields.replaceAll(/^(?=.)/gm, "    ")}
`;

const reading = `let text = ""; for await (const chunk of process.stdin) text += chunk; const { args } = JSON.parse(text);`;

async function toolkitFor(
  script: string,
  fields = "",
  parts: Parameters<typeof toolkitOf>[1] & { args?: string } = {},
) {
  const folder = await folderWith({ "tool.mjs": script });
  return await toolkitOf(exec(fields, parts.args), { folder, ...parts });
}

describe("the mode exec", () => {
  verifies("W1", "runs a program that reads its arguments and writes its result as JSON", async () => {
    const script = `${reading} console.log(JSON.stringify({ result: { sum: args.a + args.b, cwd: process.cwd() } }));`;
    const toolkit = await toolkitFor(script);
    expect(await (await toolkit.call("manifest.run", { a: 2, b: 3 })).json()).toMatchObject({ sum: 5 });
    const plain = await toolkitFor(`console.log("just text")`);
    expect(await (await plain.call("manifest.run", {})).text()).toBe("just text");
  });

  verifies("W1", "gives each argument of the call to one argument of the program, and no option of it", async () => {
    const script = "console.log(JSON.stringify({ result: process.argv.slice(2) }))";
    const args = '["tool.mjs", "{{.file}}", "--name={{name}}", "--", "{{rest}}"]';
    const toolkit = await toolkitFor(script, "", { args });
    const input = { file: "a b; rm -rf $HOME `x`", name: '"q"', rest: "--force" };
    const given = [input.file, `--name=${input.name}`, "--", "--force"];
    expect(await (await toolkit.call("manifest.run", input)).json()).toEqual(given);
    expect(await failure(toolkit.call("manifest.run", { ...input, file: "--eval=1" }))).toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(await (await toolkit.call("manifest.run", { ...input, file: "-5" })).json()).toContain("-5");
    expect(await failure(toolkit.call("manifest.run", { ...input, file: "a\0b" }))).toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  verifies("W1", "says that an argument is too long for the system, and takes it on stdin", async () => {
    const script = `${reading} console.log(JSON.stringify({ result: args.file.length }));`;
    const toolkit = await toolkitFor(script, "", { args: '["tool.mjs", "--name={{file}}"]' });
    const file = "e".repeat(300_000);
    const error = await failure(toolkit.call("manifest.run", { file }));
    expect(error).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "exec.args" } });
    expect(error.message).toMatch(
      /^(An argument|The arguments) of the program node ha(s|ve) 3000\d\d bytes, and the system/,
    );
    expect(error.message).toMatch(/takes \d+\. Give less; or have the program read it on stdin/);
    const many = await toolkitFor(script, "", { args: `["tool.mjs", ${'"{{file}}", '.repeat(64)}"--"]` });
    expect(await failure(many.call("manifest.run", { file: "a".repeat(100_000) }))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { limit: "exec.args", actual: expect.any(Number) },
    });
    const plain = await toolkitFor(script);
    expect(await (await plain.call("manifest.run", { file })).json()).toBe(file.length);
  });

  verifies("W1", "gives the program the variables that are named, and names one that is not set", async () => {
    const script = "console.log(JSON.stringify({ result: Object.keys(process.env) }))";
    const toolkit = await toolkitFor(script, "env: [SHOP_KEY]", { env: { SHOP_KEY: "k-123456", OTHER: "x" } });
    const names = (await (await toolkit.call("manifest.run", {})).json()) as readonly string[];
    expect(names).toContain("SHOP_KEY");
    expect(names).toContain("PATH");
    expect(names).not.toContain("OTHER");
    expect(await failure(loadManifest(exec("env: [SHOP_KEY]")))).toMatchObject({
      code: "INVALID_MANIFEST",
      message: expect.stringContaining("tool.yaml:9:11: The program needs the environment variable SHOP_KEY"),
      details: { line: 9, column: 11, variable: "SHOP_KEY" },
    });
  });

  verifies("W1", "says that a program failed; what it printed is for the operator, without secrets", async () => {
    const said = await toolkitFor(`console.log(JSON.stringify({ error: "no such order" }))`);
    expect((await failure(said.call("manifest.run", {}))).message).toContain("run: no such order");
    const telling = "console.log(JSON.stringify({ error: `the key is ${process.env.SHOP_KEY}` }))";
    const tells = await toolkitFor(telling, "env: [SHOP_KEY]", { env: { SHOP_KEY: "k-1234567" } });
    expect((await failure(tells.call("manifest.run", {}))).message).toBe("run: the key is ***");
    const script = "console.error(`the key is ${process.env.SHOP_KEY}`); process.exitCode = 3;";
    const toolkit = await toolkitFor(script, "env: [SHOP_KEY]", { env: { SHOP_KEY: "k-1234567" } });
    const error = await failure(toolkit.call("manifest.run", {}));
    expect(error).toMatchObject({ code: "TOOL_FAILED", message: "The program node failed: it exited with code 3." });
    expect(operatorError(error).message).toContain("the key is ***");
    const none = await toolkitOf(exec("").replace(node, "no-such-program"), {});
    expect(await failure(none.call("manifest.run", {}))).toMatchObject({ code: "UNAVAILABLE" });
  });

  verifies("W1", "ends a program that takes too long or writes too much, with all that it started", async () => {
    const script = `import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
writeFileSync("pids", process.pid + " " + child.pid);
setInterval(() => {}, 1000);`;
    const folder = await folderWith({ "tool.mjs": script });
    const toolkit = await toolkitOf(exec("timeout_ms: 1500"), { folder });
    expect(await failure(toolkit.call("manifest.run", {}))).toMatchObject({ code: "TIMEOUT" });
    const pids = (await readFile(join(folder, "pids"), "utf8")).split(" ").map(Number);
    await expect.poll(() => pids.filter(isRunning), { timeout: 20_000 }).toEqual([]);

    const endless = await toolkitFor(
      `setInterval(() => process.stdout.write("x".repeat(65536)), 1)`,
      "max_output_bytes: 100000",
    );
    expect(await failure(endless.call("manifest.run", {}))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { limit: "max_output_bytes" },
    });
  });

  verifies("W1", "is wrapped, by a command of the manifest or a sandbox of the operator", async () => {
    const script = "console.log(JSON.stringify({ result: process.argv[1].endsWith('tool.mjs') }))";
    const toolkit = await toolkitFor(script, "wrap: [env, WRAPPED=1]\nsandbox: box", {
      sandboxes: { box: ["env", "BOXED=1"] },
    });
    expect(await (await toolkit.call("manifest.run", {})).json()).toBe(true);
    expect(await failure(loadManifest(exec("sandbox: jail")))).toMatchObject({ code: "INVALID_MANIFEST" });
  });

  verifies("W1", "keeps a program running that is a server, and starts it again after its end", async () => {
    const script = `import { createInterface } from "node:readline";
let count = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (params.args.die) process.exit(1);
  count += 1;
  const answer = params.args.bad ? { error: { code: 1, message: "bad" } } : { result: { count, method } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
}`;
    const toolkit = await toolkitFor(script, "runtime: server");
    const call = async (input: object) => (await toolkit.call("manifest.run", input)).json();
    expect(await call({})).toEqual({ count: 1, method: "execute" });
    expect(await call({})).toEqual({ count: 2, method: "execute" });
    expect((await failure(call({ bad: true }))).message).toContain("bad");
    expect(await failure(call({ die: true }))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(await call({})).toEqual({ count: 1, method: "execute" });
    const templates = failure(loadManifest(exec("runtime: server", '["tool.mjs", "{{id}}"]')));
    expect(await templates).toMatchObject({ code: "INVALID_MANIFEST", details: { line: 8 } });
  });

  test("waits for work elsewhere where the program says so", async () => {
    const toolkit = await toolkitFor(
      `console.log(JSON.stringify({ pending: { reason: "review", message: "Later." } }))`,
    );
    expect(await failure(toolkit.call("manifest.run", {}))).toMatchObject({
      code: "PENDING",
      details: { reason: "review", message: "Later." },
    });
  });
});

function isRunning(pid: number): boolean {
  if (!existsSync("/proc/self")) {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  }
  return existsSync(`/proc/${pid}`);
}
