import { expect } from "vitest";
import { ToolkitError } from "../../../src/core/error.ts";
import { Access } from "../../../src/store/sqlite/access.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { openSqlite } from "../../support/sqlite-file.ts";
import { verifies } from "../../support/verifies.ts";

verifies(
  "S1",
  "a write that comes while others are tried again alone is answered, and harms none of them",
  async () => {
    using inner = openSqlite(":memory:");
    // It is full soon, as a disk may be.
    inner.exec("CREATE TABLE text (value TEXT); PRAGMA max_page_count = 4");
    const database = new Database(inner, { file: ":memory:" });
    const outcomes: Promise<unknown>[] = [];
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
      const written = access.write("put", insert, { signal: undefined, done: () => undefined });
      const codeOf = (error: unknown) => (ToolkitError.is(error) ? error.code : error);
      outcomes.push(written.then(() => "written", codeOf));
    };

    for (const size of [10, 10, 100_000]) write(size);
    await access.idle();

    expect(await Promise.all(outcomes)).toEqual(["written", "written", "STORE_FAILED", "STORE_FAILED"]);
  },
);
