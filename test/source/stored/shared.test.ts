import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import type { ToolkitEvent } from "../../../src/core/event.ts";
import { sqliteStore } from "../../../src/store/sqlite/index.ts";
import { Toolkit } from "../../../src/toolkit.ts";
import { verifies } from "../../support/verifies.ts";

/** Runs something with a toolkit on a file, in a process of its own. Gives what it printed. */
async function elsewhere(file: string, body: string): Promise<string> {
  const src = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);
  const script = `import { Toolkit, resource } from ${src("index.ts")};
    import { sqliteStore } from ${src("store/sqlite/index.ts")};
    const toolkit = new Toolkit({ store: sqliteStore({ file: ${JSON.stringify(file)} }) });
    ${body}
    await toolkit.close();`;
  const args = ["--unhandled-rejections=strict", "--input-type=module", "-e", script];
  return (await promisify(execFile)(process.execPath, args, { timeout: 30_000, killSignal: "SIGKILL" })).stdout;
}

verifies(
  "K2",
  "a put in one process is listed in another within a second, with its event, and outlives both",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolweave-shared-"));
    const file = join(folder, "user.db");
    try {
      await using toolkit = new Toolkit({ store: sqliteStore({ file }) });
      await toolkit.start();
      const session = { id: "x", principal: "ada" };
      expect((await toolkit.list({ session })).count).toBe(0);
      const heard: { readonly at: number; readonly event: ToolkitEvent }[] = [];
      const all = Promise.withResolvers<void>();
      toolkit.on("*", (event) => {
        heard.push({ at: Date.now(), event });
        if (event.type === "resourceListChanged") all.resolve();
      });
      const printed = await elsewhere(
        file,
        `const session = ${JSON.stringify(session)};
      await toolkit.user.putPrompt("---\\nname: greet\\n---\\nHello.", { session });
      console.log(Date.now());
      await toolkit.user.putResource(resource.text("note", "1"), { session });
      console.log(Date.now());`,
      );
      await all.promise;
      expect((await toolkit.list({ session })).entries.map(({ ref }) => ref)).toEqual(["user.greet", "text:note#user"]);
      expect(heard.map(({ event }) => event)).toMatchObject([
        { type: "promptListChanged", added: ["user.greet"], principal: "ada" },
        { type: "resourceListChanged", added: ["text:note#user"], principal: "ada" },
      ]);
      const doneAt = printed.trim().split("\n").map(Number);
      for (const [at, done] of doneAt.entries()) expect((heard[at]?.at ?? Number.NaN) - done).toBeLessThan(1_000);
      await toolkit.close();
      const list = `console.log((await toolkit.list({ session: ${JSON.stringify(session)} })).count);`;
      expect(await elsewhere(file, list)).toBe("2\n");
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
