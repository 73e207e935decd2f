// One of several processes that serve one endpoint. It says its port to the process that started it.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { defineTool, Toolkit } from "toolweave";
import { createMcpHandler } from "toolweave/server";
import { postgresStore } from "toolweave/stores/postgres";
import { z } from "zod";

const env = process.env;

// #region replica
const book = defineTool({
  name: "book",
  description: "Books a table.",
  run: async (_input, context) => {
    const answer = await context.elicit("In which city?", z.object({ city: z.string() }));
    return `A table in ${answer.content?.city ?? "no city"}`;
  },
});
const note = defineTool({
  name: "note",
  description: "Keeps a prompt.",
  input: z.object({ name: z.string(), text: z.string() }),
  run: ({ name, text }, { session }) => toolkit.user.putPrompt(`---\nname: ${name}\n---\n${text}`, { session }),
});

const toolkit: Toolkit = new Toolkit({
  items: [book, note],
  store: postgresStore({ connectionString: env.DATABASE_URL }),
});
await toolkit.start();
const handler = createMcpHandler(toolkit, {
  tokens: { ada: env.ADA_TOKEN ?? "" },
  // The same for all replicas: each opens the requestState that another has sealed.
  stateKey: env.STATE_KEY,
});
const server = createServer(handler.node).listen(0, "127.0.0.1");
// #endregion

server.once("listening", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", async () => {
  await handler.close();
  server.close();
  await toolkit.close();
});
