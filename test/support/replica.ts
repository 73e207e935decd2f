/**
 * A process with a toolkit on a store that others share. Each line of its input is an order as JSON, each line of its output the number
 * of the order and what became of it.
 */
import { createInterface } from "node:readline";
import { ToolkitError } from "../../src/core/error.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { Child } from "./child.ts";
import { makeStore, type StoreMaker } from "./store-maker.ts";

interface Order {
  readonly principal?: string | undefined;
  readonly putPrompt?: string;
  readonly putResource?: readonly [uri: string, text: string];
  readonly remove?: string;
}

interface Outcome {
  /** When it was done. */
  readonly at: number;
  /** The refs that are listed then. */
  readonly refs?: readonly string[];
  /** Why it was not. */
  readonly code?: string;
}

/** One, in the hands of a test. */
export class Replica implements AsyncDisposable {
  readonly #child: Child;
  #orders = 0;

  constructor(maker: StoreMaker) {
    this.#child = new Child(new URL("replica.ts", import.meta.url), JSON.stringify(maker));
  }

  /** Does something, or nothing, and says what is listed then. */
  async does(order: Order): Promise<Outcome> {
    this.#orders += 1;
    const prefix = `${this.#orders} `;
    this.#child.tell(JSON.stringify(order));
    return JSON.parse((await this.#child.said(prefix)).slice(prefix.length));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child.kill();
  }
}

async function done(toolkit: Toolkit, { principal, putPrompt, putResource, remove }: Order): Promise<Outcome> {
  const session = principal === undefined ? undefined : { id: "replica", principal };
  try {
    if (putPrompt !== undefined) await toolkit.user.putPrompt(putPrompt, { session });
    if (putResource !== undefined) await toolkit.user.putResource(resource.text(...putResource), { session });
    if (remove !== undefined) await toolkit.user.remove(remove, { session });
    const at = Date.now();
    return { at, refs: (await toolkit.list({ session })).entries.map(({ ref }) => ref) };
  } catch (error) {
    return { at: Date.now(), code: ToolkitError.is(error) ? error.code : String(error) };
  }
}

if (process.argv[1] === import.meta.filename) {
  await using toolkit = new Toolkit({ store: await makeStore(JSON.parse(process.argv[2] ?? "")) });
  let orders = 0;
  for await (const line of createInterface(process.stdin)) {
    orders += 1;
    process.stdout.write(`${orders} ${JSON.stringify(await done(toolkit, JSON.parse(line)))}\n`);
  }
}
