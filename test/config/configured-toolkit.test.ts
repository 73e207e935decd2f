import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { ConfiguredToolkit, followConfig } from "../../src/config/configured-toolkit.ts";
import { readConfig } from "../../src/config/read-config.ts";
import { startAgent } from "../a2a/fixture/agent.ts";
import { begin, ending, said } from "../agent/model/messages-support.ts";
import { wireServer } from "../agent/model/support.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { child, server } from "../support/hand-server.ts";
import { verifies } from "../support/verifies.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolweave-follow-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));
const ends = closedAfterEach();

const hand = JSON.stringify(child(server('if (m.method === "tools/list") send({ id: m.id, result: { tools: [] } });')));

verifies(
  "X1",
  "a configuration is followed: only what changed is made again, and a mistake changes nothing",
  async () => {
    const file = join(folder, "toolweave.yaml");
    // As editors do it: a new file takes the place of the old one.
    const write = async (text: string) => {
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    };
    await write(`connectors:\n  one: ${hand}\n  two: ${hand}\n`);
    const config = await readConfig(file);
    const configured = await ConfiguredToolkit.of(config);
    const { toolkit } = configured;
    ends.push(() => toolkit.close());
    await toolkit.start();
    const heard: unknown[] = [];
    const follower = followConfig(configured, config, {
      onApplied: (changes) => heard.push(changes),
      onProblem: (error) => heard.push(String(error)),
    });
    ends.push(() => follower.close());
    const next = async () => {
      await expect.poll(() => heard.length, { timeout: 15_000 }).toBeGreaterThan(0);
      return heard.shift();
    };
    const none = { added: [], removed: [], changed: [], waiting: [] };
    const processOf = (namespace: string) =>
      toolkit.connections.find((each) => each.namespace === namespace)?.processId;
    const one = processOf("one");
    expect(one).toBeGreaterThan(0);
    await writeFile(join(folder, "note.txt"), "note");
    await write(`connectors:\n  one: ${hand}\n  three: ${hand}\npolicy: { block: [x] }\nresources: [note.txt]\n`);
    const uri = expect.stringMatching(/note\.txt$/);
    expect(await next()).toEqual({ ...none, added: [uri, "three"], removed: ["two"], waiting: ["policy"] });
    expect(processOf("one")).toBe(one);
    await write("connectors: [\n");
    expect(await next()).toContain("toolweave.yaml:2:1 cannot be parsed");
    expect(toolkit.connections.map(({ namespace }) => namespace)).toEqual(["one", "three"]);
    await write(`connectors:\n  one: { ...\n`.replace("{ ...", hand.replace(/\}$/, ',"timeoutMs":5}')));
    expect(await next()).toEqual({ ...none, removed: [uri, "three"], changed: ["one"], waiting: ["policy"] });
    await expect.poll(() => processOf("one"), { timeout: 15_000 }).not.toBe(one);
  },
  60_000,
);

verifies(["X1", "W2"], "a configuration has packs of tools, in folders beside it", async () => {
  const file = join(folder, "toolweave.yaml");
  await writeFile(file, "packs:\n  fs: { root: ., write: true }\n  code: { root: . }\n  http: { deny: ['*'] }\n");
  const configured = await ConfiguredToolkit.of(await readConfig(file));
  const { toolkit } = configured;
  ends.push(() => toolkit.close());
  await toolkit.call("fs.write_file", { path: "a.ts", text: "export const a = 1;\n" });
  expect(await (await toolkit.call("code.outline", { path: "a.ts" })).json()).toMatchObject({
    symbols: [{ name: "a", line: 1 }],
  });
  await expect(toolkit.call("http.fetch", { url: "https://example.com/" })).rejects.toMatchObject({ code: "DENIED" });
  await writeFile(file, "packs:\n  fs: { root: . }\n");
  expect(await configured.apply(await readConfig(file))).toMatchObject({ changed: ["fs"], removed: ["http", "code"] });
  await expect(toolkit.call("fs.write_file", { path: "b", text: "" })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

verifies(["X1", "W4"], "a configuration has agents, by the URL of their card", async () => {
  const agent = await startAgent({ token: "token-of-the-file" });
  ends.push(() => agent.close());
  const file = join(folder, "toolweave.yaml");
  const written = (more: string) =>
    `connectors:\n  travel: { type: a2a, url: "${agent.card}", headers: { Authorization: Bearer token-of-the-file }, ${more} }\n`;
  await writeFile(file, written("trust: untrusted, allow: [plan], maxMessageBytes: 100000"));
  const configured = await ConfiguredToolkit.of(await readConfig(file));
  const { toolkit } = configured;
  ends.push(() => toolkit.close());
  await toolkit.start();
  const result = await toolkit.call("travel.plan", { message: "echo Bern" });
  expect(await result.text()).toContain("Bern");
  expect(result.meta?.untrusted).toBe("travel");

  await writeFile(file, written("signature: { keys: [{ kty: EC }] }"));
  await expect(readConfig(file).then((config) => configured.apply(config))).rejects.toThrow(/signature\.keys\[0\]/);
  await writeFile(file, "connectors:\n  travel: { type: a2a, command: node }\n");
  await expect(readConfig(file).then((config) => ConfiguredToolkit.of(config))).rejects.toThrow(
    /write that of its card/,
  );
});

verifies("X1", "two parts of a configuration that want one namespace are a mistake, with its place", async () => {
  const file = join(folder, "toolweave.yaml");
  await writeFile(file, `connectors:\n  fs: ${hand}\npacks:\n  fs: { root: . }\n`);
  await expect(readConfig(file).then((config) => ConfiguredToolkit.of(config))).rejects.toThrow(
    /toolweave\.yaml:4:\d+ .*There are two of the name fs/s,
  );
});

verifies(["X1", "A11"], "a configuration names the API of a server of models", async () => {
  await using asked = await wireServer({ pieces: [begin, said(0, "Hello."), ending("end_turn")] });
  const file = join(folder, "toolweave.yaml");
  const proxy = `{ url: "${asked.url}", api: anthropic, apiKey: "\${MODEL_KEY}" }`;
  await writeFile(file, `models: { default: proxy/claude-sonnet-4-5, providers: { proxy: ${proxy} } }\nprompts: [.]\n`);
  await writeFile(join(folder, "greet.md"), "---\ndescription: Greets.\n---\nSay hello.\n");
  const configured = await ConfiguredToolkit.of(await readConfig(file), { env: { MODEL_KEY: "k" } });
  ends.push(() => configured.toolkit.close());
  expect(await (await configured.toolkit.call("greet", {})).text()).toBe("Hello.");
  expect(asked.asked).toMatchObject([{ path: "/v1/messages", headers: { "x-api-key": "k" } }]);
});

verifies(["X1", "W1"], "a configuration has manifests, in folders and files beside it", async () => {
  const file = join(folder, "toolweave.yaml");
  const manifest = (name: string) =>
    `kind: Tool\nmetadata: { name: ${name} }\nspec: { description: d, mock_result: 1, labels: { team: shop } }\n`;
  await mkdir(join(folder, "tools"));
  await writeFile(join(folder, "tools", "one.yaml"), manifest("one"));
  await writeFile(join(folder, "two.yaml"), manifest("two"));
  await writeFile(file, "manifests: [tools, two.yaml, { path: two.yaml, namespace: more }]\n");
  const configured = await ConfiguredToolkit.of(await readConfig(file));
  const { toolkit } = configured;
  ends.push(() => toolkit.close());
  await toolkit.start();
  const started: unknown[] = [];
  toolkit.on("callStarted", ({ ref, labels }) => started.push([ref, labels]));
  for (const ref of ["manifest.one", "manifest.two", "more.two"])
    expect(await (await toolkit.call(ref, {})).json()).toBe(1);
  expect(started).toEqual(["manifest.one", "manifest.two", "more.two"].map((ref) => [ref, { team: "shop" }]));
  await writeFile(file, "manifests: [two.yaml]\n");
  expect(await configured.apply(await readConfig(file))).toMatchObject({ changed: ["manifest"], removed: ["more"] });
  await toolkit.start();
  await expect(toolkit.call("manifest.one", {})).rejects.toMatchObject({ code: "NOT_FOUND" });
});
