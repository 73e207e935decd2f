import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { defineTool, Toolkit, ToolkitError } from "../../src/index.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { type Workflows, workflows } from "../../src/workflow/workflows.ts";
import { verifies } from "../support/verifies.ts";
import { eventually, flow } from "./support.ts";

const steps = [
  { id: "looked", tool: "look" },
  { id: "written", tool: "write", fallback: { value: "not written" } },
  { id: "payment", tool: "pay" },
];

/** Two toolkits on one file, with tools that stop where they are told to. */
async function twoToolkits() {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-flows-"));
  const calls: string[] = [];
  const made: Toolkit[] = [];
  const start = async (
    hangs = "",
    defined = [flow(steps)],
    takeOver = true,
  ): Promise<{ toolkit: Toolkit; flows: Workflows }> => {
    const tool = (name: string, more: object) =>
      defineTool({
        name,
        ...more,
        run: async () => {
          calls.push(name);
          if (name === hangs) await new Promise(() => undefined);
          return `${name} done`;
        },
      });
    const flows = workflows(defined, { takeOver });
    const items = [
      tool("look", { annotations: { readOnlyHint: true } }),
      tool("write", {}),
      tool("pay", { options: { needsApproval: true } }),
    ];
    const toolkit = new Toolkit({ items, delegate: flows, store: sqliteStore({ file: join(folder, "store.db") }) });
    toolkit.addSource("workflow", flows);
    made.push(toolkit);
    await toolkit.start();
    return { toolkit, flows };
  };
  return {
    calls,
    start,
    async [Symbol.asyncDispose]() {
      await Promise.all(made.map((toolkit) => toolkit.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

describe("a run of a toolkit that closes", () => {
  verifies(
    ["W3", "J1"],
    "is taken up by another at once: a safe step is done again, and the caller is CLOSED",
    async () => {
      await using two = await twoToolkits();
      const first = await two.start("look");
      const call = first.toolkit.call("workflow.test", {}).catch((error: unknown) => error);
      await eventually(() => (two.calls.includes("look") ? true : undefined));
      const second = await two.start();
      await first.toolkit.close();
      expect(await call).toMatchObject({ code: "CLOSED" });
      const run = await eventually(async () => (await second.flows.runs({ status: "waiting" }))[0]);
      expect(two.calls).toEqual(["look", "look", "write"]);
      await second.toolkit.approvals.resolve(run.waitsFor[0]?.id ?? "", { approved: true });
      await eventually(async () => (await second.flows.runs({ status: "succeeded" }))[0]);
      expect(two.calls).toEqual(["look", "look", "write", "pay"]);
    },
  );

  verifies(["W3", "J1"], "has what was not safe left alone: its fallback takes its place", async () => {
    await using two = await twoToolkits();
    const first = await two.start("write");
    first.toolkit.call("workflow.test", {}).catch(() => undefined);
    await eventually(() => (two.calls.includes("write") ? true : undefined));
    await first.toolkit.close();
    const second = await two.start();
    const run = await eventually(async () => (await second.flows.runs({ status: "waiting" }))[0]);
    expect(run.steps.written).toMatchObject({ state: "failed", error: { code: "OUTCOME_UNKNOWN" } });
    expect(two.calls).toEqual(["look", "write"]);
  });

  verifies(
    ["W3", "J1"],
    "is left to processes that have a workflow of its name, and goes on as it was defined when it began",
    async () => {
      await using two = await twoToolkits();
      const first = await two.start();
      const pending: unknown = await first.toolkit.call("workflow.test", {}).catch((error: unknown) => error);
      if (!ToolkitError.is(pending, "PENDING")) throw pending;
      await first.toolkit.close();
      const stranger = await two.start("", [{ ...flow(steps), name: "other" }]);
      const [approval] = await stranger.toolkit.approvals.list({ status: "pending", tool: "builtin.pay" });
      await stranger.toolkit.approvals.resolve(approval?.id ?? "", { approved: true });
      expect(await stranger.flows.runs()).toMatchObject([{ status: "waiting" }]);
      const changed = await two.start("", [flow([{ id: "other", tool: "look" }])]);
      const run = await eventually(async () => (await changed.flows.runs({ status: "succeeded" }))[0]);
      expect(run.result).toBe("pay done");
      expect(two.calls).toEqual(["look", "write", "pay"]);
      expect(await (await changed.toolkit.approvals.wait(pending.details.id)).text()).toBe("pay done");
    },
  );

  verifies(["W3", "J1"], "is left alone by a process that takes nothing over, until it is to resume it", async () => {
    await using two = await twoToolkits();
    const first = await two.start();
    await expect(first.toolkit.call("workflow.test", {})).rejects.toMatchObject({ code: "PENDING" });
    await first.toolkit.close();
    const short = await two.start("", [flow(steps)], false);
    const [run] = await short.flows.runs();
    const id = run?.id ?? "";
    expect(await short.flows.resume(id)).toMatchObject({ status: "waiting" });
    await short.toolkit.approvals.resolve(run?.waitsFor[0]?.id ?? "", { approved: true });
    expect(await short.flows.get(id)).toMatchObject({ status: "waiting" });
    expect(await short.flows.resume(id)).toMatchObject({ status: "succeeded", result: "pay done" });
    expect(await short.flows.resume(id)).toMatchObject({ status: "succeeded" });
    expect(two.calls).toEqual(["look", "write", "pay"]);
    await expect(short.flows.resume("none")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(short.flows.resume(id, { session: { id: "x", principal: "eve" } })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });
});
