import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { Access } from "../../../src/store/sqlite/access.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { verifies } from "../../support/verifies.ts";

verifies(
  "S1",
  "a write that comes while others are tried again alone is answered, and harms none of them",
  async () => {
    using inner = new DatabaseSync(":memory:");
    // It is full soon, as a disk may be.
    inner.exec("CREATE TABLE text (value TEXT); PRAGMA max_page_count = 4");
    const database = new Database(inner);
    const writes: Promise<unknown>[] = [];
    let opened = 0;
    const open = async () => {
      opened += 1;
      // The first is for all of them together, the second for the first alone, the third for the second.
      if (opened === 3) write(100_000);
      return database;
    };
    const access = new Access({ file: ":memory:", busyTimeoutMs: 1_000, open });
    const write = (size: number) => {
      const insert = (into: Database) => into.statement("INSERT INTO text VALUES (?)").run("x".repeat(size));
      writes.push(access.write("put", insert, { signal: undefined, done: () => undefined }));
    };

    for (const size of [10, 10, 100_000]) write(size);
    await access.idle();
    const settled = await Promise.allSettled(writes);

    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
    const reasons = settled.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(reasons).toMatchObject([{ code: "STORE_FAILED" }, { code: "STORE_FAILED" }]);
  },
);
