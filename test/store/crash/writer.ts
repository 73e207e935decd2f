/** Writes for ever, and says of each write that was acknowledged: `key version checksum`. Run with the file, a name and a seed. */
import { hash } from "node:crypto";
import { ToolkitError } from "../../../src/core/error.ts";
import { sqliteStore } from "../../../src/store/sqlite/index.ts";

const [file = "", name = "", seed = "1"] = process.argv.slice(2);
const store = sqliteStore({ file, keepVersions: 1_000_000 });

let state = Number(seed);
const chance = (below: number) => {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
  return state % below;
};

async function write(key: string, number: number): Promise<void> {
  const bytes = new Uint8Array(chance(5_000)).fill(number % 251);
  const checksum = hash("sha256", bytes);
  const draft = { collection: "resource", owner: "crash", key, value: { checksum, by: name, number }, bytes } as const;
  try {
    const expectedVersion = chance(2) === 0 ? undefined : ((await store.get(draft))?.version ?? 0);
    const { version } = await store.put(draft, { expectedVersion });
    process.stdout.write(`${key} ${version} ${checksum} ${name}-${number}\n`);
  } catch (error) {
    if (!ToolkitError.is(error, "CONFLICT")) throw error;
  }
}

for (let number = 0; ; number += 4) {
  const keys = ["shared-1", "shared-2", `${name}-own`, `${name}-${number}`];
  await Promise.all(keys.map((key, index) => write(key, number + index)));
}
