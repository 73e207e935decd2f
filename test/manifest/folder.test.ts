import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { type ManifestOptions, registerWith } from "../../src/manifest/index.ts";
import { ManifestLoader } from "../../src/manifest/manifest-loader.ts";
import { ManifestSet } from "../../src/manifest/manifest-set.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { failure, rejection } from "../support/failure.ts";
import { serve } from "../support/serve.ts";
import { verifies } from "../support/verifies.ts";
import { folderWith } from "./manifest-fixture.ts";

const tool = (name: string, result: unknown, more = "") => `kind: Tool
metadata: { name: ${name}${more} }
spec: { description: A tool., mode: mock, mock_result: ${JSON.stringify(result)} }
`;

async function mounted(options: ManifestOptions) {
  const toolkit = new Toolkit();
  const manifests = registerWith(toolkit, options);
  onTestFinished(async () => {
    await manifests[Symbol.asyncDispose]();
    await toolkit.close();
  });
  await toolkit.start();
  return { toolkit, manifests };
}

const refs = async (toolkit: Toolkit) => (await toolkit.list({ kind: "tool" })).entries.map(({ ref }) => ref);
const problems = async (toolkit: Toolkit) => (await toolkit.list()).failures.map(({ error }) => error.message).sort();

describe("a folder of manifests", () => {
  verifies("W1", "is a source in each namespace that its manifests name", async () => {
    const folder = await folderWith({
      "a.yaml": tool("one", 1),
      "b.yml": tool("two", 2, ", namespace: shop"),
      "c.json": JSON.stringify({ name: "three", description: "d", mode: "mock", mock_result: 3, input_schema: {} }),
      "_draft.yaml": "nonsense: [",
      "inside/d.yaml": tool("four", 4),
    });
    const { toolkit } = await mounted({ paths: [folder] });
    expect(await refs(toolkit)).toEqual(["manifest.one", "manifest.three", "shop.two"]);
    expect(await (await toolkit.call("shop.two", {})).json()).toBe(2);
    const { toolkit: all } = await mounted({ paths: [folder], recursive: true, namespace: "mine" });
    expect(await refs(all)).toEqual(["mine.four", "mine.one", "mine.three", "shop.two"]);
  });

  verifies(
    ["W1", "N1"],
    "says of a name that is not there what its own file has, and of other files no word",
    async () => {
      const folder = await folderWith({ "a.yaml": "kind: [", "b.yaml": "kind: {", "two.yaml": "kind: 3" });
      const { toolkit } = await mounted({ paths: [folder] });
      const messageOf = async (name: string) => (await failure(toolkit.call(name, {}))).message;
      expect(await messageOf("two")).toMatch(/^There is no tool or prompt "two"\. \S+two\.yaml:1:/);
      expect(await messageOf("manifest.two")).toMatch(/^There is no tool or prompt "manifest\.two"\. \S+two\.yaml:1:/);
      expect(await messageOf("other")).toBe('There is no tool or prompt "other".');
      expect(await messageOf("manifest.other")).toMatch(/a\.yaml:1:.* 2 more files have mistakes\.$/s);
    },
  );

  verifies("W1", "names file, line and column of each mistake, and each stops no other manifest", async () => {
    const folder = await folderWith({
      "a.yaml": tool("one", 1),
      "b.yaml": tool("two", 2).replace("mock_result", "mock_resul"),
      "c.yaml": tool("three", 3)
        .replace("mode: mock", "mode: exec, exec: { command: x, env: [NO_SUCH] }")
        .replace(", mock_result: 3", ""),
      "d.yaml": tool("one", 1),
      "e.yaml": tool("five", 5, ", namespace: builtin"),
      "f.yaml": "kind: [",
      "g.json": '{ "data": 1 }',
    });
    const { toolkit } = await mounted({ paths: [folder], env: {} });
    expect(await refs(toolkit)).toEqual(["manifest.one"]);
    expect((await problems(toolkit)).map((message) => message.replace(`${folder}/`, ""))).toEqual([
      'b.yaml:3:55: There is no field "mock_resul" in spec. Did you mean "mock_result" or "mock_result_file"?',
      "c.yaml:3:69: The program needs the environment variable NO_SUCH, which is not set. Set it, or remove its name.",
      `d.yaml: The tool manifest.one is one of ${folder}/a.yaml too. Give one of them another name.`,
      expect.stringMatching(/^e\.yaml:2:\d+: The namespace "builtin" is reserved/),
      expect.stringMatching(/^f\.yaml:\d+:\d+: The manifest is no YAML/),
      expect.stringMatching(/^g\.json:1:1: kind must be a text, and is empty/),
    ]);
  });

  verifies("W1", "is followed: a broken file keeps its last good version until it is mended", async () => {
    const folder = await folderWith({ "a.yaml": tool("one", 1), "b.yaml": tool("two", 2, ", namespace: shop") });
    const { toolkit } = await mounted({ paths: [folder], watch: true, pollMs: 200 });
    const answer = async (ref: string) => (await toolkit.call(ref, {})).json();
    expect(await answer("manifest.one")).toBe(1);
    await writeFile(join(folder, "a.yaml"), tool("one", 10));
    await expect.poll(() => answer("manifest.one"), { timeout: 20_000 }).toBe(10);
    await writeFile(join(folder, "a.yaml"), `${tool("one", 11)}  broken`);
    await expect.poll(() => problems(toolkit), { timeout: 20_000 }).toEqual([expect.stringContaining("a.yaml:4:")]);
    expect(await answer("manifest.one")).toBe(10);
    await writeFile(join(folder, "a.yaml"), tool("one", 12));
    await expect.poll(() => answer("manifest.one"), { timeout: 20_000 }).toBe(12);
    expect(await problems(toolkit)).toEqual([]);
    await rm(join(folder, "b.yaml"));
    await writeFile(join(folder, "c.yaml"), tool("three", 3, ", namespace: other"));
    await expect.poll(() => refs(toolkit), { timeout: 20_000 }).toEqual(["manifest.one", "other.three"]);
  });

  verifies("W1", "is followed with the files that its manifests read", async () => {
    const reading = tool("one", 1).replace("mock_result: 1", "mock_result_file: data/one.json");
    const folder = await folderWith({ "a.yaml": reading, "data/one.json": "1" });
    for (const path of [folder, join(folder, "a.yaml")]) {
      const { toolkit } = await mounted({ paths: [path], watch: true, pollMs: 200 });
      await writeFile(join(folder, "data/one.json"), "2");
      const answer = async () => (await toolkit.call("manifest.one", {})).json();
      await expect.poll(answer, { timeout: 20_000 }).toBe(2);
      await writeFile(join(folder, "data/one.json"), "1");
      await expect.poll(answer, { timeout: 20_000 }).toBe(1);
    }
  });

  verifies("W1", "waits for a document no longer than the clock of the toolkit says", async () => {
    const asked = Promise.withResolvers<void>();
    const origin = await serve(() => asked.resolve());
    const folder = await folderWith({ "api.yaml": `kind: OpenAPI\nspec: { document: "${origin}/openapi.json" }\n` });
    const clock = virtualClock();
    const toolkit = new Toolkit({ clock });
    onTestFinished(() => toolkit.close());
    await using _ = registerWith(toolkit, { paths: [folder] });
    const starting = toolkit.start();
    await asked.promise;
    await clock.advance(30_000);
    await starting;
    await expect
      .poll(() => problems(toolkit), { timeout: 20_000 })
      .toEqual([expect.stringContaining("The document cannot be fetched")]);
  });

  test("may be missing, and its namespaces taken", async () => {
    const folder = await folderWith({ "a.yaml": tool("one", 1, ", namespace: shop") });
    const toolkit = new Toolkit();
    onTestFinished(() => toolkit.close());
    toolkit.addSource("shop", { tool: () => [] });
    registerWith(toolkit, { paths: [folder, join(folder, "none")] });
    await toolkit.start();
    expect(await problems(toolkit)).toEqual([
      expect.stringContaining("The tools of the namespace shop are left out"),
      expect.stringContaining(`There is no folder ${join(folder, "none")}`),
    ]);
  });
});

describe("manifests from elsewhere", () => {
  verifies("W1", "come from a function, as texts or values, and again when they are asked for", async () => {
    let result = 1;
    const { toolkit, manifests } = await mounted({
      load: async () => [
        tool("one", result),
        { kind: "Tool", metadata: { name: "two", namespace: "shop" }, spec: { description: "d", mock_result: result } },
        "kind: Nothing\nspec: {}",
      ],
    });
    expect(await refs(toolkit)).toEqual(["manifest.one", "shop.two"]);
    expect(await problems(toolkit)).toEqual([
      'manifest-3:1:7: The kind "Nothing" is not known. There are Tool and OpenAPI.',
    ]);
    result = 2;
    manifests.reload();
    await expect.poll(async () => (await toolkit.call("shop.two", {})).json(), { timeout: 20_000 }).toBe(2);
  });

  verifies("W1", "stay as they were where a reading is aborted, and nothing that it made is left", async () => {
    const ending = new AbortController();
    const closed: string[] = [];
    let reading = 0;
    const loader = new ManifestLoader({
      env: {},
      sandboxes: {},
      clients: {},
      executors: {
        own: ({ name }, context) => {
          if (name === "two" && reading === 2) ending.abort(new Error("enough"));
          const made = `${name} of ${reading}`;
          context.onClose(() => void closed.push(made));
          return { run: () => made };
        },
      },
    });
    const load = async () => {
      reading += 1;
      return ["one", "two"].map((name) => ({ kind: "Tool", spec: { name, description: "d", mode: "own" } }));
    };
    const origins = { paths: [], load, recursive: false, pollMs: 5_000, namespace: "manifest" };
    const set = new ManifestSet(origins, loader);
    onTestFinished(() => set.close());
    await set.read({});
    expect(await rejection(set.read({ signal: ending.signal }))).toMatchObject({ message: "enough" });
    expect(closed.sort()).toEqual(["one of 2", "two of 2"]);
    expect(set.toolsOf("manifest").map(({ name }) => name)).toEqual(["one", "two"]);
    expect(set.problems).toEqual([]);
  });

  test("options are checked", () => {
    const toolkit = new Toolkit();
    onTestFinished(() => toolkit.close());
    for (const options of [{}, { paths: [1] }, { path: "x" }, { paths: ["x"], pollMs: 1 }, { paths: ["x"], watch: 1 }])
      expect(() => registerWith(toolkit, options as never)).toThrow(
        expect.objectContaining({ code: "INVALID_CONFIG" }),
      );
  });

  test("a load that fails is a problem", async () => {
    const { toolkit } = await mounted({ load: () => Promise.reject(new Error("no database")) });
    expect(await problems(toolkit)).toEqual(["The manifests cannot be loaded: no database"]);
    expect(await failure(toolkit.call("manifest.one", {}))).toMatchObject({ code: "NOT_FOUND" });
  });
});
