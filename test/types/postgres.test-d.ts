import { Pool } from "pg";
import { postgresStore } from "toolweave/stores/postgres";
import { expectTypeOf, test } from "vitest";
import type { PostgresPool } from "../../src/store/postgres/index.ts";

test("[S1] a pool of pg is a pool to us", () => {
  expectTypeOf<Pool>().toExtend<PostgresPool>();
  expectTypeOf(postgresStore).toBeCallableWith({ pool: new Pool() });
});
