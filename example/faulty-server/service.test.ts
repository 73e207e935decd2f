// #region matchers
import { defineTool, Toolkit } from "toolweave";
import { faultyServer, type ToolweaveMatchers, testContext, toolweaveMatchers, virtualClock } from "toolweave/testing";
import { expect, test } from "vitest";

declare module "vitest" {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> extends ToolweaveMatchers {}
}
expect.extend(toolweaveMatchers);
// #endregion

// #region unit
const countWords = defineTool<{ text: string }, { words: number }>({
  name: "count_words",
  run: async ({ text }, context) => {
    await context.progress(1, 1, "counted");
    return { words: text.split(/\s+/).length };
  },
});

test("counts words, and says how far it is", async () => {
  const context = testContext();
  expect(await countWords.run({ text: "many threads" }, context)).toEqual({ words: 2 });
  expect(context.reported).toEqual([{ progress: 1, total: 1, message: "counted" }]);
});
// #endregion

// #region recover
test("survives a server that hangs up, and makes no order twice", async () => {
  await using server = faultyServer();
  const toolkit = new Toolkit();
  const connection = toolkit.addConnector((await server.listen()).url, { namespace: "orders" });
  await connection.ready();

  const fault = await server.fault("die-after", { times: 1 });
  await expect(toolkit.call("orders.record", { id: "7" })).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  await expect(connection).toRecoverWithin(5_000, { after: fault.since });
  expect(server.runs("7")).toBe(1);

  await toolkit.close();
  await expect(server).toBeLeftAlone();
});
// #endregion

// #region clock
test("gives up a tool that says nothing for a minute", async () => {
  const clock = virtualClock();
  const stuck = defineTool({ name: "stuck", run: () => new Promise<string>(() => undefined) });
  const toolkit = new Toolkit({ items: [stuck], timeoutMs: 60_000, clock });
  const calling = expect(toolkit.call(stuck, {})).rejects.toMatchObject({ code: "TIMEOUT" });
  await clock.advance(60_000); // takes no time
  await calling;
  await toolkit.close();
});
// #endregion
