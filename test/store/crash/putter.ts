/** Puts the same record whenever it is told to. Run with the file. */
import { createInterface } from "node:readline";
import { sqliteStore } from "../../../src/store/sqlite/index.ts";

const [file = ""] = process.argv.slice(2);
const store = sqliteStore({ file });
await store.open();
process.stdout.write("ready\n");
for await (const _line of createInterface(process.stdin)) {
  await store.put({ collection: "prompt", owner: "", key: "told", value: "told" });
}
await store.close();
