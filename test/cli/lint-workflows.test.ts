import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { commandFolder } from "./support.ts";

const folder = commandFolder();

const flow = (name: string, step: string) => `name: ${name}\ndescription: Looks.\nsteps:\n  - { id: look, ${step} }\n`;

verifies(
  ["X1", "W3"],
  "workflow files are linted: of the configuration with its tools, and by name without",
  async () => {
    await mkdir(join(folder.path, "flows"));
    await folder.write("toolweave.yaml", "workflows: [flows]\npacks: { code: { root: . } }\n");
    await folder.write("flows/good.yaml", flow("good", "tool: code.analyze"));
    const good = await folder.run(["lint"]);
    expect([good.code, good.stdout]).toEqual([0, "1 workflow: no problem.\n"]);

    await folder.write("flows/other.yaml", flow("other", "tool: code.analyse"));
    await folder.write("flows/wrong.yaml", flow("wrong", 'run: a, when: "${steps.lok}"'));
    const bad = await folder.run(["lint"]);
    expect(bad.code).toBe(1);
    const [other, wrong] = ["other.yaml", "wrong.yaml"].map((name) => join(folder.path, "flows", name));
    expect(bad.stdout).toContain(`${other}:4:23: error: There is no tool "code.analyse". Did you mean`);
    expect(bad.stdout).toContain(
      `${wrong}:4:31: error: There is no step "lok". There is none before this one. [workflow]`,
    );
    expect(bad.stdout).toContain("4 |   - { id: look, tool: code.analyse }");
    expect(bad.stdout).toMatch(/3 workflows: 2 errors\.\n$/);

    const alone = await folder.run(["lint", "flows/other.yaml", "flows/wrong.yaml", "--json"]);
    expect(alone.code).toBe(1);
    expect(JSON.parse(alone.stdout)).toMatchObject({
      files: [other, wrong],
      problems: [{ file: wrong, code: "workflow" }],
    });
    expect((await folder.run(["lint", "flows/none.yaml"])).stdout).toMatch(
      /none\.yaml: It cannot be read: there is no such file/,
    );
  },
  60_000,
);

verifies(
  ["X1", "W3"],
  "workflows written in a configuration are linted there, and so are names and calls of several workflows",
  async () => {
    await mkdir(join(folder.path, "flows"));
    await folder.write(
      "toolweave.yaml",
      `workflows:
  - flows
  - name: inside
    description: Looks.
    steps: [{ id: look, tool: code.analyse }]
packs: { code: { root: . } }
`,
    );
    await folder.write("flows/again.yaml", flow("again", "tool: workflow.again"));
    await folder.write("flows/first.yaml", flow("same", "tool: code.analyze"));
    await folder.write("flows/second.yaml", flow("same", "tool: code.analyze"));
    const { code, stdout } = await folder.run(["lint"]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/4 workflows: 3 errors\.\n$/)]);
    const at = (file: string) => join(folder.path, file);
    expect(stdout).toContain(`${at("toolweave.yaml")}:5:25: error: There is no tool "code.analyse". Did you mean`);
    expect(stdout).toContain("5 |     steps: [{ id: look, tool: code.analyse }]");
    expect(stdout).toContain(`${at("flows/again.yaml")}:4:23: error: Workflows call each other without end: again`);
    expect(stdout).toContain(`The name "same" is that of ${at("flows/first.yaml")} too.`);
  },
  60_000,
);
