import { expect } from "vitest";
import type { MessageBus } from "../../../src/core/message-bus.ts";
import type { Store } from "../../../src/core/store.ts";
import { quoted } from "../../../src/store/postgres/statements.ts";
import { inbox } from "../../contract/store-bus.ts";
import { Child } from "../../support/child.ts";
import { verifies } from "../../support/verifies.ts";
import { toldBy, usePostgres, withStores } from "./support.ts";

const postgres = usePostgres();

function busOf({ bus }: Store): MessageBus {
  if (bus === undefined) throw new Error("It has no bus.");
  return bus;
}

/** The channel of PostgreSQL on which a schema's messages are announced. */
async function notificationsOf(schema: string): Promise<string> {
  const { PostgresBus } = await import("../../../src/store/postgres/postgres-bus.ts");
  const parts = { connections: undefined, statements: undefined, schema } as never;
  return new PostgresBus(parts).notifications;
}

verifies("V6", "what a stranger announces is nothing, and a message that is announced again comes once", async () => {
  await withStores(async (open) => {
    const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
    const [one, other] = [open(options), open(options)];
    const received = inbox();
    const told = toldBy(one);
    await busOf(one).subscribe("a", received.listener).ready;
    expect(await busOf(other).publish("a", { number: 1 })).toBe(true);
    await received.saidSo(1);
    const channel = await notificationsOf(options.schema);
    const { rows } = await postgres.admin.query(`SELECT id FROM ${quoted(options.schema)}.message`);
    const forged = [`${rows[0]?.id} a`, "999999 a", "1 b", "{}", "", "1", "x a", `${"9".repeat(7_000)} a`, "1 a; DROP"];
    for (const text of forged) await postgres.admin.query("SELECT pg_notify($1, $2)", [channel, text]);
    // Those who may write to the table are trusted to write JSON; a hand that does not harms nothing else.
    const spoilt = `INSERT INTO ${quoted(options.schema)}.message (channel, body) VALUES ('a', 'no JSON') RETURNING id`;
    const [row] = (await postgres.admin.query(spoilt)).rows;
    await postgres.admin.query("SELECT pg_notify($1, $2)", [channel, `${row?.id} a`]);
    expect(await busOf(other).publish("a", { number: 2 })).toBe(true);
    await received.saidSo(2);
    expect(received.messages).toEqual([{ number: 1 }, { number: 2 }]);
    await postgres.drop(options.schema);
    expect(told.texts).toEqual([]);
  });
});

verifies("V6", "a subscriber that is killed is no subscriber any more", async () => {
  await withStores(async (open) => {
    const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
    const store = open(options);
    const child = new Child(new URL("fixture/bus-subscriber.ts", import.meta.url), JSON.stringify(options));
    try {
      await child.said("ready");
      expect(await busOf(store).publish("a", "hello")).toBe(true);
      await child.said('"hello"');
    } finally {
      await child.kill();
    }
    // PostgreSQL ends the connections of a process that is gone as soon as it sees that.
    while (await busOf(store).publish("a", "again"));
    await postgres.drop(options.schema);
  });
});

verifies("V6", "where the connection breaks, a gap is reported and messages come again", async () => {
  await withStores(async (open) => {
    const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
    const [one, other] = [open(options), open(options)];
    const received = inbox();
    await busOf(one).subscribe("a", received.listener).ready;
    await busOf(one).subscribe("b", received.listener).ready;
    const listens = "query LIKE '%pg_advisory_lock_shared%' AND position($1 in query) > 0";
    const text = `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${listens}`;
    expect((await postgres.admin.query(text, [quoted(options.schema)])).rowCount).toBe(1);
    await received.saidSo(2);
    expect(received.messages).toEqual(["gap", "gap"]);
    expect(await busOf(other).publish("b", 1)).toBe(true);
    await received.saidSo(3);
    expect(received.messages).toEqual(["gap", "gap", 1]);
    await postgres.drop(options.schema);
  });
});

verifies(["S1", "V6"], "a change of any collection is reported by its name, not as a gap", async () => {
  await withStores(async (open) => {
    const options = { connectionString: postgres.connectionString, schema: postgres.newSchema() };
    const [one, other] = [open(options), open(options)];
    const told = toldBy(one);
    await one.open();
    const collections = ["prompt", "resource", "approval", "run", "result", "pin", "conversation", "target"] as const;
    for (const collection of collections) await other.put({ collection, owner: "", key: collection, value: 1 });
    await told.until("changed target 1 elsewhere");
    expect(told.texts).toEqual(collections.map((collection) => `changed ${collection} 1 elsewhere`));
    await postgres.drop(options.schema);
  });
});
