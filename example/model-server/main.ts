import { equal } from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { agent } from "toolweave/agent";

// #region servers
const assistant = agent({
  models: {
    vllm: { url: "http://gpu.example:8000/v1" },
    router: { url: "https://openrouter.ai/api/v1", apiKey: process.env.OPENROUTER_API_KEY },
    chat: { url: "https://api.openai.com/v1", apiKey: process.env.OPENAI_API_KEY },
  },
  defaultModel: "ollama/qwen3", // at http://localhost:11434, or at OLLAMA_BASE_URL
});
// #endregion servers

// The same with a server of this process in place of Ollama.
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const server = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`${chunk({ content: "Good day." })}${chunk({}, "stop")}data: [DONE]\n\n`);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
process.env.OLLAMA_BASE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const answer = await assistant.generate("Greet me.");
equal(await answer.text(), "Good day.");
console.log(await answer.text());
server.closeAllConnections();
server.close();
