import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { commandFolder } from "./support.ts";

const folder = commandFolder();

const manifest = (name: string, spec: string) => `kind: Tool\nmetadata: { name: ${name} }\nspec: { ${spec} }\n`;

verifies(
  ["X1", "W1"],
  "manifests are linted: of the configuration, and files and folders by name",
  async () => {
    const at = (name: string) => join(folder.path, "tools", name);
    await mkdir(join(folder.path, "tools", "data"), { recursive: true });
    await folder.write("toolweave.yaml", "manifests: [tools]\nsandboxes: { none: [env] }\n");
    await folder.write(
      "tools/good.yaml",
      manifest("good", "description: G, mode: exec, exec: { command: ls, sandbox: none }"),
    );
    await folder.write(
      "tools/bare.json",
      '{"name":"bare","description":"B","mode":"mock","mock_result_file":"data.json"}',
    );
    await folder.write("tools/data.json", '{"kind":"data","steps":1}');
    await folder.write("tools/data/inner.yaml", manifest("inner", "mock_resutl: 1"));
    const good = await folder.run(["lint"]);
    expect([good.code, good.stdout]).toEqual([0, "2 manifests: no problem.\n"]);

    await folder.write("tools/two.yaml", manifest("two", "timeout_ms: long, labels: 2"));
    await folder.write("tools/torn.yaml", "kind: Tool\nspec: [");
    await folder.write("tools/twin.yaml", manifest("good", "mock_result: 1"));
    await folder.write("tools/live.yaml", manifest("live", 'mode: live, http: { url: "${NOT_SET_HERE}" }'));
    const bad = await folder.run(["lint"]);
    expect(bad.code).toBe(1);
    expect(bad.stdout).toContain(`${at("two.yaml")}:3:21: error: timeout_ms must be`);
    expect(bad.stdout).toContain(`${at("two.yaml")}:3:35: error: labels must be`);
    expect(bad.stdout).toContain(`${at("torn.yaml")}:2:`);
    expect(bad.stdout).toContain(
      `${at("twin.yaml")}:1:1: error: The tool manifest.good is one of ${at("good.yaml")} too.`,
    );
    expect(bad.stdout).toContain("http.url needs the environment variable NOT_SET_HERE");
    expect(bad.stdout).toContain("3 | spec: { timeout_ms: long, labels: 2 }");
    expect(bad.stdout).toMatch(/6 manifests: 5 errors\.\n$/);

    const byPath = await folder.run([
      "lint",
      "tools/good.yaml",
      "tools/bare.json",
      "tools/two.yaml",
      "tools/torn.yaml",
      "--json",
    ]);
    expect(byPath.code).toBe(1);
    const { files, problems } = JSON.parse(byPath.stdout);
    expect(files).toEqual([at("good.yaml"), at("bare.json"), at("two.yaml"), at("torn.yaml")]);
    expect(problems).toMatchObject([
      { file: at("torn.yaml"), code: "manifest" },
      { file: at("two.yaml"), code: "manifest" },
      { file: at("two.yaml"), code: "manifest" },
    ]);
    expect((await folder.run(["lint", "tools"])).stdout).toBe(bad.stdout);
    expect((await folder.run(["lint", "--recursive", "tools"])).stdout).toMatch(/7 manifests: 6 errors\.\n$/);
    await folder.write(
      "toolweave.yaml",
      "manifests: [tools/good.yaml, tools/gone.yaml, nowhere]\nsandboxes: { none: [env] }\n",
    );
    const missing = (await folder.run(["lint"])).stdout;
    expect(missing).toContain(`${at("gone.yaml")}:1:1: error: There is no file ${at("gone.yaml")}: check the path.`);
    expect(missing).toContain(
      `nowhere:1:1: error: There is no folder ${join(folder.path, "nowhere")}: check the path.`,
    );
    await folder.write("flow.yaml", "name: flow\ndescription: F\nsteps: [{ id: a, tool: b.c }]\n");
    expect((await folder.run(["lint", "flow.yaml", "tools/good.yaml"])).stdout).toBe(
      "1 workflow: no problem.\n1 manifest: no problem.\n",
    );
  },
  60_000,
);
