import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect } from "vitest";
import { ConfiguredToolkit } from "../../src/config/configured-toolkit.ts";
import { readConfig } from "../../src/config/read-config.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { verifies } from "../support/verifies.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolweave-config-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const ends = closedAfterEach();

async function configured(text: string): Promise<ConfiguredToolkit> {
  await writeFile(join(folder, "toolweave.yaml"), text);
  const made = await ConfiguredToolkit.of(await readConfig(join(folder, "toolweave.yaml")));
  ends.push(() => made.toolkit.close());
  return made;
}

const inline = `workflows:
  - flows
  - name: sizes
    description: The size of the file note.txt.
    steps:
      - { id: stat, tool: fs.stat, params: { path: note.txt } }
    output: { size: "\${steps.stat.bytes}" }
packs:
  fs: { root: . }
`;

verifies(["X1", "W3"], "a configuration has workflows, in it, in files and in folders beside it", async () => {
  await mkdir(join(folder, "flows"));
  await writeFile(join(folder, "note.txt"), "note");
  const flow =
    "name: read\ndescription: Reads.\nsteps: [{ id: read, tool: fs.read_file, params: { path: note.txt } }]\n";
  await writeFile(join(folder, "flows", "read.yaml"), flow.replaceAll("\\\n", "\n"));
  const { toolkit } = await configured(inline);
  expect(await (await toolkit.call("workflow.sizes", {})).json()).toEqual({ size: 4 });
  expect(await (await toolkit.call("workflow.read", {})).text()).toBe("note");
});

verifies(["X1", "W3"], "a workflow in a configuration that changes is made again, alone", async () => {
  await writeFile(join(folder, "note.txt"), "note");
  const made = await configured(inline.replace("  - flows\n", ""));
  await writeFile(join(folder, "toolweave.yaml"), inline.replace("  - flows\n", "").replace("size: ", "length: "));
  expect(await made.apply(await readConfig(join(folder, "toolweave.yaml")))).toMatchObject({
    changed: ["workflow"],
    removed: [],
  });
  expect(await (await made.toolkit.call("workflow.sizes", {})).json()).toEqual({ length: 4 });
});

verifies(["X1", "W3"], "a mistake in a workflow of a configuration is named with file, line and column", async () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    [
      "tool: fs.stat",
      "tol: fs.stat",
      /^toolweave\.yaml:6:21 There is no field "tol" in workflows\.1\.steps\.0\. Did you mean "tool"\?/,
    ],
    [
      "steps.stat.bytes",
      "steps.stats.bytes",
      /^toolweave\.yaml:7:15 There is no step "stats"\. Did you mean "stat"\?$/,
    ],
    [
      "id: stat",
      "id: stat, run: x",
      /^toolweave\.yaml:6:9 The step stat needs exactly one of .* and has tool and run\.$/,
    ],
    [
      "- flows",
      "- { name: sizes, description: x, steps: [{ id: a, tool: b }] }",
      /^toolweave\.yaml:3:5 There are two workflows of the name sizes/,
    ],
  ];
  for (const [from, to, message] of cases)
    await expect(configured(inline.replace(from, to))).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringMatching(message),
    });
});

verifies(["X1", "W3"], "the example of a configuration runs its workflows", async () => {
  const file = fileURLToPath(new URL("../../example/workflow/toolweave.yaml", import.meta.url));
  const made = await ConfiguredToolkit.of(await readConfig(file), { env: { TRACKER_URL: "http://127.0.0.1:9" } });
  ends.push(() => made.toolkit.close());
  const { toolkit } = made;
  expect((await toolkit.list()).failures).toEqual([]);
  expect(await (await toolkit.call("workflow.incident_triage", { service: "shop" })).json()).toMatchObject({
    severity: "high",
    begin: "Begin with database: 12:04 database: disk full",
  });
  expect(await (await toolkit.call("workflow.project_audit", { path: "src/workflow" })).json()).toMatchObject({
    report: expect.stringMatching(/^# Audit\n/),
    issues: { from: "TODO markers" },
  });
});

verifies(
  ["X1", "W3", "H2"],
  "the first workflows of a configuration that is followed have their runs kept too",
  async () => {
    const tools = "packs: { fs: { root: ., write: true } }\npolicy: { ask: [fs.write_file] }\nstore: ./store.sqlite\n";
    const made = await configured(tools);
    await made.toolkit.start();
    const steps = "[{ id: put, tool: fs.write_file, params: { path: new.txt, text: hi } }]";
    await writeFile(
      join(folder, "toolweave.yaml"),
      `${tools}workflows:\n  - { name: put, description: Writes., steps: ${steps} }\n`,
    );
    expect(await made.apply(await readConfig(join(folder, "toolweave.yaml")))).toEqual({
      ...{ added: ["workflow"], removed: [], changed: [], waiting: [] },
    });
    const pending: unknown = await made.toolkit.call("workflow.put", {}).catch((error: unknown) => error);
    expect(pending).toMatchObject({ code: "PENDING", details: { reason: "workflow" } });
    const [run] = (await made.workflows?.runs({ status: "waiting" })) ?? [];
    await made.toolkit.approvals.resolve(run?.waitsFor[0]?.id ?? "", { approved: true });
    expect(await made.workflows?.resume(run?.id ?? "")).toMatchObject({ status: "succeeded" });
    await expect
      .poll(
        async () => (await made.toolkit.list({ kind: "tool", namespace: "workflow" })).entries[0]?.item.annotations,
        {
          timeout: 10_000,
        },
      )
      .toMatchObject({ openWorldHint: false });
  },
);
