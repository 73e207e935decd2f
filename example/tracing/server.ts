/** An MCP server that has telemetry of its own: `server.ts <collector> [http]`. Over HTTP it says its URL on stdout. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";
import { context, propagation, SpanKind, trace } from "@opentelemetry/api";
import { z } from "zod";
import { sendTo, startTelemetry } from "./telemetry.ts";

const [collector = "", transportName = "stdio"] = process.argv.slice(2);
startTelemetry("weather server", sendTo(collector));
const tracer = trace.getTracer("weather server");

// #region extract
/** Works on a request as a part of the trace that its caller names in `_meta`. */
function traced<T>(name: string, extra: RequestHandlerExtra<ServerRequest, ServerNotification>, work: () => T): T {
  const caller = propagation.extract(context.active(), extra._meta ?? {});
  const header = extra.requestInfo?.headers.traceparent;
  const attributes = { "test.meta": JSON.stringify(extra._meta ?? {}), "test.header": String(header ?? "") };
  return tracer.startActiveSpan(name, { kind: SpanKind.SERVER, attributes }, caller, (span) => {
    try {
      return work();
    } finally {
      span.end();
    }
  });
}
// #endregion

const server = new McpServer({ name: "weather", version: "1.0.0" });
server.registerTool("forecast", { inputSchema: { city: z.string() } }, ({ city }, extra) =>
  traced("tools/call forecast", extra, () => {
    tracer.startSpan("SELECT forecasts").end();
    return { content: [{ type: "text", text: `Sun in ${city}` }] };
  }),
);
server.registerPrompt("report", { argsSchema: { city: z.string() } }, ({ city }, extra) =>
  traced("prompts/get report", extra, () => ({
    messages: [{ role: "user", content: { type: "text", text: `Write a report on ${city}.` } }],
  })),
);
server.registerResource(
  "map",
  new ResourceTemplate("map://{city}", { list: undefined }),
  {},
  (uri, _variables, extra) => traced("resources/read", extra, () => ({ contents: [{ uri: uri.href, text: "a map" }] })),
);

if (transportName === "http") {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() });
  await server.connect(transport as Transport);
  const http = createServer((request, response) => void transport.handleRequest(request, response));
  http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`));
} else await server.connect(new StdioServerTransport());
