import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { defineTool, Toolkit } from "../../src/index.ts";
import { workflowFiles } from "../../src/workflow/workflow-files.ts";
import { workflows } from "../../src/workflow/workflows.ts";
import { verifies } from "../support/verifies.ts";

let folder: string;
const toolkits: Toolkit[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolweave-workflows-"));
});
afterEach(async () => {
  for (const toolkit of toolkits.splice(0)) await toolkit.close();
  await rm(folder, { recursive: true, force: true });
});

const textOf = (name: string, said = "${input.word}") =>
  `name: ${name}\ndescription: Says a word.\nsteps:\n  - { id: say, tool: say, params: { word: "${said}" } }\n`;

/** As editors do it: a new file takes the place of the old one. */
async function write(name: string, text: string): Promise<void> {
  await writeFile(join(folder, `${name}.new`), text);
  await rename(join(folder, `${name}.new`), join(folder, name));
}

function toolkitOf(paths: string | readonly string[] = folder, watch = false): Toolkit {
  const toolkit = new Toolkit();
  toolkits.push(toolkit);
  toolkit.add(defineTool({ name: "say", run: ({ word }) => `It says ${word}.` }));
  toolkit.addSource("workflow", workflows(workflowFiles(paths, { watch, pollMs: 1_000 })));
  return toolkit;
}

async function names(toolkit: Toolkit): Promise<readonly string[]> {
  return (await toolkit.list({ namespace: "workflow" })).entries.map(({ ref }) => ref);
}

async function failures(toolkit: Toolkit): Promise<string> {
  return (await toolkit.list({ namespace: "workflow" })).failures.map(({ error }) => error.message).join("\n");
}

describe("workflows in files", () => {
  verifies("W3", "are those of a folder, in YAML and JSON, and single files", async () => {
    await write("one.yaml", textOf("one"));
    await write(
      "two.json",
      JSON.stringify({
        name: "two",
        description: "Two.",
        steps: [{ id: "say", tool: "say", params: { word: "two" } }],
      }),
    );
    await write("_part.yaml", "no workflow");
    await write("README.md", "no workflow");
    await mkdir(join(folder, "more"));
    await writeFile(join(folder, "more", "three.yml"), textOf("three"));
    const toolkit = toolkitOf([folder, join(folder, "more", "three.yml")]);
    expect(await names(toolkit)).toEqual(["workflow.one", "workflow.three", "workflow.two"]);
    expect(await failures(toolkit)).toBe("");
    expect(await (await toolkit.call("workflow.one", { word: "one" })).text()).toBe("It says one.");
    expect(await (await toolkit.call("workflow.two", {})).text()).toBe("It says two.");
  });

  verifies("W3", "are named with file, line and column where they are broken, and stop no other", async () => {
    await write("bad.yaml", textOf("bad").replace("tool:", "toool:"));
    await write("good.yaml", textOf("good"));
    await write("same.yaml", textOf("good"));
    const toolkit = toolkitOf([folder, join(folder, "none.yaml"), join(folder, "gone")]);
    expect(await names(toolkit)).toEqual(["workflow.good"]);
    const found = await failures(toolkit);
    expect(found).toContain(
      `${join(folder, "bad.yaml")}:4:23: There is no field "toool" in steps.0. Did you mean "tool"?`,
    );
    expect(found).toContain(
      `${join(folder, "same.yaml")}: The name "good" is that of ${join(folder, "good.yaml")} too.`,
    );
    expect(found).toMatch(/none\.yaml: It cannot be read: there is no such file/);
    expect(found).toMatch(/gone: It cannot be read: ENOENT/);
  });

  verifies("W3", "are followed, and a broken one keeps its last good version", async () => {
    await write("one.yaml", textOf("one", "first"));
    const toolkit = toolkitOf(folder, true);
    const said = async () => await (await toolkit.call("workflow.one", {})).text();
    expect(await said()).toBe("It says first.");
    await write("one.yaml", textOf("one", "second"));
    await expect.poll(said, { timeout: 20_000 }).toBe("It says second.");
    await write("one.yaml", textOf("one", "${steps.none}"));
    await expect.poll(() => failures(toolkit), { timeout: 20_000 }).toMatch(/one\.yaml:4:\d+: There is no step "none"/);
    expect(await said()).toBe("It says second.");
    await write("one.yaml", textOf("one", "third"));
    await write("two.yaml", textOf("two"));
    await expect.poll(said, { timeout: 20_000 }).toBe("It says third.");
    await expect.poll(() => names(toolkit), { timeout: 20_000 }).toEqual(["workflow.one", "workflow.two"]);
    expect(await failures(toolkit)).toBe("");
    await rm(join(folder, "one.yaml"));
    await expect.poll(() => names(toolkit), { timeout: 20_000 }).toEqual(["workflow.two"]);
  });

  verifies("W3", "are reported where they call each other without end", async () => {
    const calls = (name: string, other: string) => textOf(name).replace("tool: say", `tool: workflow.${other}`);
    await write("a.yaml", calls("a", "b"));
    await write("b.yaml", calls("b", "c"));
    await write("c.yaml", calls("c", "a"));
    await write("d.yaml", calls("d", "a"));
    const toolkit = toolkitOf();
    expect(await failures(toolkit)).toContain(
      `${join(folder, "a.yaml")}:4:22: Workflows call each other without end: a calls b calls c calls a. Remove one of these calls.`,
    );
    expect((await failures(toolkit)).match(/without end/g)).toHaveLength(1);
  });

  verifies(["W3", "H4"], "are bounded in size, and no link leads out of their folder", async () => {
    await write("large.yaml", `${textOf("large")}# ${"x".repeat(300_000)}\n`);
    const outside = await mkdtemp(join(tmpdir(), "toolweave-outside-"));
    await writeFile(join(outside, "secret.yaml"), textOf("secret"));
    await symlink(join(outside, "secret.yaml"), join(folder, "link.yaml"));
    await write("latin.yaml", textOf("latin"));
    await writeFile(join(folder, "latin.yaml"), Buffer.from([0x6e, 0xe9, 0x0a]));
    const toolkit = toolkitOf();
    expect(await names(toolkit)).toEqual([]);
    const found = await failures(toolkit);
    expect(found).toMatch(/large\.yaml: It cannot be read: it has \d+ bytes, and may have 262144/);
    expect(found).toMatch(/link\.yaml: It cannot be read: it is a link that leads out of its folder/);
    expect(found).toMatch(/latin\.yaml: It cannot be read: it is not text in UTF-8/);
    await rm(outside, { recursive: true });
  });

  verifies("W3", "are followed by options that are checked", () => {
    expect(() => workflowFiles([])).not.toThrow();
    expect(() => workflowFiles("")).toThrow(/paths/);
    expect(() => workflowFiles(folder, { watch: "yes" as never })).toThrow(/watch/);
    expect(() => workflowFiles(folder, { pollMs: 1 })).toThrow(/pollMs/);
    expect(() => workflowFiles(folder, { recursive: true } as never)).toThrow(/recursive/);
  });
});
