/**
 * A process that writes to a store until it is killed, as fast as it can. Each line of its output is a write that was acknowledged:
 * the key, the version and the sum of the bytes.
 */
import { createHash, randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { ToolkitError } from "../../src/core/error.ts";
import type { RecordKey } from "../../src/core/store.ts";
import { makeStore, type StoreMaker } from "./store-maker.ts";

/** The options of the process on its command line, as JSON. */
export interface WriterTask extends StoreMaker {
  /** The prefix of its own keys. */
  readonly writer: string;
}

/** The record that is written: its value says what the bytes must be, so that one without the other shows. */
export function sumOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function write({ writer, ...maker }: WriterTask): Promise<never> {
  const store = await makeStore(maker);
  let count = 0;
  const put = async (key: string, isExpecting: boolean): Promise<void> => {
    const named: RecordKey = { collection: "resource", owner: "", key };
    const bytes = randomBytes(500 + (count % 50) * 100);
    const sum = sumOf(bytes);
    try {
      const expectedVersion = isExpecting ? ((await store.get(named, { bytes: false }))?.version ?? 0) : undefined;
      const { version } = await store.put({ ...named, value: sum, bytes }, { expectedVersion });
      writeSync(1, `${key} ${version} ${sum}\n`);
    } catch (error) {
      // Of those who share a key, another was faster.
      if (!ToolkitError.is(error, "CONFLICT")) throw error;
    }
  };
  const lane = async (): Promise<never> => {
    for (;;) {
      count += 1;
      // Every fourth is a key that all writers share.
      const isShared = count % 4 === 0;
      await put(isShared ? `shared-${count % 3}` : `${writer}-${count}`, isShared && count % 8 === 0);
    }
  };
  return Promise.race([lane(), lane(), lane(), lane()]);
}

if (process.argv[1] === import.meta.filename) await write(JSON.parse(process.argv[2] ?? ""));
