import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { commandFolder, handConfig } from "./support.ts";

const folder = commandFolder();
const limitMs = 240_000;

describe("a configuration that is wrong", () => {
  verifies(
    "X1",
    "is repaired by removing an entry, and a file of another client gets the list of that client",
    async () => {
      await folder.write("toolweave.yaml", "# mine\nconnectors:\n  good: https://a/mcp\n  bad: { comand: node }\n");
      expect((await folder.run(["list"])).code).toBe(2);
      expect((await folder.run(["remove", "bda"])).stderr).toContain('Did you mean "bad"?');
      const removed = await folder.run(["remove", "bad"]);
      expect([removed.code, removed.stderr]).toEqual([0, ""]);
      expect(await readFile(join(folder.path, "toolweave.yaml"), "utf8")).toBe(
        "# mine\nconnectors:\n  good: https://a/mcp\n",
      );
      for (const file of [".mcp.json", "new.json"]) {
        if (file === ".mcp.json") await folder.write(file, "{}\n");
        expect((await folder.run(["add", "far", "https://far/mcp", "--config", file])).code).toBe(0);
      }
      const written = async (file: string): Promise<unknown> =>
        JSON.parse(await readFile(join(folder.path, file), "utf8"));
      expect(await written(".mcp.json")).toEqual({ mcpServers: { far: { url: "https://far/mcp" } } });
      expect(await written("new.json")).toEqual({ connectors: { far: "https://far/mcp" } });
    },
    limitMs,
  );

  verifies(
    "X1",
    "has its models without a package or key, and its patterns that match nothing, named by doctor",
    async () => {
      const models = "models: { default: openai/gpt-5, providers: { local: { url: http://localhost:1/v1 } } }\n";
      await folder.write(
        "toolweave.yaml",
        `${handConfig}${models}prompts: [.]\npolicy: { block: [hand.gret, "*.rows"] }\n`,
      );
      const prompt = (model: string) => `---\ndescription: A.\nmodel: ${model}\n---\nSay hello.\n`;
      await folder.write("local.md", prompt("local/llama"));
      await folder.write("odd.md", prompt("opnai/gpt-5"));
      const { code, stdout } = await folder.run(["doctor"], { env: { OPENAI_API_KEY: "" } });
      expect(code).toBe(1);
      expect(stdout).toMatch(/wrong the model openai\/gpt-5 of models\.default: .*\n +export OPENAI_API_KEY=/);
      expect(stdout).toMatch(
        /wrong the model opnai\/gpt-5 of the prompt odd: there is no provider opnai\n +write openai/,
      );
      expect(stdout).toMatch(
        /wrong policy\.block: hand\.gret: it matches nothing, and does nothing\n +write hand\.greet/,
      );
      expect(stdout).not.toMatch(/local\/llama|\*\.rows/);
      expect(stdout).toContain("3 things are wrong.");
    },
    limitMs,
  );
});

verifies(
  "X1",
  "a variable that is not set is one problem for doctor, and a server that was not reached is none of the name",
  async () => {
    await folder.write("toolweave.yaml", 'connectors:\n  far: { url: "https://127.0.0.1:1/${NOT_SET}" }\n');
    const { code, stdout } = await folder.run(["doctor"]);
    expect([code, stdout.match(/NOT_SET/g)?.length]).toEqual([1, 2]);
    expect(stdout).toContain("1 thing is wrong.");
    const dead = `${process.execPath} -e process.exit(1)`;
    const called = await folder.run(["call", "echo", "--server", dead]);
    expect([called.code, called.stderr]).toEqual([
      4,
      expect.stringContaining('UNAVAILABLE: There is no tool or prompt "echo"'),
    ]);
  },
  limitMs,
);

verifies(
  "X1",
  "status shows once what a server printed before it ended, and names no attempt that will not be made",
  async () => {
    const args = JSON.stringify(["-e", "throw new Error('kaput')"]);
    await folder.write("toolweave.yaml", `connectors:\n  bad: { command: ${process.execPath}, args: ${args} }\n`);
    const { code, stdout, stderr } = await folder.run(["status"]);
    expect(code).toBe(4);
    expect(`${stdout}${stderr}`.match(/Error: kaput/g)).toHaveLength(1);
    expect(stdout).toMatch(/\nbad: .*exited with code 1\.\n/);
    expect(stdout).not.toContain("tried again");
  },
  limitMs,
);

verifies(
  ["X1", "W1"],
  "doctor names each mistake of a manifest with its place",
  async () => {
    const spec = "kind: Tool\nmetadata: { name: one }\nspec: { description: d, mock_result: 1";
    await folder.write("toolweave.yaml", "manifests: [tools.yaml]\n");
    await folder.write("tools.yaml", `${spec} }\n`);
    expect(await folder.run(["doctor"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/ok {4}manifests\n/) });
    await folder.write("tools.yaml", `${spec}, mod: mock }\n`);
    const { code, stdout } = await folder.run(["doctor"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /wrong manifests: .*tools\.yaml:3:\d+: There is no field "mod" in spec\. Did you mean "mode"\?/,
    );
  },
  limitMs,
);
