import { expect } from "vitest";
import type { ToolkitEvent } from "../../src/core/event.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { Replica } from "../support/replica.ts";
import { makeStore, type StoreMaker } from "../support/store-maker.ts";
import { verifies } from "../support/verifies.ts";

/** A store that other processes can open too. */
export interface UserSharingSetup {
  readonly shared: StoreMaker;
  dispose(): Promise<void>;
}

/** The promises of the namespace `user` over every store that processes can share. */
export function userSharingContract(name: string, setUp: () => Promise<UserSharingSetup>): void {
  verifies(
    "K2",
    `${name}: what one process does is listed in another within a second, with its event, and outlives both`,
    async () => {
      const { shared, dispose } = await setUp();
      const session = { id: "x", principal: "ada" };
      const { principal } = session;
      try {
        await using toolkit = new Toolkit({ store: await makeStore(shared) });
        await toolkit.start();
        expect((await toolkit.list({ session })).count).toBe(0);
        {
          await using other = new Replica(shared);
          for (const [type, ref, order] of [
            ["promptListChanged", "user.greet", { putPrompt: "---\nname: greet\n---\nHello." }],
            ["resourceListChanged", "text:note#user", { putResource: ["note", "1"] }],
            ["promptListChanged", "user.last", { putPrompt: "---\nname: last\n---\nBye." }],
          ] as const) {
            const heard = nextOf(toolkit);
            const { at: done } = await other.does({ principal, ...order });
            const { at, event } = await heard;
            expect(event).toMatchObject({ type, added: [ref], principal });
            expect(at - done).toBeLessThan(1_000);
            const { entries } = await toolkit.list({ session });
            expect(entries.map((entry) => entry.ref)).toContain(ref);
          }
        }
        const refs = ["user.greet", "user.last", "text:note#user"];
        await toolkit.close();
        await using later = new Replica(shared);
        expect((await later.does({ principal })).refs).toEqual(refs);
      } finally {
        await dispose();
      }
    },
  );
}

function nextOf(toolkit: Toolkit): Promise<{ readonly at: number; readonly event: ToolkitEvent }> {
  return new Promise((resolve) => toolkit.on("*", (event) => resolve({ at: Date.now(), event })));
}
