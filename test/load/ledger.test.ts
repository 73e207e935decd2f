import { expect, test } from "vitest";
import { LoadLedger } from "./ledger.ts";

const said = (text: string) => ({ id: 1, result: { content: [{ type: "text", text }] } });
const failedWith = (code: string) => ({
  id: 1,
  result: { isError: true, content: [{ type: "text", text: "no" }], _meta: { "toolweave/code": code } },
});

test("a ledger of load takes what is right for right", () => {
  const ledger = new LoadLedger();
  const runs = new Map([["a.0", 1]]);
  ledger.answer({ id: "a.0", isRecord: true }, said("recorded a.0"), 1);
  ledger.answer({ id: "a.1", isRecord: true }, failedWith("UNAVAILABLE"), 1);
  ledger.answer({ id: "a.2", isRecord: true }, failedWith("OUTCOME_UNKNOWN"), 1);
  ledger.answer({ id: "a.3", isRecord: false }, said("Echo: a.3"), 1);
  ledger.answer({ id: "a.4", isRecord: false }, { id: 1, error: { code: -32_603, message: "no" } }, 1);
  ledger.settle((id) => runs.get(id) ?? 0);
  expect(ledger.breaches).toEqual([]);
  expect(ledger.answered).toBe(5);
  expect([...ledger.errors]).toEqual([
    ["UNAVAILABLE", 1],
    ["OUTCOME_UNKNOWN", 1],
    ["-32603", 1],
  ]);
});

test("a ledger of load finds what was lost, doubled or another's", () => {
  const ledger = new LoadLedger();
  const runs = new Map([
    ["a.0", 2],
    ["a.2", 1],
  ]);
  ledger.answer({ id: "a.0", isRecord: true }, failedWith("OUTCOME_UNKNOWN"), 1);
  ledger.answer({ id: "a.1", isRecord: true }, said("recorded a.1"), 1);
  ledger.answer({ id: "a.2", isRecord: true }, failedWith("UNAVAILABLE"), 1);
  ledger.answer({ id: "a.3", isRecord: false }, said("Echo: b.3"), 1);
  ledger.lose({ id: "a.4", isRecord: false }, new Error("none within 30000 ms"));
  ledger.settle((id) => runs.get(id) ?? 0);
  expect(ledger.breaches.map((breach) => breach.slice(0, 40).split(": ").slice(0, 2).join(": "))).toEqual([
    "a.3: the answer is of another call",
    "a.4: no answer",
    "a.0: ran 2 times",
    "a.1: succeeded, and did not run",
    "a.2: UNAVAILABLE, and it ran",
  ]);
});
