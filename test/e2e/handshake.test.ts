import { expect } from "vitest";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";

verifies(
  ["M8", "M13"],
  "a child that hangs in its handshake shows its process and what it writes, and after its end the last of that",
  async () => {
    await using toolkit = new Toolkit({ random: () => 1 });
    const script = `process.stderr.write("no database at db:5432"); setInterval(() => {}, 1000);`;
    const connection = toolkit.addConnector(
      { command: process.execPath, args: ["-e", script] },
      // Told, it is started once: otherwise a process that ends at the question for its revision is started again.
      { namespace: "stuck", retryMs: 600_000, protocol: "2025-11-25" },
    );
    expect([connection.processId, connection.stderr]).toEqual([undefined, undefined]);
    const started = toolkit.start();
    await until(() => connection.stderr === "no database at db:5432");
    const { processId = 0 } = connection;
    expect([connection.state, processId > 0]).toEqual(["connecting", true]);
    process.kill(processId, "SIGKILL");
    await until(() => connection.state === "waiting");
    await started;
    expect([connection.processId, connection.stderr]).toEqual([undefined, "no database at db:5432"]);
    expect(connection.lastError?.message).toContain("no database at db:5432");
  },
);
