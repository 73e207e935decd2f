import { describe, expect } from "vitest";
import { usePostgres } from "../../store/postgres/support.ts";
import { verifies } from "../../support/verifies.ts";
import { effects, orphan, type Services, services } from "./support.ts";

describe("a suspended run on PostgreSQL whose process was killed", () => {
  const bench = usePostgres();
  const shared = async (run: (processes: Services) => Promise<void>) => {
    const schema = bench.newSchema();
    try {
      await using processes = await services({ where: bench.connectionString, schema });
      await run(processes);
    } finally {
      await bench.drop(schema);
    }
  };

  verifies(["A7", "H2"], "is gone on with from the same step by exactly one of those that resume it at once", () =>
    shared(async (processes) => {
      const id = await orphan(processes, "ask clerk");
      const others = await Promise.all([processes.start(), processes.start()]);
      await others[0].do(`approve ${await others[1].do("pending")}`);
      const answers = await Promise.all([...others, ...others].map((other) => other.do(`resume ${id}`)));
      expect(answers.filter((answer) => answer.startsWith("clerk"))).toHaveLength(1);
      expect(answers.filter((answer) => /^(CONFLICT|NOT_FOUND) /.test(answer))).toHaveLength(3);
      expect(await effects(processes)).toEqual(["pay", "log"]);
      expect(await others[1].do("suspended")).toBe("[]");
    }),
  );

  verifies(["A7", "H2"], "and killed again while it went on is OUTCOME_UNKNOWN, and not repeated", () =>
    shared(async (processes) => {
      const id = await orphan(processes, "ask clerk");
      const killed = await processes.start("log");
      await killed.do(`approve ${await killed.do("pending")}`);
      void killed.do(`resume ${id}`).catch(() => undefined);
      await processes.ran("log");
      await killed.kill();
      const other = await processes.start();
      await expect.poll(() => other.do(`resume ${id}`), { timeout: 10_000 }).toMatch(/^OUTCOME_UNKNOWN/);
      expect(await effects(processes)).toEqual(["pay", "log"]);
    }),
  );

  verifies("A7", "of a sub-agent goes on with the run that waits for it, 5 MB of it", () =>
    shared(async (processes) => {
      const id = await orphan(processes, "ask boss");
      const large = await orphan(processes, "attach payer 5");
      const other = await processes.start();
      for (const approval of (await other.do("pending")).split(" ")) await other.do(`approve ${approval}`);
      expect(await other.do(`resume ${id}`)).toMatch(/^boss: .*payer: .*pay done/);
      expect(await other.do(`resume ${large}`)).toMatch(/^payer/);
      expect(await effects(processes)).toEqual(["pay", "pay"]);
    }),
  );
});
