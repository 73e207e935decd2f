import { type FaultyServer, faultyServer } from "../../../src/testing/index.ts";

/** Rows as JSON of about 318,000 characters, on one line. */
export const rows = Array.from({ length: 5_150 }, (_, id) => ({
  id,
  name: `Customer ${id}`,
  city: id % 7 === 0 ? "Bern" : "Genève",
  price: (id * 37) % 1_000,
}));
export const large = JSON.stringify({ rows });

/** An MCP server whose tools have large results. */
export function largeServer(): FaultyServer {
  return faultyServer({
    name: "shop",
    tools: {
      export: { run: () => ({ content: [{ type: "text", text: large }] }) },
      structured: {
        outputSchema: { type: "object" },
        run: () => ({ content: [{ type: "text", text: large }], structuredContent: { rows } }),
      },
      log: {
        run: () => ({
          content: [{ type: "text", text: Array.from({ length: 20_000 }, (_, n) => `${n} ok`).join("\n") }],
        }),
      },
    },
  });
}
