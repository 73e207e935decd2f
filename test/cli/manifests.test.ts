import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { commandFolder, handConfig } from "./support.ts";

const folder = commandFolder();
const tool = (name: string, spec: string) =>
  `kind: Tool\nmetadata: { name: ${name} }\nspec: { description: d, ${spec} }\n`;
const explained = async (key: string) => (await folder.run(["explain", key])).stdout;

verifies(["X1", "W1", "W3"], "explain says where a manifest or a workflow is written, and the mode", async () => {
  const at = (name: string) => join(folder.path, name);
  const steps = "steps: [{ id: a, tool: manifest.page }]";
  await mkdir(at("flows"));
  await folder.write("flows/audit.yaml", `description: Audits.\nname: audit\n${steps}\n`);
  await folder.write("page.yaml", tool("page", 'mode: live, http: { url: "http://127.0.0.1:1/", method: GET }'));
  await folder.write("bare.json", '{ "description": "d",\n  "name": "bare" }');
  const document = "{ openapi: 3.1.0, paths: { /a: { get: { operationId: getA, responses: {} } } } }";
  await folder.write(
    "api.yaml",
    `kind: OpenAPI\nmetadata: { namespace: api }\nspec: { server: "http://127.0.0.1:1", document: ${document} }\n`,
  );
  await folder.write(
    "toolweave.yaml",
    `manifests: [page.yaml, bare.json, api.yaml]
workflows:
  - flows
  - { name: inner, expose: prompt, description: Inner., ${steps} }
`,
  );
  expect(await explained("page")).toContain(`written in   ${at("page.yaml")}:2:19 (manifest: live)\n`);
  expect(await explained("bare")).toContain(`written in   ${at("bare.json")}:2:11 (manifest: mock)\n`);
  expect(await explained("getA")).toContain(`written in   ${at("api.yaml")}:2:1 (manifest: OpenAPI)\n`);
  expect(await explained("audit")).toContain(`written in   ${at("flows/audit.yaml")}:2:7 (workflow)\n`);
  expect(await explained("workflow.inner")).toContain(`written in   ${at("toolweave.yaml")}:4:7 (workflow)\n`);
  const { stdout } = await folder.run(["explain", "page", "--json"]);
  expect(JSON.parse(stdout).origin).toEqual({ what: "manifest", place: `${at("page.yaml")}:2:19`, mode: "live" });
});

verifies(["X1", "W1"], "list and the log show several mistakes of one manifest on a line each", async () => {
  await folder.write("two.yaml", tool("two", "timeout_ms: long, labels: 2"));
  await folder.write("toolweave.yaml", "manifests: [two.yaml]\n");
  const at = join(folder.path, "two.yaml");
  const { stderr } = await folder.run(["list"]);
  expect(stderr).toMatch(
    new RegExp(`^manifest: ${at}:3:\\d+: timeout_ms must be .*\nmanifest: ${at}:3:\\d+: labels must be .*\n$`, "m"),
  );
  expect(stderr).not.toContain("\\n");
  const served = (await folder.run(["serve"])).stderr;
  expect(served).toMatch(new RegExp(`${at}:3:\\d+: timeout_ms must be .*\n${at}:3:\\d+: labels must be [^{]*\n`));
  expect(served).not.toMatch(/\\n|ToolkitError/);
});

verifies(
  ["X1", "W1"],
  "a manifest that names a connector or a tool that is not there is named",
  async () => {
    const relay = (name: string, target: string) => tool(name, `mode: mcp, mcp: { tool: ${target} }`);
    await folder.write("good.yaml", relay("good", "hand.greet"));
    await folder.write("near.yaml", relay("near", "hand.greeet"));
    await folder.write("far.yaml", relay("far", "nowhere.read"));
    const written = (more: string) =>
      folder.write("toolweave.yaml", `${handConfig}${more}manifests: [good.yaml, near.yaml, far.yaml]\n`);
    await written("");
    const said = (name: string, target: string) =>
      `${join(folder.path, name)}:3:49: The tool that ${name.slice(0, -5)} calls is not there: There is no item "${target}".`;
    const list = await folder.run(["list"]);
    expect(list.code).toBe(0);
    const doctor = await folder.run(["doctor"]);
    for (const text of [list.stderr, doctor.stdout]) {
      expect(text).toContain(`${said("near.yaml", "hand.greeet")} Did you mean "hand.greet"?`);
      expect(text).toContain(said("far.yaml", "nowhere.read"));
      expect(text).not.toContain("good.yaml");
    }
    const lint = await folder.run(["lint"]);
    expect(lint.stdout).toContain(
      `${join(folder.path, "near.yaml")}:3:49: warning: The tool that near calls is not there`,
    );
    expect(lint.stdout).toMatch(/3 manifests: 2 warnings\.\n$/);
    // Of a server that is not connected nothing is known.
    await folder.write(
      "toolweave.yaml",
      "connectors: { hand: { command: node, args: [-e, 0] } }\nmanifests: [good.yaml, near.yaml]\n",
    );
    for (const command of ["list", "lint", "doctor"]) {
      const { stdout, stderr } = await folder.run([command]);
      expect(stdout + stderr, command).not.toContain("is not there");
    }
  },
  60_000,
);

verifies(["X1", "W1"], "a schema whose reference leads to itself is a mistake with its place", async () => {
  const schema = (name: string, field: string, value: string) =>
    folder.write(`tools/${name}.yaml`, tool(name, `mock_result: {},\n  ${field}: ${value}`));
  await mkdir(join(folder.path, "tools"));
  const circles = {
    self: "{ type: object, properties: { a: { $ref: '#/properties/a' } } }",
    two: "{ type: object, properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { $ref: '#/$defs/B' }, B: { $ref: '#/$defs/A' } } }",
    any: "{ type: object, properties: { a: { anyOf: [{ type: string }, { $ref: '#/properties/a' }] } } }",
    root: "{ type: object, $ref: '#' }",
    "not-a": "{ type: object, properties: { a: { type: array, items: { not: { $ref: '#/properties/a/items' } } } } }",
  };
  const ends = {
    tree: "{ type: object, properties: { a: { $ref: '#' }, b: { type: array, items: { $ref: '#' } } } }",
    twice: "{ type: object, allOf: [{ $ref: '#/$defs/A' }, { $ref: '#/$defs/A' }], $defs: { A: { type: object } } }",
    unused: "{ type: object, $defs: { A: { $ref: '#/$defs/A' } } }",
  };
  for (const [name, value] of Object.entries({ ...circles, ...ends })) await schema(name, "input_schema", value);
  await schema("out", "output_schema", circles.self);
  await folder.write("toolweave.yaml", "manifests: [tools]\n");
  const { stdout, stderr } = await folder.run(["list"]);
  const names = [...stdout.matchAll(/manifest\.(\S+)/g)].map(([, name]) => name);
  expect(names).toEqual(Object.keys(ends).sort((a, b) => (a < b ? -1 : 1)));
  const at = (name: string, line: string) => `${join(folder.path, "tools", `${name}.yaml`)}:${line}: The`;
  expect(stderr).toContain(
    `${at("self", "4:58")} input_schema refers to itself at /properties/a/$ref, for the same value: its check would never end.`,
  );
  expect(stderr).toContain(`${at("two", "4:121")} input_schema refers to itself at /$defs/B/$ref`);
  expect(stderr).toContain("any.yaml:4:86: The input_schema refers to itself at /properties/a/anyOf/1/$ref");
  expect(stderr).toContain("root.yaml:4:39: The input_schema refers to itself at /$ref");
  expect(stderr).toContain("not-a.yaml:4:");
  expect(stderr).toContain("out.yaml:4:");
});

verifies(
  ["X1", "W1"],
  "entries of one namespace that are read in different ways are a mistake of the configuration",
  async () => {
    await mkdir(join(folder.path, "more"));
    await folder.write("one.yaml", tool("one", "mock_result: 1"));
    await folder.write("more/two.yaml", tool("two", "mock_result: 2"));
    await folder.write("toolweave.yaml", "manifests:\n  - one.yaml\n  - { path: more, recursive: true }\n");
    for (const command of ["list", "doctor", "lint"]) {
      const { stdout, stderr, code } = await folder.run([command]);
      expect(stdout + stderr, command).toContain(
        "toolweave.yaml:3:5 manifests.1 is of the namespace manifest, as manifests.0 is, and has recursive: true where that has false",
      );
      expect(code).not.toBe(0);
    }
    await folder.write(
      "toolweave.yaml",
      "manifests:\n  - { path: one.yaml, recursive: true }\n  - { path: more, recursive: true }\n",
    );
    expect((await folder.run(["list"])).stdout).toMatch(/manifest\.one.*manifest\.two/s);
  },
);
