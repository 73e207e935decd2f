import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Toolkit } from "toolweave";
import { server } from "./server.ts";

/** The part of LangChain's `tool(func, fields)` that is used here: the example needs no LangChain. */
const tool = <F extends { readonly name: string }>(func: (input: unknown) => Promise<string>, fields: F) => ({
  ...fields,
  invoke: func,
});

// #region after
// new MultiServerMCPClient({ mcpServers })
const toolkit = new Toolkit();
toolkit.addConnectors({ mcpServers: { everything: server } });
await toolkit.start();

// client.getTools(): tools of LangChain, for a model of LangChain or an agent of LangGraph
const toolset = await toolkit.toolset({ include: ["everything.*"] });
const run = toolset.begin({ session: { id: "user-7", principal: "ada" } });
let calls = 0;
const tools = toolset.definitions().map(({ name, description = "", inputSchema }) =>
  tool(
    async (input) => {
      calls += 1;
      const [answer] = await run.execute([{ id: `call-${calls}`, name, input }]);
      if (answer?.error !== undefined) throw answer.error; // ToolException
      return (await answer?.content?.text()) ?? "";
    },
    { name, description, schema: inputSchema },
  ),
);
// #endregion

const echo = tools.find(({ name }) => name === "everything__echo");
strictEqual(await echo?.invoke({ message: "hello" }), "Echo: hello");
deepStrictEqual(run.history.length, 1);
await toolkit.close();
