import { expect, test } from "vitest";
import { type Outcome, runsVerdict, verdictOf } from "./verdict.ts";

const failed = (code: string): Outcome => ({ ok: false, code, said: "no" });
const judge = (outcome: Outcome, excused: readonly string[] = [], altersAnswers = false) =>
  verdictOf({ outcome, expects: ["ok"], excused: new Set(excused), altersAnswers });

test("a call may fail only with what its server's troubles excuse", () => {
  expect(judge({ ok: true, right: true, said: "yes" })).toBeUndefined();
  expect(judge(failed("UNAVAILABLE"), ["UNAVAILABLE"])).toBeUndefined();
  expect(judge(failed("UNAVAILABLE"))).toContain("UNAVAILABLE, and its server had no trouble");
  expect(judge(failed("NOT_FOUND"), ["UNAVAILABLE"])).toContain("NOT_FOUND");
});

test("an answer that is another call's is wrong, unless its server altered it", () => {
  const foreign: Outcome = { ok: true, right: false, said: "ran 7" };
  expect(judge(foreign)).toContain("another call");
  expect(judge(foreign, [], true)).toBeUndefined();
});

test("what is not safe runs at most once, what answered ran, and what says that it did not run did not", () => {
  expect(runsVerdict("ok", 1, true)).toBeUndefined();
  expect(runsVerdict("ok", 2, true)).toContain("ran 2 times");
  expect(runsVerdict("ok", 2, false)).toBeUndefined();
  expect(runsVerdict("ok", 0, false)).toContain("never ran");
  expect(runsVerdict("OUTCOME_UNKNOWN", 0, true)).toBeUndefined();
  expect(runsVerdict("OUTCOME_UNKNOWN", 1, true)).toBeUndefined();
  expect(runsVerdict("UNAVAILABLE", 1, true)).toContain("did not run");
});
