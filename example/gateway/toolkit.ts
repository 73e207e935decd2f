import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineTool, Toolkit } from "toolweave";
import { z } from "zod";

const memory = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-memory/dist/index.js"));
const file = join(mkdtempSync(join(tmpdir(), "gateway-")), "memory.json");

// #region toolkit
export const toolkit = new Toolkit({
  items: [
    defineTool({
      name: "greet",
      description: "Greets a person.",
      input: z.object({ name: z.string() }),
      run: ({ name }) => `Hello, ${name}!`,
    }),
  ],
});
toolkit.addConnector(
  { command: process.execPath, args: [memory], env: { MEMORY_FILE_PATH: file } },
  { namespace: "memory" },
);
// #endregion
