// Two replicas on one database behind a load balancer that knows nothing of MCP; one of them is killed, and the clients go on.
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Toolkit } from "toolweave";
import { startDatabase } from "../replicas/database.ts";

const env = { ADA_TOKEN: "ada-3f1c9a7d5e20", STATE_KEY: "all replicas have this one: 5b0c77d1" };

/** Runs the story. Where no PostgreSQL can be run, it says so. */
export async function withReplicas(): Promise<void> {
  const started = await startDatabase().catch((error: unknown) => String(error));
  if (typeof started === "string") {
    console.log(`One process served all: no PostgreSQL can be run here for replicas (${started.split("\n")[0]}).`);
    return;
  }
  await using database = started;
  const children = [0, 1].map(() =>
    fork(fileURLToPath(new URL("replica.ts", import.meta.url)), {
      env: { ...process.env, ...env, DATABASE_URL: database.connectionString },
    }),
  );
  try {
    const ports = await Promise.all(children.map(async (child) => Number((await once(child, "message"))[0])));
    await clientsGoOn(ports, children);
  } finally {
    await Promise.all(children.map((child) => ended(child)));
  }
}

async function clientsGoOn(ports: readonly number[], [first, second]: readonly ChildProcess[]): Promise<void> {
  const balancer = createServer(toEachInTurn(ports)).listen(0, "127.0.0.1");
  await once(balancer, "listening");
  const url = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}/mcp`;
  const clients = new Toolkit({ delegate: { elicit: async () => ({ action: "accept", content: { city: "Bern" } }) } });
  const eras = { earlier: "2025-11-25", later: "2026-07-28" } as const;
  const headers = { authorization: `Bearer ${env.ADA_TOKEN}` };
  for (const [namespace, protocol] of Object.entries(eras)) clients.addConnector(url, { namespace, protocol, headers });
  await clients.start();
  const book = async (namespace: string) => (await clients.call(`${namespace}.book`)).text();
  try {
    // Every other request of a session, and the answer to every question, reaches the replica that has not begun it.
    for (const namespace of Object.keys(eras))
      for (let count = 0; count < 3; count++) assert.equal(await book(namespace), "A table in Bern");
    const announced = appearance(clients, "earlier.user__lunch");
    await clients.call("later.note", { name: "lunch", text: "Plan a lunch." });
    await announced;
    console.log("A client of each era is served by two replicas, whichever of them its requests reach.");

    first?.kill("SIGKILL");
    if (first !== undefined) await once(first, "exit");
    for (const namespace of Object.keys(eras)) {
      // A call whose replica dies has an unknown outcome, and a session that died with it is begun anew.
      const answer = await book(namespace).catch(() => book(namespace));
      assert.equal(answer, "A table in Bern");
    }
    assert.equal(second?.exitCode, null);
    console.log("One replica was killed, and both clients went on with the other.");
  } finally {
    await clients.close();
    balancer.closeAllConnections();
    balancer.close();
  }
}

/** Resolves when a prompt appears. */
function appearance(toolkit: Toolkit, ref: string): Promise<void> {
  return new Promise((resolve) => toolkit.on("promptListChanged", ({ added }) => added.includes(ref) && resolve()));
}

/** Gives each request to the next replica, and to the other one where that is gone. */
function toEachInTurn(ports: readonly number[]) {
  let requests = 0;
  return (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests += 1;
      const pass = (left: number) => {
        const port = ports[(requests + left) % ports.length];
        const { method, url, headers } = request;
        const passed = httpRequest({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
          answer.on("error", () => response.destroy());
        });
        passed.on("error", ({ code }: NodeJS.ErrnoException) => {
          // What was refused did not run. What broke may have: it is not given to another.
          if (left > 1 && code === "ECONNREFUSED") pass(left - 1);
          else response.destroy();
        });
        response.on("close", () => passed.destroy());
        passed.end(Buffer.concat(chunks));
      };
      pass(ports.length);
    });
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.disconnect();
  await exit;
}
