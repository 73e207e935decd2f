import { setTimeout as delay } from "node:timers/promises";
import { ToolkitError } from "../../../src/core/error.ts";
import type { Store } from "../../../src/core/store.ts";

/** Some that write without a pause, and go on after what fails. */
export interface Load {
  readonly acknowledged: readonly (readonly [key: string, version: number])[];
  /** Resolves when so many were acknowledged. */
  acknowledgedOf(count: number): Promise<void>;
  /** Resolves when so many have failed. */
  failedOf(count: number): Promise<void>;
  /** Resolves when the last has come to its end, with the codes of all that failed. */
  end(): Promise<{ readonly acknowledged: Load["acknowledged"]; readonly codes: ReadonlySet<string> }>;
}

export function loadOn(stores: readonly Store[]): Load {
  const acknowledged: (readonly [key: string, version: number])[] = [];
  const codes: string[] = [];
  const waits = new Set<() => void>();
  let isEnded = false;
  const lane = async (store: Store, name: string) => {
    for (let number = 0; !isEnded; number++) {
      const key = number % 3 === 0 ? "shared" : `${name}-${number}`;
      try {
        const { version } = await store.put({ collection: "prompt", owner: "ada", key, value: number });
        acknowledged.push([key, version]);
        await store.get({ collection: "prompt", owner: "ada", key });
      } catch (error) {
        codes.push(ToolkitError.is(error) ? error.code : String(error));
        // A call that is refused at once would be repeated without end.
        await delay(5);
      }
      for (const check of waits) check();
    }
  };
  const lanes = stores.flatMap((store, index) => [0, 1, 2, 3].map((each) => lane(store, `${index}-${each}`)));
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (!isSo()) return;
        waits.delete(check);
        resolve();
      };
      waits.add(check);
      check();
    });
  return {
    acknowledged,
    acknowledgedOf: (count) => until(() => acknowledged.length >= count),
    failedOf: (count) => until(() => codes.length >= count),
    async end() {
      isEnded = true;
      await Promise.all(lanes);
      return { acknowledged, codes: new Set(codes) };
    },
  };
}
