import fc from "fast-check";
import { expect } from "vitest";
import type { RecordKey } from "../../../src/core/store.ts";
import { OwnWrites } from "../../../src/store/postgres/own-writes.ts";
import { verifies } from "../../support/verifies.ts";

const greet: RecordKey = { collection: "prompt", owner: "ada", key: "greet" };

/** One record is changed here and elsewhere; notices come in the order of the changes, each answer at a time of its own. */
interface Plan {
  readonly isOwn: boolean;
  /** So many notices come before the answer does. */
  readonly delay: number;
}

verifies(["S1", "K2"], "each change is told once or passed over for a later one, and none after a later one", () => {
  const plans = fc.array(fc.record({ isOwn: fc.boolean(), delay: fc.integer({ min: -3, max: 3 }) }), { maxLength: 12 });
  fc.assert(
    fc.property(plans, (changes: readonly Plan[]) => {
      const own = new OwnWrites();
      const writes = changes.map(({ isOwn }) => (isOwn ? own.begin() : 0));
      const told: number[] = [];
      const steps = changes.flatMap(({ isOwn, delay }, index) => {
        const version = index + 1;
        const write = writes[index] ?? 0;
        const notice = () =>
          (isOwn ? own.heard(write, greet, version) : own.heardElsewhere(greet, version)) && told.push(version);
        const answer = () => own.done(write, greet, version) && told.push(version);
        return isOwn
          ? [
              { at: index, run: notice },
              { at: index + delay + 0.5, run: answer },
            ]
          : [{ at: index, run: notice }];
      });
      for (const { run } of steps.sort((one, other) => one.at - other.at)) run();
      expect(told).toEqual([...new Set(told)].sort((one, other) => one - other));
      if (changes.length > 0) expect(told.at(-1)).toBe(changes.length);
    }),
  );
});

verifies("S1", "a write of which nobody knows what became is told when its notice comes", () => {
  const own = new OwnWrites();
  const write = own.begin();
  own.failed(write);
  expect(own.heard(write, greet, 1)).toBe(true);
});

verifies("S1", "what was told while nobody listened is not waited for", () => {
  const own = new OwnWrites();
  expect(own.done(own.begin(), greet, 7)).toBe(true);
  own.forget();
  expect(own.heardElsewhere(greet, 3)).toBe(true);
});
