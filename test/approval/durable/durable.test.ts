import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { Child } from "../../support/child.ts";
import { verifies } from "../../support/verifies.ts";

describe("an approval in a store that processes share", () => {
  let folder = "";
  let children: Child[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolweave-durable-"));
    children = [];
  });
  afterEach(async () => {
    await Promise.all(children.map((child) => child.kill()));
    await rm(folder, { recursive: true, force: true });
  });

  const service = async (...more: readonly string[]) => {
    const url = new URL("service.ts", import.meta.url);
    const child = new Child(url, join(folder, "store.db"), join(folder, "journal"), ...more);
    children.push(child);
    await child.said("ready");
    return child;
  };
  const answer = async (child: Child, command: string) => {
    child.tell(command);
    const [verb = ""] = command.split(" ");
    return (await child.said(`${verb} `)).slice(verb.length + 1);
  };
  const runs = async () => (await readFile(join(folder, "journal"), "utf8").catch(() => "")).split("\n").slice(0, -1);
  const began = async (child: Child, id: string) => {
    child.tell(`resolve ${id} true`);
    await child.said("ran ");
  };

  verifies("H2", "outlives the process that asked, and is run by exactly one of those who approve", async () => {
    const asker = await service();
    const id = await answer(asker, "ask pay");
    await asker.kill();
    const others = await Promise.all([service(), service()]);
    const answers = await Promise.all(others.map((other) => answer(other, `resolve ${id} true`)));
    expect(answers).toEqual(["succeeded", "succeeded"]);
    expect(await runs()).toEqual(["pay"]);
    expect(await Promise.all(others.map((other) => answer(other, `wait ${id}`)))).toEqual(["paid", "paid"]);
  });

  verifies("H2", "is decided by the first of two who decide otherwise at once", async () => {
    const asker = await service();
    const id = await answer(asker, "ask pay");
    const other = await service();
    const [yes, no] = await Promise.all([answer(asker, `resolve ${id} true`), answer(other, `resolve ${id} false`)]);
    expect([
      ["succeeded", "CONFLICT"],
      ["CONFLICT", "denied"],
    ]).toContainEqual([yes, no]);
    expect(await runs()).toHaveLength(yes === "succeeded" ? 1 : 0);
  });

  verifies(
    "H2",
    "whose process is killed while it runs is OUTCOME_UNKNOWN to those who wait, and not run again",
    async () => {
      const runner = await service("hangs");
      const id = await answer(runner, "ask pay");
      const other = await service();
      const waiting = answer(other, `wait ${id}`);
      await began(runner, id);
      await runner.kill();
      expect(await waiting).toBe("OUTCOME_UNKNOWN");
      expect(await runs()).toEqual(["pay"]);
      expect(await answer(await service(), `wait ${id}`)).toBe("OUTCOME_UNKNOWN");
    },
  );

  verifies("H2", "of a tool that may run twice is run again by another after its process was killed", async () => {
    const runner = await service("hangs");
    const id = await answer(runner, "ask pay_again");
    const others = await Promise.all([service(), service()]);
    const waiting = others.map((other) => answer(other, `wait ${id}`));
    await began(runner, id);
    await runner.kill();
    expect(await Promise.all(waiting)).toEqual(["paid", "paid"]);
    expect(await runs()).toEqual(["pay_again", "pay_again"]);
  });

  verifies("H2", "is run again by one that nobody asked, too, and that heard of it from the store alone", async () => {
    const other = await service();
    const runner = await service("hangs");
    const id = await answer(runner, "ask pay_again");
    await began(runner, id);
    await runner.kill();
    // Nothing is asked of the other: who asks has it look.
    await other.said("ran ");
    expect(await answer(other, `wait ${id}`)).toBe("paid");
    expect(await runs()).toEqual(["pay_again", "pay_again"]);
  });
});
