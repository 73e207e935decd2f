import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { withFileLock } from "../../src/lib/file-lock.ts";
import { fileTokenStore, memoryTokenStore, type TokenStore } from "../../src/mcp/index.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "toolweave-store-"));
  folders.push(made);
  return made;
}

const stores: readonly (readonly [string, () => Promise<TokenStore>])[] = [
  ["in memory", async () => memoryTokenStore()],
  ["in a file", async () => fileTokenStore(join(await folder(), "tokens.json"))],
];

describe.each(stores)("a token store %s", (_name, make) => {
  test("keeps what is written for a key, and removes it", async () => {
    const store = await make();
    const full = {
      issuer: "https://as.example",
      client: {
        id: "c",
        secret: "s",
        authMethod: "none",
        redirectUri: "http://127.0.0.1:1/callback",
        secretExpiresAt: 5,
      },
      tokens: { accessToken: "a", refreshToken: "r", expiresAt: 7, scope: "x y" },
    };
    expect(await store.read("one")).toBeUndefined();
    await store.write("one", full);
    await store.write("__proto__", { issuer: "two" });
    expect(await store.read("one")).toEqual(full);
    expect(await store.read("__proto__")).toEqual({ issuer: "two" });
    await store.write("one", undefined);
    expect(await store.read("one")).toBeUndefined();
    expect(await store.read("__proto__")).toEqual({ issuer: "two" });
  });

  test("runs one after the other for a key, whatever becomes of each", async () => {
    const store = await make();
    let running = 0;
    const run = (key: string, fail: boolean) =>
      store.exclusively(key, async () => {
        running += 1;
        // By the end of a turn of another key the next of this one would run too, if it did not wait.
        await store.exclusively(`beside ${key}`, async () => undefined);
        const seen = running;
        running -= 1;
        if (fail) throw new Error("mine");
        return seen;
      });
    const results = await Promise.allSettled([run("a", false), run("a", true), run("a", false)]);
    expect(results.map((result) => (result.status === "fulfilled" ? result.value : String(result.reason)))).toEqual([
      1,
      "Error: mine",
      1,
    ]);
  });
});

verifies(
  "M11",
  "processes that share a token file lose nothing of each other",
  async () => {
    const place = await folder();
    const file = join(place, "tokens.json");
    const writer = fileURLToPath(new URL("fixture/token-writer.ts", import.meta.url));
    const run = promisify(execFile);
    await Promise.all(["a", "b", "c"].map((name) => run(process.execPath, [writer, file, name, "8"])));
    const { servers } = JSON.parse(await readFile(file, "utf8"));
    expect(Object.keys(servers)).toHaveLength(25);
    expect(servers.shared).toEqual({ issuer: "24" });
    expect(await readdir(place)).toEqual(["tokens.json"]);
  },
  60_000,
);

test("the lock of a process that has ended is broken, once", async () => {
  const lock = join(await folder(), "x.lock");
  await writeFile(lock, "4194304 gone");
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(lock, longAgo, longAgo);
  let running = 0;
  const seen = await Promise.all(
    Array.from({ length: 5 }, () =>
      withFileLock(lock, async () => {
        running += 1;
        // By the end of a turn of another lock the next would run too, if it did not wait.
        await withFileLock(`${lock}.beside`, async () => undefined);
        return running--;
      }),
    ),
  );
  expect(seen).toEqual([1, 1, 1, 1, 1]);
});

test("a folder that cannot be made is said", async () => {
  const place = await folder();
  await writeFile(join(place, "file"), "");
  const store = fileTokenStore(join(place, "file", "tokens.json"));
  const error = await failure(store.write("one", { issuer: "x" }));
  expect(error).toMatchObject({ code: "STORE_FAILED", details: { operation: "write" } });
});
