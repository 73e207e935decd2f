import { describe, expect } from "vitest";
import { verifies } from "../../support/verifies.ts";
import { comesTo, manyElements, orderAcrossProcesses, safeStep, unsafeStep, workers } from "./scenarios.ts";

describe("a run of a workflow whose process is killed", () => {
  verifies(
    ["W3", "J1", "H2"],
    "goes on in others: no step that finished runs again, and no unsafe one twice",
    async () => {
      await using processes = await workers();
      await orderAcrossProcesses(processes);
    },
  );

  verifies(["W3", "J1"], "in a step that is not safe to repeat has failed, and does not begin it again", async () => {
    await using processes = await workers();
    await unsafeStep(processes);
  });

  verifies(["W3", "J1"], "in a step that is safe has it done again, by one of two others", async () => {
    await using processes = await workers();
    await safeStep(processes);
  });

  verifies(["W3", "J1"], "in the middle of many elements ends, with each of them done once at most", async () => {
    await using processes = await workers();
    const killed = await processes.start();
    const list = Array.from({ length: 200 }, (_, n) => n);
    void killed.do(`run each ${JSON.stringify(list)}`).catch(() => undefined);
    await processes.ran("collect", 40);
    await killed.kill();
    const done = (await processes.journal()).length;
    const other = await processes.start();
    await comesTo(other, /each (failed|succeeded)/);
    // Two were at work. Either both had been written down as ended, or one was not: that is not done again.
    expect((await processes.journal()).length).toBeLessThanOrEqual(list.length);
    expect((await processes.journal()).length).toBeGreaterThanOrEqual(done);
  });

  verifies(
    ["W3", "J1"],
    "twice, with a record in pieces, has done each element once at most, and keeps no piece",
    async () => {
      await using processes = await workers();
      await manyElements(processes);
    },
  );
});
