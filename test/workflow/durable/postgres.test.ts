import { describe } from "vitest";
import type { Services } from "../../agent/durable/support.ts";
import { usePostgres } from "../../store/postgres/support.ts";
import { verifies } from "../../support/verifies.ts";
import { manyElements, orderAcrossProcesses, safeStep, unsafeStep, workers } from "./scenarios.ts";

describe("a run of a workflow on PostgreSQL whose process is killed", () => {
  const server = usePostgres();
  const shared = async (run: (processes: Services) => Promise<void>) => {
    const schema = server.newSchema();
    try {
      await using processes = await workers({ where: server.connectionString, schema });
      await run(processes);
    } finally {
      await server.drop(schema);
    }
  };

  verifies(["W3", "J1", "H2"], "goes on in others: no step that finished runs again, and no unsafe one twice", () =>
    shared(orderAcrossProcesses),
  );

  verifies(["W3", "J1"], "in a step that is not safe to repeat has failed, and does not begin it again", () =>
    shared(unsafeStep),
  );

  verifies(["W3", "J1"], "in a step that is safe has it done again, by one of two others", () => shared(safeStep));

  verifies(["W3", "J1"], "twice, with a record in pieces, has done each element once at most, and keeps no piece", () =>
    shared(manyElements),
  );
});
