import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const secret = "postgres://admin:Tr0ub4dor@db";

/** Everything that a reader of a value could find in it. */
const allOf = (value: unknown) => `${inspect(value, { depth: 20, showHidden: true })}${JSON.stringify(value)}`;

/** A server by hand, in a child process. */
const child = (script: string) => ({ command: process.execPath, args: ["-e", script] });
const server = (onMessage: string) => `
const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const m = JSON.parse(line);
  if (m.method === "initialize") send({ id: m.id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "hand", version: "1" } } });
  ${onMessage}
});`;
const die = `process.stderr.write(${JSON.stringify(`${secret}\n`)}, () => process.exit(1));`;

describe("what a server prints", () => {
  let toolkit: Toolkit;
  let logged: string;
  let errors: unknown[];

  beforeEach(() => {
    logged = "";
    errors = [];
    const log = (message: string) => {
      logged += message;
    };
    toolkit = new Toolkit({ logger: { debug: log, info: log, warn: log, error: log }, random: () => 1 });
    toolkit.on("connectorDisconnected", ({ error }) => void errors.push(error));
    toolkit.on("connectorRemoved", ({ error }) => void errors.push(error));
  });
  afterEach(async () => {
    await toolkit.close();
  });

  verifies(
    "H5",
    "before it has connected is in no error of a caller, and on the connection and in the log",
    async () => {
      const script = `console.log(${JSON.stringify(secret)}); ${die}`;
      const connection = toolkit.addConnector(child(script), { namespace: "far", retryMs: 600_000 });
      await toolkit.start();
      for (const name of ["mnie", "far.tool"]) errors.push(await failure(toolkit.call(name, {}, { timeoutMs: 200 })));
      const { failures } = await toolkit.list();
      expect(failures).toHaveLength(1);
      errors.push(failures);
      expect(errors.length).toBeGreaterThan(3);
      expect(allOf(errors)).toContain("exited with code 1");
      expect(allOf(errors)).not.toContain("Tr0ub4dor");
      expect(connection.stderr).toContain(secret);
      const { message = "" } = connection.lastError ?? {};
      expect(message).toContain(`stdout began with "${secret}"; stderr ended with "${secret}"`);
      expect([logged, JSON.stringify(connection)]).toEqual([
        expect.stringContaining("Tr0ub4dor"),
        expect.stringContaining("Tr0ub4dor"),
      ]);
    },
  );

  verifies(
    "H5",
    "as it dies in a call is not in the error of that call, of the next, nor of one that waited",
    async () => {
      const tools = `{ tools: [{ name: "work", inputSchema: { type: "object" } }] }`;
      const script = server(`
      if (m.method === "tools/list") send({ id: m.id, result: ${tools} });
      if (m.method === "tools/call") { ${die} }`);
      const connection = toolkit.addConnector(child(script), { namespace: "far", maxAttempts: 1, retryMs: 600_000 });
      await connection.ready();
      errors.push(await failure(toolkit.call("far.work", {})));
      expect((errors.at(-1) as { code: string }).code).toBe("OUTCOME_UNKNOWN");
      errors.push(await failure(toolkit.call("far.work", {}, { timeoutMs: 2_000 })));
      expect(allOf(errors)).toContain("exited with code 1");
      expect(allOf(errors)).not.toContain("Tr0ub4dor");
      expect(logged).toContain("Tr0ub4dor");
    },
  );

  verifies("H5", "as a list is asked for is in no failure of a list, nor after it was given up", async () => {
    const script = server(`if (m.method === "tools/list") { ${die} }`);
    const connection = toolkit.addConnector(child(script), { namespace: "far", maxAttempts: 2, retryMs: 1 });
    errors.push(await failure(connection.ready()));
    errors.push((await toolkit.list()).failures, await failure(toolkit.call("far.work", {})));
    expect(connection.state).toBe("stopped");
    expect(allOf(errors)).toContain("exited with code 1");
    expect(allOf(errors)).not.toContain("Tr0ub4dor");
    expect(connection.lastError?.message).toContain(secret);
  });
});
