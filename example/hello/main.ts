// #region hello
import { defineTool, Toolkit } from "toolweave";
import { z } from "zod";

const greet = defineTool({
  name: "greet",
  description: "Greets a person by name.",
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello, ${name}!`,
});

const toolkit = new Toolkit({ items: [greet] });
toolkit.addConnector({ command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"] });
await toolkit.start();

const greeting = await toolkit.call(greet, { name: "Ada" }); // typed by the schema
const echo = await toolkit.call("echo", { message: "from an MCP server" }); // found by name, wherever it is
console.log(await greeting.text(), await echo.text());
await toolkit.close();
// #endregion

if ((await greeting.text()) !== "Hello, Ada!" || !(await echo.text()).includes("from an MCP server"))
  process.exitCode = 1;
