// Two services on one PostgreSQL: a prompt put in one is found in the other, and a call of one can be approved in the other.
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import { startDatabase } from "./database.ts";

await using database = await startDatabase();

class Service extends EventEmitter {
  readonly #process: ChildProcess;

  constructor() {
    super();
    const env = { ...process.env, DATABASE_URL: database.connectionString };
    this.#process = fork(fileURLToPath(new URL("service.ts", import.meta.url)), { env });
    this.#process.on("message", (message: { answer?: unknown; error?: string; changed?: string }) => {
      if (message.changed !== undefined) this.emit(message.changed);
      else this.emit("answer", message);
    });
    this.#process.on("exit", (code) => this.emit("answer", { error: `it ended with ${code}` }));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  async ready(): Promise<void> {
    await once(this, "answer");
  }

  async tell(order: string, text?: string): Promise<unknown> {
    const said = once(this, "answer");
    this.#process.send({ order, text });
    const [{ answer, error }] = await said;
    if (error !== undefined) throw new Error(`${order}: ${error}`);
    return answer;
  }

  async end(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.disconnect();
    assert.deepEqual(await ended, [0, null]);
  }
}

const one = new Service();
const other = new Service();
await Promise.all([one.ready(), other.ready()]);

const changed = once(other, "prompts");
await one.tell("put", "---\nname: greet\n---\nGreet {{name}} in one sentence.");
await changed;
assert.deepEqual(await other.tell("list"), ["user.greet"]);
console.log("A prompt that was put in one service is listed in the other.");

const id = String(await one.tell("ask"));
assert.equal(await other.tell("resolve", id), "succeeded");
assert.equal(await one.tell("wait", id), `sent by ${other.pid}`);
console.log("A call that one service was asked for was approved in the other, and ran there once.");

await Promise.all([one.end(), other.end()]);
