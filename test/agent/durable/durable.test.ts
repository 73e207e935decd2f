import { describe, expect } from "vitest";
import { verifies } from "../../support/verifies.ts";
import { effects, orphan, services } from "./support.ts";

describe("a suspended run whose process was killed", () => {
  verifies(["A7", "H2"], "goes on in another from the same step, and its call runs once", async () => {
    await using processes = await services();
    const id = await orphan(processes, "ask clerk");
    const other = await processes.start();
    expect(await other.do(`resume ${id}`)).toBe(id);
    expect(await other.do(`approve ${await other.do("pending")}`)).toBe("succeeded");
    expect(await other.do(`resume ${id}`)).toMatch(/^clerk: .*log done/);
    expect(await effects(processes)).toEqual(["pay", "log"]);
    expect(await other.do(`resume ${id}`)).toMatch(/^NOT_FOUND/);
    expect(await other.do("suspended")).toBe("[]");
  });

  verifies("A7", "and waits again goes on in a third", async () => {
    await using processes = await services();
    const id = await orphan(processes, "ask cashier");
    const second = await processes.start();
    await second.do(`approve ${await second.do("pending")}`);
    expect(await second.do(`resume ${id}`)).toBe(id);
    await second.kill();
    const third = await processes.start();
    await third.do(`approve ${await third.do("pending")}`);
    expect(await third.do(`resume ${id}`)).toMatch(/^cashier: .*bill done/);
    expect(await effects(processes)).toEqual(["pay", "bill"]);
  });

  verifies("A7", "is gone on with by exactly one of those that resume it at once", async () => {
    await using processes = await services();
    const id = await orphan(processes, "ask clerk");
    const others = await Promise.all([processes.start(), processes.start()]);
    const [approval] = await Promise.all(others.map((other) => other.do("pending")));
    await others[0].do(`approve ${approval}`);
    const answers = await Promise.all([...others, ...others].map((other) => other.do(`resume ${id}`)));
    const [answer, ...refused] = answers.sort(
      (one, next) => Number(next.startsWith("clerk")) - Number(one.startsWith("clerk")),
    );
    expect(answer).toMatch(/^clerk/);
    for (const each of refused) expect(each).toMatch(/^(CONFLICT|NOT_FOUND) /);
    expect(await effects(processes)).toEqual(["pay", "log"]);
  });

  verifies("A7", "is waited for in another, which may be killed too while nothing is settled", async () => {
    await using processes = await services();
    const id = await orphan(processes, "ask clerk");
    const [killed, other] = await Promise.all([processes.start(), processes.start()]);
    void killed.do(`wait ${id}`).catch(() => undefined);
    // It answers in order of what it is asked, so it waits by then.
    await killed.do("suspended");
    await killed.kill();
    const answer = other.do(`wait ${id}`);
    await other.do(`approve ${await other.do("pending")}`);
    expect(await answer).toMatch(/^clerk/);
    expect(await effects(processes)).toEqual(["pay", "log"]);
  });

  verifies(["A7", "H2"], "and that is killed again while it goes on is OUTCOME_UNKNOWN, and not repeated", async () => {
    await using processes = await services();
    const id = await orphan(processes, "ask clerk");
    const killed = await processes.start("log");
    await killed.do(`approve ${await killed.do("pending")}`);
    void killed.do(`resume ${id}`).catch(() => undefined);
    await processes.ran("log");
    const other = await processes.start();
    expect(await other.do(`resume ${id}`)).toMatch(/^CONFLICT .*another holder goes on with it now/);
    expect(await other.do(`forget ${id}`)).toMatch(/^CONFLICT/);
    await killed.kill();
    await expect.poll(() => other.do(`resume ${id}`), { timeout: 10_000 }).toMatch(/^OUTCOME_UNKNOWN/);
    expect(await other.do(`resume ${id}`)).toMatch(/^OUTCOME_UNKNOWN/);
    expect(JSON.parse(await other.do("suspended"))).toMatchObject([{ id, status: "lost", ref: "builtin.clerk" }]);
    await other.do(`forget ${id}`);
    expect(await other.do("suspended")).toBe("[]");
    expect(await effects(processes)).toEqual(["pay", "log"]);
  });

  verifies(["A7", "H2"], "whose approved call was killed tells its model that nobody knows what that did", async () => {
    await using processes = await services();
    const id = await orphan(processes, "ask payer");
    const killed = await processes.start("pay");
    void killed.do(`approve ${await killed.do("pending")}`).catch(() => undefined);
    await processes.ran("pay");
    await killed.kill();
    const other = await processes.start();
    expect(await other.do(`wait ${id}`)).toMatch(/^payer: .*It is not known whether builtin.pay ran/);
    expect(await effects(processes)).toEqual(["pay"]);
  });

  verifies("A7", "of a sub-agent goes on with the run that waits for it", async () => {
    await using processes = await services();
    const id = await orphan(processes, "ask boss");
    const other = await processes.start();
    const waiting = JSON.parse(await other.do("suspended"));
    expect(waiting).toMatchObject([{ id, ref: "builtin.boss", waitsFor: [{ tool: "builtin.payer" }] }]);
    expect(await other.do(`resume ${id}`)).toBe(id);
    await other.do(`approve ${await other.do("pending")}`);
    expect(await other.do(`resume ${id}`)).toMatch(/^boss: .*payer: .*pay done/);
    expect(await effects(processes)).toEqual(["pay"]);
    expect(await other.do(`resume ${waiting[0].waitsFor[0].id}`)).toMatch(/^NOT_FOUND/);
  });

  verifies("A7", "goes on nowhere else where it has tools or a view of its own", async () => {
    await using processes = await services();
    const asker = await processes.start();
    const other = await processes.start();
    for (const command of ["own", "view payer"]) {
      const id = await asker.do(command);
      await asker.do(`approve ${await asker.do("pending")}`);
      expect(await other.do(`resume ${id}`)).toMatch(/^CONFLICT .*only in the process where it began/);
      expect(await asker.do(`wait ${id}`)).toMatch(/^payer/);
    }
  });

  verifies("A7", "is nobody's who is another principal, and is told as what is not there", async () => {
    await using processes = await services();
    const id = await orphan(processes, "ask payer");
    const other = await processes.start();
    await other.do(`approve ${await other.do("pending")}`);
    const refused = await other.do(`resume ${id} eve`);
    const missing = await other.do("resume 00000000-0000-4000-8000-000000000000 eve");
    expect(refused.replace(id, "ID")).toBe(missing.replace(/0000[0-9-]+/, "ID"));
    expect(refused).toMatch(/^NOT_FOUND/);
    expect(await other.do(`resume ${id} ada`)).toMatch(/^payer/);
  });

  verifies("A7", "has 5 MB that were attached when it goes on", async () => {
    await using processes = await services();
    const id = await orphan(processes, "attach payer 5");
    const other = await processes.start();
    await other.do(`approve ${await other.do("pending")}`);
    expect(await other.do(`resume ${id}`)).toMatch(/^payer/);
    expect((await processes.journal()).filter((line) => line.startsWith("seen"))).toEqual(["seen 6 MB", "seen 6 MB"]);
  });
});
