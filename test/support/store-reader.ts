/**
 * A process that reads the prompts of a store through a toolkit, and tries to write one. Its output is one line of JSON: what it found,
 * what it was refused with, and the warnings.
 */
import { Toolkit } from "../../src/index.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { failure } from "./failure.ts";

const [file = ""] = process.argv.slice(2);
const warnings: string[] = [];
const warn = (message: string) => void warnings.push(message);
const logger = { debug: () => undefined, info: () => undefined, warn, error: warn };
const toolkit = new Toolkit({ store: sqliteStore({ file }), logger });
await toolkit.start();
const { entries } = await toolkit.list({ namespace: "user" });
const { code, message } = await failure(toolkit.user.putPrompt("---\nname: second\n---\nHi"));
await toolkit.close();
console.log(JSON.stringify({ found: entries.map(({ ref }) => ref), code, message, warnings }));
