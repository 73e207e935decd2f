import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, vi } from "vitest";
import type { Connection } from "../../src/core/connection.ts";
import { SchemaDocument } from "../../src/core/schema/interpreter/schema-document.ts";
import { type FaultyServer, faultyServer } from "../../src/testing/faulty/server.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

describe.each(["in-memory", "http"] as const)("a toolkit with a server over %s", (way) => {
  let server: FaultyServer;
  let toolkit: Toolkit;
  let connection: Connection;

  beforeEach(async () => {
    server = faultyServer();
    toolkit = new Toolkit();
    const target = way === "http" ? (await server.listen()).url : server.connector();
    connection = toolkit.addConnector(target, { namespace: "far" });
    await toolkit.start();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await toolkit.close();
    await server[Symbol.asyncDispose]();
  });

  /** Changes what the server offers, and waits until that is known here: then its lists have been read again. */
  const listed = async (resource: string) => {
    const known = new Promise((resolve) => toolkit.on("resourceListChanged", resolve));
    server.change({ resources: { [resource]: { text: "new" } } });
    server.notify("notifications/tools/list_changed");
    await known;
  };

  verifies(["I2", "M6"], "compiles a schema once, however often it is listed and whoever is connected", async () => {
    // The patterns of a schema are compiled with it.
    const compiled = vi.spyOn(SchemaDocument.prototype, "pattern");
    const offer = async (pattern: string) => {
      const note = { type: "string", pattern };
      server.change({
        tools: { add: { inputSchema: { type: "object", properties: { note } }, run: () => ({ sum: 3 }) } },
      });
      connection.reconnect();
      await connection.ready();
    };
    const use = () => toolkit.call("far.add", { note: "abc" });
    await offer(`^a|${crypto.randomUUID()}`);
    await use();
    expect(compiled).toHaveBeenCalledTimes(1);
    for (let again = 0; again < 3; again++) {
      await listed(`memo://${again}`);
      await use();
      connection.reconnect();
      await connection.ready();
      await use();
    }
    expect(compiled).toHaveBeenCalledTimes(1);
    // A new schema is compiled, or this would prove nothing.
    await offer(`^b|${crypto.randomUUID()}|c$`);
    await use();
    expect(compiled).toHaveBeenCalledTimes(2);
  });

  verifies(
    "C6",
    "hears a signal once, however many calls have it, and runs nothing for one that has aborted",
    async () => {
      const controller = new AbortController();
      const { signal } = controller;
      for (let call = 0; call < 100; call++) {
        await toolkit.call("far.record", { id: "before" }, { signal });
        if (call % 10 !== 0) continue;
        await toolkit.read("memo://one", { signal });
        await toolkit.render("far.greet", { name: "Ada" }, { signal });
        await (await toolkit.subscribe("memo://one", { signal }))();
      }
      expect(server.runs("before")).toBe(100);
      const record = await toolkit.lookup("far.record", { kind: "tool" });
      expect(getEventListeners(signal, "abort")).toHaveLength(1);
      const reason = { any: "value" };
      controller.abort(reason);
      for (const run of [
        () => toolkit.call("far.record", { id: "after" }, { signal }),
        () => toolkit.call(record, { id: "after" }, { signal }),
        () => toolkit.read("memo://one", { signal }),
        () => toolkit.render("far.greet", { name: "Ada" }, { signal }),
        () => toolkit.subscribe("memo://one", { signal }),
      ])
        expect(await rejection(run())).toBe(reason);
      // Whatever was sent before it has run when this is answered.
      await toolkit.call("far.record", { id: "last" });
      expect([server.runs("after"), connection.callsInFlight]).toEqual([0, 0]);
    },
  );
});
