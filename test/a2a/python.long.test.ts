import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { a2a, type CardKey } from "../../src/a2a/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { installPythonPeer } from "../bench/peer.ts";
import { rejection } from "../support/failure.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";

const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const key = { ...pair.publicKey.export({ format: "jwk" }), kid: "key-1" } as CardKey;
const lines: string[] = [];
let folder = "";
let child: ChildProcess | undefined;
let card = "";

// The environment is made once; the first time takes as long as the download.
const packages = ["a2a-sdk[http-server,signing]==1.3.0", "uvicorn==0.54.0"];
const commands = await installPythonPeer("python-a2a", ...packages).catch((error: unknown) => {
  console.warn(`The agent made with Python's SDK is left out: ${error}`);
  return undefined;
});

beforeAll(async () => {
  if (commands === undefined) return;
  folder = await mkdtemp(join(tmpdir(), "toolweave-a2a-"));
  const pem = join(folder, "key.pem");
  await writeFile(pem, pair.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  const file = fileURLToPath(new URL("fixture/agent.py", import.meta.url));
  child = spawn(join(commands, "python"), [file, "0", pem], { stdio: ["ignore", "pipe", "inherit"] });
  createInterface({ input: child.stdout ?? process.stdin }).on("line", (line) => void lines.push(line));
  await until(() => lines.length > 0 || child?.exitCode !== null, 60_000);
  card = `${lines[0]?.split(" ")[1]}/.well-known/agent-card.json`;
}, 90_000);

afterAll(async () => {
  if (child !== undefined && child.exitCode === null) {
    child.kill("SIGKILL");
    await once(child, "close");
  }
  if (folder !== "") await rm(folder, { recursive: true, force: true });
});

describe.skipIf(commands === undefined)("an agent made with Python's SDK (where pip can install it)", () => {
  verifies(
    "W4",
    "has a signature that is valid, echoes, asks and is canceled",
    async () => {
      const elicit = async () => ({ action: "accept", content: { answer: "Bern" } }) as const;
      await using toolkit = new Toolkit({ delegate: { elicit } });
      toolkit.addConnector(a2a(card, { signature: { keys: [key] } }), { namespace: "python" });
      await toolkit.start();
      expect(toolkit.connections[0]).toMatchObject({ state: "connected", server: { name: "Python agent" } });

      const echoed = await toolkit.call("python.echo", { message: "hello" });
      expect(await echoed.parts?.[0]?.text()).toBe("You said hello");
      const { artifacts } = (echoed.meta?.a2a ?? {}) as { artifacts: readonly string[] };
      expect(await (await toolkit.read(artifacts[0] ?? "")).text()).toBe("You said hello");
      expect(await (await toolkit.call("python.echo", { message: "ask" })).parts?.[0]?.text()).toBe("You said Bern");

      const caller = new AbortController();
      const onProgress = () => caller.abort();
      await rejection(toolkit.call("python.echo", { message: "wait" }, { signal: caller.signal, onProgress }));
      await until(() => lines.includes("canceled"));
    },
    60_000,
  );
});
