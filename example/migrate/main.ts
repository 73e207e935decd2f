// What the pages about migration show. Each file checks its own results.
import "./go.ts";
import "./mcp-client.ts";
import "./mastra.ts";
import "./langchain.ts";

console.log("All four ran.");
