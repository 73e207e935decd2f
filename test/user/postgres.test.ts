import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { ToolkitEvent } from "../../src/core/event.ts";
import { defineTool } from "../../src/core/tool.ts";
import { mcpConnector } from "../../src/mcp/index.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { postgresStore } from "../../src/store/postgres/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { tenancyContract } from "../contract/tenancy.ts";
import { userSharingContract } from "../contract/user-sharing.ts";
import { networkTo } from "../store/postgres/network.ts";
import { usePostgres } from "../store/postgres/support.ts";
import { type PostgresServer, startPostgres } from "../support/postgres/postgres.ts";
import { Replica } from "../support/replica.ts";
import { verifies } from "../support/verifies.ts";

let server: PostgresServer;
const postgres = usePostgres(async () => {
  server = await startPostgres();
  return server;
});
const optionsOf = (connectionString = postgres.connectionString, schema = postgres.newSchema()) => ({
  connectionString,
  schema,
});
const makerOf = (options: object) => {
  const module = new URL("../../src/store/postgres/index.ts", import.meta.url).href;
  return { module, maker: "postgresStore", options };
};

tenancyContract("a toolkit with postgresStore", () => postgresStore(optionsOf()));

userSharingContract("postgresStore", async () => ({ shared: makerOf(optionsOf()), dispose: async () => undefined }));

const prompt = (name: string, text = name) => `---\nname: ${name}\n---\n${text}`;
const stdioServer = fileURLToPath(new URL("../mcp/fixture/stdio.ts", import.meta.url));

/** Does something again and again, and counts what became of it. */
class Lane {
  readonly #run: (count: number) => Promise<unknown>;
  readonly #ended: Promise<void>;
  #isEnded = false;
  done = 0;
  readonly codes: string[] = [];

  constructor(run: (count: number) => Promise<unknown>) {
    this.#run = run;
    this.#ended = this.#go();
  }

  /** Resolves when it was done so often once more. */
  async more(count: number): Promise<void> {
    const wanted = this.done + count;
    while (this.done < wanted) await turn();
  }

  /** Resolves when it has failed so often once more. */
  async moreFailures(count: number): Promise<void> {
    const wanted = this.codes.length + count;
    while (this.codes.length < wanted) await turn();
  }

  end(): Promise<void> {
    this.#isEnded = true;
    return this.#ended;
  }

  async #go(): Promise<void> {
    for (let count = 0; !this.#isEnded; count++) {
      await turn();
      try {
        await this.#run(count);
        this.done += 1;
      } catch (error) {
        this.codes.push(ToolkitError.is(error) ? error.code : String(error));
      }
    }
  }
}

describe("a toolkit whose PostgreSQL goes and comes back", () => {
  // A call that fails while it is away fails alone.
  afterEach(() => server.start());

  verifies(
    ["S3", "K2", "L3"],
    "under load: user is stale and says why, all else goes on, and changes by another process meanwhile are emitted",
    async () => {
      await using network = await networkTo(postgres.connectionString);
      const options = optionsOf(network.connectionString);
      await using other = new Replica(makerOf({ ...options, connectionString: postgres.connectionString }));
      const ping = defineTool({ name: "ping", run: () => "pong" });
      await using toolkit = new Toolkit({ store: postgresStore(options), items: [ping] });
      toolkit.addConnector(mcpConnector({ command: process.execPath, args: ["--no-warnings", stdioServer] }), {
        namespace: "far",
      });
      await toolkit.start();
      for (const name of ["stays", "changes", "goes"]) await toolkit.user.putPrompt(prompt(name));
      await toolkit.user.putResource(resource.text("note", "1"));
      const user = async () => {
        const { entries, failures } = await toolkit.list({ namespace: "user" });
        const shown = entries.map(({ ref, stale }) => [ref, stale]).filter(([ref]) => ref !== "user.load");
        return { shown, failures: failures.map(({ error }) => error.code) };
      };
      const builtin = new Lane(() => toolkit.call("ping"));
      const connector = new Lane(() => toolkit.call("far.add", { a: 1, b: 2 }));
      const writes = new Lane((count) => toolkit.user.putPrompt(prompt("load", `${count}`)));
      await Promise.all([builtin.more(20), connector.more(20), writes.more(20)]);

      await server.stop();
      await writes.moreFailures(5);
      await expect.poll(user, { timeout: 20_000 }).toEqual({
        shown: [
          ["user.changes", true],
          ["user.goes", true],
          ["user.stays", true],
          ["text:note#user", true],
        ],
        failures: ["STORE_FAILED"],
      });
      await Promise.all([builtin.more(20), connector.more(20)]);
      expect((await toolkit.lookup("stays")).stale).toBe(true);
      expect((await toolkit.render("stays")).messages).toHaveLength(1);
      const late = toolkit.user.putPrompt(prompt("late"));
      await expect(late).rejects.toMatchObject({ code: "STORE_FAILED", details: { operation: "put" } });
      await expect(toolkit.read("text:note")).rejects.toMatchObject({ code: "STORE_FAILED" });
      await writes.end();

      // Now the server is there for others alone.
      network.cut(true);
      await server.start();
      const events: ToolkitEvent[] = [];
      toolkit.on("*", (event) => {
        if ("namespace" in event && event.namespace === "user") events.push(event);
      });
      const came = await other.does({ putPrompt: prompt("comes") });
      expect(came.refs).toContain("user.comes");
      await other.does({ putPrompt: prompt("changes", "otherwise") });
      await other.does({ remove: "goes" });
      await other.does({ putResource: ["note", "2"] });
      expect((await user()).failures).toEqual(["STORE_FAILED"]);
      expect(events).toEqual([]);
      network.cut(false);
      await expect.poll(user, { timeout: 20_000 }).toEqual({
        shown: [
          ["user.changes", false],
          ["user.comes", false],
          ["user.stays", false],
          ["text:note#user", false],
        ],
        failures: [],
      });
      expect(events.filter(({ type }) => type === "promptListChanged")).toMatchObject([
        { added: ["user.comes"], removed: ["user.goes"] },
      ]);
      expect(events.find(({ type }) => type === "promptListChanged")).toHaveProperty(
        "changed",
        expect.arrayContaining(["user.changes"]),
      );
      expect(events.filter(({ type }) => type === "resourceUpdated")).toMatchObject([{ uri: "text:note" }]);
      expect(await (await toolkit.read("text:note")).text()).toBe("2");
      // From here on all is as it was.
      const emitted = new Promise((resolve) => toolkit.on("promptListChanged", resolve));
      await other.does({ putPrompt: prompt("after") });
      expect(await emitted).toMatchObject({ added: ["user.after"] });
      await toolkit.user.putPrompt(prompt("late"));
      await Promise.all([builtin.end(), connector.end()]);
      expect([builtin.codes, connector.codes]).toEqual([[], []]);
      expect(new Set(writes.codes)).toEqual(new Set(["STORE_FAILED"]));
    },
    90_000,
  );

  verifies(["S3", "K2"], "changes by others while its reports are lost are caught up with afterwards", async () => {
    await using network = await networkTo(postgres.connectionString);
    const options = optionsOf(network.connectionString);
    await using other = new Replica(makerOf({ ...options, connectionString: postgres.connectionString }));
    await using toolkit = new Toolkit({ store: postgresStore(options) });
    await other.does({ principal: "ada", putPrompt: prompt("old") });
    const session = { id: "x", principal: "ada" };
    expect((await toolkit.list({ session })).count).toBe(1);
    network.cut(true);
    await expect.poll(async () => (await toolkit.list({ session })).failures.length, { timeout: 20_000 }).toBe(1);
    const emitted = new Promise((resolve) => toolkit.on("promptListChanged", resolve));
    await other.does({ principal: "ada", putPrompt: prompt("new") });
    await other.does({ principal: "bob", putPrompt: prompt("another's") });
    network.cut(false);
    expect(await emitted).toMatchObject({ added: ["user.new"], changed: [], removed: [], principal: "ada" });
    await expect.poll(async () => (await toolkit.list({ session })).failures, { timeout: 20_000 }).toEqual([]);
  });
});
