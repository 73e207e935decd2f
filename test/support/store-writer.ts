/**
 * A process that writes to a store until it is killed, as fast as it can. Each line of its output is a write that was acknowledged:
 * the key, a blank, the version.
 */
import { createHash, randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { makeStore, type StoreMaker } from "./store-maker.ts";

/** What the process is told on its command line, as JSON. */
export interface WriterTask extends StoreMaker {
  /** What its own keys begin with. */
  readonly writer: string;
}

/** What is written: the value says what the bytes must be, so that one without the other shows. */
export function sumOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function write({ writer, ...maker }: WriterTask): Promise<never> {
  const store = await makeStore(maker);
  let count = 0;
  const lane = async (): Promise<never> => {
    for (;;) {
      count += 1;
      // Every fourth is a key that all writers share.
      const key = count % 4 === 0 ? `shared-${count % 3}` : `${writer}-${count}`;
      const bytes = randomBytes(500 + (count % 50) * 100);
      const { version } = await store.put({ collection: "resource", owner: "", key, value: sumOf(bytes), bytes });
      writeSync(1, `${key} ${version}\n`);
    }
  };
  return Promise.race([lane(), lane(), lane(), lane()]);
}

if (process.argv[1] === import.meta.filename) await write(JSON.parse(process.argv[2] ?? ""));
