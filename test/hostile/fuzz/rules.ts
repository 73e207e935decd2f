import { ToolkitError } from "../../../src/core/error.ts";
import { type Delegate, memoryStore, resource, Toolkit } from "../../../src/index.ts";
import { faultyServer } from "../../../src/testing/index.ts";
import type { Random } from "../../support/random.ts";
import type { HostileArea } from "./area.ts";

const keys = ["b.*", "b.secret", "b.b.secret", "b.s*", "b.secret*", "b.*.secret"];
const names = [
  "secret",
  "b.secret",
  "b.b.secret",
  "b.",
  "b..secret",
  "b.SECRET",
  "user.diary",
  "builtin.x",
  "b.secret.b",
];
const session = { id: "s1", principal: "ada" };

/** Names by which a server tries to pass the rules of another one that was removed, directly and from a stored prompt. */
export const ruleFuzz: HostileArea = {
  name: "rules",
  *cases(random) {
    for (;;) {
      const key = pick(random, keys);
      const claimed = [...new Set([pick(random, names), pick(random, names), `${pick(random, names)}.x`])];
      yield { describe: `${key} against ${claimed.join(", ")}`, run: () => attack(key, claimed) };
    }
  },
};

async function attack(key: string, claimed: readonly string[]): Promise<void> {
  const refs = claimed.map((name) => `c.${name}`);
  const reached: string[] = [];
  const runPrompt: Delegate["runPrompt"] = async (_prompt, _input, { toolbox }) => {
    for (const ref of refs) if (await isReached(toolbox.call(ref))) reached.push(`${ref} of a stored prompt`);
    return resource.text("answer", "done");
  };
  const capped = new Toolkit({ delegate: { runPrompt }, store: memoryStore(), user: { tools: [key] } });
  const allowing = new Toolkit({ policy: { allow: [key] } });
  const lifting = new Toolkit({ settings: { "*": { needsApproval: true }, [key]: { needsApproval: false } } });
  const toolkits = [capped, allowing, lifting];
  for (const toolkit of toolkits) {
    await toolkit.addConnector(server(["secret"]), { namespace: "b" }).ready();
    await toolkit.addConnector(server(claimed), { namespace: "c" }).ready();
    await toolkit.removeConnector("b");
    if ((await toolkit.list({ kind: "tool" })).entries.length !== claimed.length)
      throw new Error("The server is not there.");
  }
  try {
    await capped.user.putPrompt("---\nname: diary\n---\nGo.", { session });
    await capped.call("user.diary", {}, { session });
    for (const toolkit of [allowing, lifting])
      for (const target of [...refs, ...claimed, "b.secret"])
        if (await isReached(toolkit.call(target))) reached.push(target);
  } finally {
    for (const toolkit of toolkits) await toolkit.close();
  }
  if (reached.length > 0) throw new Error(`The rule ${key} let through ${reached.join(", ")}.`);
}

function server(tools: readonly string[]) {
  return faultyServer({ tools: Object.fromEntries(tools.map((name) => [name, { run: () => "done" }])) }).connector();
}

async function isReached(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (ToolkitError.is(error)) return false;
    throw error;
  }
}

function pick<T>(random: Random, list: readonly [T, ...T[]] | readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}
