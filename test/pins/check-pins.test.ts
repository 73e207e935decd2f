import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { type CheckPinsOptions, checkPins, type PinCheck } from "../../src/connection/check-pins.ts";
import type { PinOptions } from "../../src/core/pin.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { FakeConnector } from "../support/fake-connector.ts";
import { verifies } from "../support/verifies.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolweave-pins-"));
  file = join(folder, "toolweave.lock");
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function check(far: FakeConnector, options: CheckPinsOptions = {}, pins: PinOptions = {}): Promise<PinCheck> {
  await using toolkit = new Toolkit({ pins: { file } });
  toolkit.addConnector(far, { namespace: "far", pins });
  return await checkPins(toolkit, options);
}

const server = (description: string) => new FakeConnector({ lists: { tool: [{ name: "search", description }] } });

describe("a check of pins", () => {
  verifies("H9", "fails without a file and writes none, writes one to update, and then compares", async () => {
    const missing = await check(server("one"));
    expect(missing).toMatchObject({ ok: false, text: expect.stringContaining("is not there") });
    expect(await readdir(folder)).toEqual([]);
    expect(await check(server("one"), { update: true })).toMatchObject({ ok: true });
    const text = await readFile(file, "utf8");
    expect(JSON.parse(text)).toEqual({
      lockfileVersion: 1,
      contracts: {
        far: { instructions: null, tool: { search: { description: "one" } }, prompt: {}, resource: {}, template: {} },
      },
    });
    expect(await check(server("one"))).toEqual({ ok: true, changes: [], text: "Nothing changed." });

    const { exitCode } = process;
    const changed = await check(server("two"), { exit: true }, { onChange: "quarantine" });
    const found = process.exitCode;
    process.exitCode = exitCode;
    expect([changed.ok, found]).toEqual([false, 1]);
    expect(changed.changes).toMatchObject([{ ref: "far.search", what: "description" }]);
    expect(changed.text).toBe('tool far.search\n  description at /description\n    - "one"\n    + "two"\n1 change.');
    expect(await readFile(file, "utf8")).toBe(text);
    await check(server("two"), { update: true });
    expect(await check(server("two"))).toMatchObject({ ok: true });
  });

  verifies("H9", "fails where a connector does not connect or list", async () => {
    await check(server("one"), { update: true });
    const down = server("one");
    down.outcomes = Array.from({ length: 50 }, () => new Error("it is down"));
    expect(await check(down, { timeoutMs: 100 })).toMatchObject({
      ok: false,
      text: expect.stringContaining("it is down"),
    });
    const mute = server("one");
    mute.lists = { tool: new Error("no") };
    expect(await check(mute)).toMatchObject({ ok: false, text: expect.stringContaining("did not list its tools") });
    expect(await check(mute, { update: true })).toMatchObject({ ok: false });
    expect(await check(server("one"))).toMatchObject({ ok: true });
  });

  verifies("H9", "is for a toolkit that was not started, and has something pinned", async () => {
    await using toolkit = new Toolkit({ pins: { file } });
    expect(await failure(checkPins(toolkit))).toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringContaining("none"),
    });
    toolkit.addConnector(server("one"), { namespace: "far", pins: true });
    await toolkit.start();
    expect(await failure(checkPins(toolkit))).toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringContaining("started"),
    });
  });
});
