import { deepStrictEqual, strictEqual } from "node:assert/strict";
// #region after
import { DynamicStructuredTool } from "@langchain/core/tools";
import { Toolkit } from "toolweave";
import { toLangChain } from "toolweave/adapters";
import { server } from "./server.ts"; // { command, args } or { url }

// new MultiServerMCPClient({ mcpServers })
const toolkit = new Toolkit();
toolkit.addConnectors({ mcpServers: { everything: server } });
await toolkit.start();

// client.getTools(): tools of LangChain, for a model of LangChain or an agent of LangGraph
const toolset = await toolkit.toolset({ include: ["everything.*"] });
const run = toolset.begin({ session: { id: "user-7", principal: "ada" } });
const tools = toLangChain(toolset, DynamicStructuredTool, run);
// #endregion

const echo = tools.find(({ name }) => name === "everything__echo");
strictEqual(await echo?.invoke({ message: "hello" }), "Echo: hello");
deepStrictEqual(run.history.length, 1);
await toolkit.close();
