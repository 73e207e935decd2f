/** The target that runs a script in a child process. */
export const child = (script: string) => ({ command: process.execPath, args: ["-e", script] });
/** The script of a server that is written by hand, so that it may send anything. `onMessage` has the message `m` and `send`. */
export const server = (
  onMessage: string,
  about = `{ serverInfo: { name: "hand", version: "1" } }`,
  capabilities = "{ tools: {} }",
) => `
const about = ${about}, capabilities = ${capabilities};
const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const m = JSON.parse(line);
  if (m.method === "server/discover") return send({ id: m.id, error: { code: -32601, message: "Method not found" } });
  if (m.method === "initialize") send({ id: m.id, result: { protocolVersion: "2025-06-18", capabilities, ...about } });
  ${onMessage}
});`;
