// A server that reads one page for whoever asks, in plain JavaScript, so that it runs in any image of Node,
// and without template literals, since a dollar and braces are a variable in the arguments of a target.
import { createInterface } from "node:readline";

const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const results = {
  initialize: () => ({
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "pages", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: [
      { name: "page", inputSchema: { type: "object", properties: { url: { type: "string" } }, required: ["url"] } },
    ],
  }),
  "tools/call": async ({ arguments: { url } }) => {
    try {
      return { content: [{ type: "text", text: await (await fetch(url)).text() }] };
    } catch (error) {
      return { isError: true, content: [{ type: "text", text: String(error) }] };
    }
  },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined && method in results) send({ id, result: await results[method](params) });
});
