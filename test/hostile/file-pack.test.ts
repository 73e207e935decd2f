import { execFileSync } from "node:child_process";
import { constants } from "node:fs";
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { Toolkit } from "../../src/index.ts";
import { IgnoreRules } from "../../src/tool-packs/folder/ignore-rules.ts";
import { registerWith } from "../../src/tool-packs/fs/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

let base: string;
let root: string;
let toolkit: Toolkit;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "fs-attack-"));
  root = join(base, "work");
  await mkdir(join(root, "in"), { recursive: true });
  await writeFile(join(base, "secret"), "the secret");
  // A neighbour whose name begins as the root's does.
  await mkdir(join(base, "work-2"));
  await writeFile(join(base, "work-2", "secret"), "the secret");
  await writeFile(join(root, "in", "file"), "mine");
  toolkit = new Toolkit();
  registerWith(toolkit, { root, write: true });
});

afterEach(async () => {
  await toolkit.close();
  await rm(base, { recursive: true, force: true });
});

const verbs: readonly (readonly [string, object])[] = [
  ["read_file", {}],
  ["stat", {}],
  ["read_tree", {}],
  ["search", { pattern: "secret" }],
  ["write_file", { text: "taken", replace: true }],
  ["edit_file", { edits: [{ old: "secret", new: "taken" }] }],
];

async function expectNothing(path: string): Promise<void> {
  for (const [verb, more] of verbs) {
    const error = await failure(toolkit.call(`fs.${verb}`, { path, ...more }));
    expect(error, `${verb} ${path}`).toMatchObject({
      code: expect.stringMatching(/^(DENIED|NOT_FOUND|INVALID_INPUT)$/),
    });
    expect(error.message).not.toContain("the secret");
    expect(error.message).not.toContain(base);
  }
}

async function expectUntouched(): Promise<void> {
  expect(await readFile(join(base, "secret"), "utf8")).toBe("the secret");
  expect(await readFile(join(base, "work-2", "secret"), "utf8")).toBe("the secret");
  expect((await readdir(base)).toSorted()).toEqual(["secret", "work", "work-2"]);
}

describe("a caller of the file pack", () => {
  const outward = [
    "../secret",
    "in/../../secret",
    "./in/.././../secret",
    "..",
    "../work-2/secret",
    "in/../../work-2/secret",
    "//../secret",
    "..//secret",
    "../secret\0.txt",
    `${"../".repeat(30)}etc/passwd`,
    "/etc/passwd",
    "/proc/self/environ",
    "/dev/zero",
    "/proc/self/fd/0",
  ];
  for (const path of outward)
    verifies("W2", `gets nothing of what is outside by ${JSON.stringify(path.slice(0, 40))}`, async () => {
      await expectNothing(path);
      await expectUntouched();
    });

  verifies("W2", "does not decode a path: an encoded one is a name like any other", async () => {
    const encoded = [
      "%2e%2e/secret",
      "..%2fsecret",
      "%252e%252e%252fsecret",
      "..%c0%afsecret",
      "．．/secret",
      "..\u2215secret",
      "file:///etc/passwd",
    ];
    for (const path of encoded) {
      for (const [verb, more] of verbs.slice(0, 4))
        expect(await failure(toolkit.call(`fs.${verb}`, { path, ...more }))).toMatchObject({ code: "NOT_FOUND" });
      await toolkit.call("fs.write_file", { path, text: "inside" });
    }
    await expectUntouched();
  });

  verifies("W2", "gets nothing through a link that leads out", async () => {
    await symlink(join(base, "secret"), join(root, "link"));
    await symlink(base, join(root, "folder"));
    await symlink("/dev/zero", join(root, "zero"));
    await symlink("link", join(root, "second"));
    await symlink(join(base, "not-there"), join(root, "dangling"));
    await symlink("loop", join(root, "loop"));
    for (const path of [
      "link",
      "folder/secret",
      "folder",
      "folder/work-2/secret",
      "zero",
      "second",
      "dangling",
      "loop",
    ])
      await expectNothing(path);
    await expectNothing("folder/new/file");
    await expectUntouched();
    const { tree } = (await (await toolkit.call("fs.read_tree", {})).json()) as { readonly tree: string };
    expect(tree).toBe(
      "dangling (link)\nfolder (link)\nin/\n  file 4\nlink (link)\nloop (link)\nsecond (link)\nzero (link)",
    );
    expect(await (await toolkit.call("fs.search", { pattern: "secret" })).json()).toMatchObject({ matches: [] });
  });

  // Windows has none of these in folders.
  const onPosix: typeof verifies = process.platform === "win32" ? () => undefined : verifies;
  onPosix("W2", "waits for no pipe, socket or device", async () => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    const listening = createServer();
    await new Promise<void>((resolve) => listening.listen(join(root, "socket"), resolve));
    try {
      for (const path of ["pipe", "socket"])
        for (const [verb, more] of verbs.filter(([name]) => name !== "stat"))
          expect(await failure(toolkit.call(`fs.${verb}`, { path, ...more }))).toMatchObject({ code: "INVALID_INPUT" });
      expect(await (await toolkit.call("fs.search", { pattern: "mine" })).json()).toMatchObject({
        matches: [{ path: "in/file" }],
      });
    } finally {
      await new Promise((resolve) => listening.close(resolve));
    }
  });
});

describe("somebody who changes the folder meanwhile", () => {
  verifies(
    "W2",
    "reads and writes nothing outside by links that come and go",
    async () => {
      await mkdir(join(base, "out"));
      await writeFile(join(base, "out", "file"), "the secret");
      await rm(join(base, "secret"));
      await rm(join(base, "work-2"), { recursive: true });
      await symlink("in", join(root, "way"));
      let going = true;
      const swapping = (async () => {
        // Renaming puts one link in the place of the other in one step.
        for (let outwards = true; going; outwards = !outwards) {
          await symlink(outwards ? join(base, "out") : "in", join(root, "next"));
          await rename(join(root, "next"), join(root, "way"));
        }
      })();
      const outcomes = new Map<string, number>();
      try {
        for (let round = 0; round < 400; round += 1) {
          const calls = [
            toolkit.call("fs.read_file", { path: "way/file" }).then((content) => content.text()),
            toolkit
              .call("fs.write_file", { path: "way/new", text: "x", replace: true })
              .then((content) => content.text()),
            toolkit.call("fs.search", { pattern: "secret", path: "way" }).then((content) => content.text()),
            toolkit.call("fs.read_tree", { path: "way" }).then((content) => content.text()),
          ];
          for (const outcome of await Promise.allSettled(calls)) {
            const text = outcome.status === "fulfilled" ? outcome.value : outcome.reason.code;
            expect(text).not.toContain("the secret");
            outcomes.set(outcome.status, (outcomes.get(outcome.status) ?? 0) + 1);
          }
        }
      } finally {
        going = false;
        await swapping;
      }
      expect(await readdir(join(base, "out"))).toEqual(["file"]);
      expect(await readFile(join(base, "out", "file"), "utf8")).toBe("the secret");
      // Otherwise nothing was raced.
      expect(outcomes.get("fulfilled")).toBeGreaterThan(0);
      expect(outcomes.get("rejected")).toBeGreaterThan(0);
    },
    60_000,
  );

  verifies("W2", "does not lose what another one wrote", async () => {
    const edits = Array.from({ length: 20 }, (_, index) => ({
      path: "in/file",
      edits: [{ old: "mine", new: `mine ${index}` }],
    }));
    const outcomes = await Promise.allSettled(edits.map((edit) => toolkit.call("fs.edit_file", edit)));
    const made = outcomes.filter(({ status }) => status === "fulfilled").length;
    const text = await readFile(join(root, "in", "file"), "utf8");
    expect(text.match(/ \d+/g)).toHaveLength(made);
    expect((await readdir(join(root, "in"))).toSorted()).toEqual(["file"]);
  });
});

describe("a folder that is made to take long", () => {
  verifies("W2", "is looked at no further than the limit", async () => {
    for (let folder = 0; folder < 20; folder += 1) {
      await mkdir(join(root, `many-${folder}`));
      for (let file = 0; file < 50; file += 1) await writeFile(join(root, `many-${folder}`, `${file}.txt`), "x");
    }
    await using small = new Toolkit();
    registerWith(small, { root, maxEntries: 100 });
    expect(await (await small.call("fs.read_tree", { depth: 40 })).json()).toMatchObject({ complete: false });
    expect(await (await small.call("fs.search", { pattern: "y" })).json()).toMatchObject({ complete: false });
  });

  verifies("W2", "is entered no deeper than the limit, and holds no folder open", async () => {
    const deep = Array.from({ length: 200 }, () => "d").join("/");
    await mkdir(join(root, deep), { recursive: true });
    await writeFile(join(root, deep, "file"), "needle");
    const { tree } = (await (await toolkit.call("fs.read_tree", { depth: 40 })).json()) as { readonly tree: string };
    expect(tree.split("\n").length).toBeLessThan(50);
    expect(await (await toolkit.call("fs.search", { pattern: "needle" })).json()).toMatchObject({ matches: [] });
    expect(await (await toolkit.call("fs.search", { pattern: "needle", path: deep })).json()).toMatchObject({
      matches: [{ line: 1 }],
    });
    if (
      await access("/proc/self/fd", constants.R_OK).then(
        () => true,
        () => false,
      )
    ) {
      const open = await Promise.all((await readdir("/proc/self/fd")).map((fd) => readlinkOf(fd)));
      expect(open.filter((target) => target.startsWith(base))).toEqual([]);
    }
  });

  verifies("W2", "costs no more for hostile ignore files and patterns", async () => {
    const stars = `${"*a".repeat(200)}b`;
    await writeFile(join(root, ".gitignore"), `${`${stars}\n`.repeat(1_000)}[\n[]\n[!]\n\\\n**/**/**/**/x\n!\n/\n`);
    await writeFile(join(root, "a".repeat(200)), "needle");
    await toolkit.call("fs.read_tree", {});
    expect(await (await toolkit.call("fs.search", { pattern: "(a+)+$", regex: true })).json()).toBeDefined();
    expect(new IgnoreRules(stars).fits(["a".repeat(255)])).toBe(false);
  });

  verifies("W2", "names that hold line breaks and controls make no line of their own", async () => {
    await writeFile(join(root, "a\nb\u2028c\u001b[31m"), "");
    const { tree } = (await (await toolkit.call("fs.read_tree", {})).json()) as { readonly tree: string };
    expect(tree).toBe("a\uFFFDb\uFFFDc\uFFFD[31m 0\nin/\n  file 4");
  });
});

async function readlinkOf(descriptor: string): Promise<string> {
  const { readlink } = await import("node:fs/promises");
  return await readlink(`/proc/self/fd/${descriptor}`).catch(() => "");
}
