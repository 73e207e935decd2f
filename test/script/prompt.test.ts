import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseCommand, UsageError } from "../../script/prompt/command.ts";
import { project } from "../../script/support/project.ts";
import { run } from "../../script/support/run.ts";
import { sampleOf } from "../../src/cli/sample-value.ts";
import { validatorOf } from "../../src/core/schema/validator.ts";
import { verifies } from "../support/verifies.ts";

const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/_API_KEY$|^OLLAMA_/.test(name)),
);

async function command(cwd: string, ...args: readonly string[]) {
  const { stdout, output, failure } = await run(process.execPath, [join(project, "script/prompt.ts"), ...args], {
    cwd,
    env: environment,
  });
  return { stdout, output, code: failure === undefined ? 0 : Number(/^exited with (\d+)$/.exec(failure)?.[1]) };
}

/** The prompts we ship, and what a test adds. */
async function promptsWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-prompt-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(join(project, "prompts"), folder, { recursive: true });
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
  return folder;
}

/** Several processes are started, on a machine that may have much to do. */
const limitMs = 120_000;

const described = "title: A title that says it\ndescription: Says it.";

describe("lint", () => {
  verifies(
    "P7",
    "0 where all is well, hints included, 1 with the problems, 2 for a wrong command",
    async () => {
      const folder = await promptsWith({
        "bare.md": "---\nname: bare\n---\nHi",
        "bad.md": "---\n{ title: 7 }\n---\nHi",
      });
      const [good, hints, bad, json, missing, nothing] = await Promise.all([
        command(folder, "lint", "summarize.md", "translate.md"),
        command(folder, "lint", "bare.md"),
        command(folder, "lint", "."),
        command(folder, "lint", ".", "--json"),
        command(folder, "lint", "gone.md"),
        command(folder, "lint"),
      ]);
      expect(good).toMatchObject({ code: 0, output: "2 prompts: no problem.\n" });
      expect(hints).toMatchObject({ code: 0, stdout: expect.stringMatching(/^1 prompt: 2 hints\.$/m) });
      expect(bad).toMatchObject({ code: 1, stdout: expect.stringContaining("bad.md:2:10: error: title must be text") });
      const { problems } = JSON.parse(json.stdout);
      expect(problems[0]).toMatchObject({ file: "bad.md", line: 1, code: "missing-description" });
      expect(json.code).toBe(1);
      expect(missing).toMatchObject({ code: 2, output: 'There is no "gone.md": check the path.\n' });
      expect(nothing).toMatchObject({ code: 2, output: expect.stringContaining("lint needs the path") });
    },
    limitMs,
  );

  verifies(
    "P7",
    "with a configuration of servers entries of tools are looked up in them, and in the folder",
    async () => {
      const everything = join(project, "node_modules/@modelcontextprotocol/server-everything/dist/index.js");
      const folder = await promptsWith({
        "mcp.json": JSON.stringify({ mcpServers: { every: { command: process.execPath, args: [everything] } } }),
        "use.md": `---\n${described}\ntools: [every.echo, every.ehco, summarize, other.*]\n---\nHi`,
      });
      const { code, stdout } = await command(folder, "lint", "use.md", "--mcp", "mcp.json");
      expect(stdout).toContain('use.md:4:21: error: There is no tool "every.ehco". [unknown-tool]');
      expect(stdout).toContain('= Did you mean "every.echo"');
      expect(stdout).toContain('"other.*" matches nothing. [no-match]');
      expect(stdout).toContain("1 prompt: 1 error, 1 warning.");
      expect(code).toBe(1);
    },
    limitMs,
  );
});

describe("run", () => {
  verifies(
    "P7",
    "without a key: says so, and prints a result that fits the output",
    async () => {
      const folder = await promptsWith({ "input.json": '{ "text": "Ann went to Bern." }' });
      const [byName, byFile, text, wrong, broken] = await Promise.all([
        command(folder, "run", "extract_entities.md", "text=Ann went to Bern.", "--json"),
        command(folder, "run", "extract_entities.md", "--input", "input.json"),
        command(folder, "run", "summarize.md", "--input", '{ "text": "Tea is hot." }', "max_sentences=2"),
        command(folder, "run", "summarize.md", "max_sentences=two"),
        command(folder, "run", "README.md"),
      ]);
      expect(byName.output).toContain("No model is asked");
      expect(JSON.parse(byName.stdout)).toMatchObject({
        result: { entities: [{ kind: "person" }] },
        model: "offline/stand-in",
      });
      expect(JSON.parse(byFile.stdout)).toEqual(JSON.parse(byName.stdout).result);
      expect(text.stdout).toContain("in at most 2 sentences");
      expect(text.stdout).toContain("Tea is hot.");
      expect(wrong).toMatchObject({ code: 1, stdout: "" });
      expect(wrong.output).toContain("/text is missing");
      expect(broken.code).toBe(2);
    },
    limitMs,
  );

  verifies(
    "P7",
    "with tools the answer is submitted, and attachments are read",
    async () => {
      const output = "output: { type: array, items: { type: string, enum: [yes, no] } }";
      const folder = await promptsWith({
        "use.md": `---\n${described}\nmodel: gpt-5\ntools: summarize\n${output}\n---\nHi`,
      });
      const { code, stdout } = await command(folder, "run", "use.md", "--attach", "summarize.md");
      expect(JSON.parse(stdout)).toEqual(["yes"]);
      expect(code).toBe(0);
    },
    limitMs,
  );

  verifies(
    "P7",
    "a result that cannot be made up is no fault of the prompt, and an example helps",
    async () => {
      const odd = (example: string) =>
        `---\n${described}\noutput: { type: string, pattern: "^[A-Z]{3}-1$"${example} }\n---\nHi`;
      const folder = await promptsWith({ "odd.md": odd(""), "example.md": odd(", examples: [ABC-1]") });
      const [bare, given] = await Promise.all([command(folder, "run", "odd.md"), command(folder, "run", "example.md")]);
      expect(bare.code).toBe(1);
      expect(bare.output).toMatch(
        /No result could be made up that fits output: must match pattern .* no mistake of the prompt/,
      );
      expect(given).toMatchObject({ code: 0, stdout: "ABC-1\n" });
    },
    limitMs,
  );

  verifies(
    "P7",
    "a model without its key is an error that says what to set",
    async () => {
      const folder = await promptsWith({});
      const { code, output } = await command(folder, "run", "summarize.md", "text=x", "--model", "openai/gpt-5");
      expect(output).toContain("OPENAI_API_KEY");
      expect(code).toBe(1);
    },
    limitMs,
  );
});

describe("the arguments", () => {
  test.each([
    [[], "Say what to do"],
    [["check", "a"], "There is no check"],
    [["lint", "a", "--input", "{}"], "neither --input nor --attach"],
    [["run"], "run needs the path"],
    [["run", "a", "b"], "written name=value"],
    [["run", "a", "=b"], "written name=value"],
    [["run", "a", "--input", "{"], "--input is no JSON"],
    [["run", "a", "--input", "no/such/file"], "no/such/file cannot be read"],
    [["run", "a", "--model", "a/b", "--model", "c/d"], "--model once"],
    [["run", "a", "--verbose"], "--verbose"],
  ])("%j is refused", (args, message) => {
    const parse = () => parseCommand(args);
    expect(parse).toThrow(UsageError);
    expect(parse).toThrow(message);
  });

  test("help", () => {
    expect(parseCommand(["run", "--help"])).toEqual({ name: "help" });
  });
});

describe("a value that is made up fits", () => {
  test.each([
    [{ type: "string", minLength: 12, maxLength: 14 }],
    [{ type: "string", format: "email" }],
    [{ type: "integer", minimum: 7, multipleOf: 5 }],
    [{ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }],
    [{ type: "number", maximum: -3 }],
    [{ type: ["null", "string"] }],
    [{ enum: ["a", 3] }],
    [{ const: 7 }],
    [{ type: "array", items: { type: "boolean" }, minItems: 3 }],
    [{ type: "array", maxItems: 0 }],
    [{ anyOf: [{ type: "integer", minimum: 3 }, { type: "string" }] }],
    [
      {
        allOf: [
          { properties: { a: { type: "integer" } }, required: ["a"] },
          { properties: { b: {} }, required: ["b"] },
        ],
      },
    ],
    [{ $ref: "#/$defs/node", $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } } }],
    [
      {
        type: "object",
        properties: { a: { default: 1, type: "integer" }, b: { examples: ["x"] } },
        required: ["a", "c"],
      },
    ],
  ])("%j", async (schema) => {
    const value = sampleOf(schema);
    expect(await validatorOf(schema)(value)).toBe(value);
  });
});
