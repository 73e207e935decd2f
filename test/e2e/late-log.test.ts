import { expect } from "vitest";
import type { LogEntry } from "../../src/core/session.ts";
import { faultyServer } from "../../src/testing/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";

verifies(
  "M10",
  "a log message on the other stream of HTTP, just after the answer, reaches the session that called",
  async () => {
    await using server = faultyServer();
    await using toolkit = new Toolkit();
    const { url } = await server.listen({ answers: "json" });
    await toolkit.addConnector(url, { namespace: "web" }).ready();
    const heard: LogEntry[] = [];
    const session = { id: "one", log: (entry: LogEntry) => void heard.push(entry) };
    await toolkit.call("web.echo", { message: "x" }, { session });
    server.notify("notifications/message", { level: "warning", logger: "disk", data: "full" });
    await until(() => heard.length > 0);
    expect(heard).toEqual([{ level: "warning", logger: "web/disk", data: "full" }]);
  },
);
