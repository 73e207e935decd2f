import type { Attributes } from "@opentelemetry/api";
import { withoutUserInfo } from "../call/trace/attributes.ts";
import type { Trace } from "../call/trace/trace.ts";
import type { ServerInfo } from "../core/connection.ts";
import { ToolkitError } from "../core/error.ts";
import type { CallContext } from "../core/item.ts";
import type { Transport } from "./transport/transport.ts";

/** A request that is made for a call. */
export interface TracedRequest {
  readonly method: "tools/call" | "prompts/get" | "resources/read";
  /** Of the tool or prompt, or the URI. */
  readonly target: string;
  readonly context: CallContext | undefined;
  readonly server: ServerInfo;
  readonly transport: Transport;
}

type Meta = CallContext["meta"];

/** The attributes of the target of each method, in the names of the conventions. */
const targetOf = {
  "tools/call": (name: string): Attributes => ({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name }),
  "prompts/get": (name: string): Attributes => ({ "gen_ai.prompt.name": name }),
  "resources/read": (): Attributes => ({}),
};

/**
 * Makes a request of a call that is recorded, with the `_meta` it is to carry: the server learns the trace it is a part of, and the span
 * of the call has the method and the network.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai, Model Context Protocol
 */
export function traced<T>(trace: Trace, request: TracedRequest, send: (meta: Meta) => Promise<T>): Promise<T> {
  const { method, target, context, server, transport } = request;
  const { "mcp.session.id": session, ...network } = transport.network ?? {};
  const common: Attributes = {
    "mcp.method.name": method,
    ...(server.protocolVersion === undefined ? {} : { "mcp.protocol.version": server.protocolVersion }),
    ...network,
  };
  trace.describe({
    ...common,
    ...(session === undefined ? {} : { "mcp.session.id": session }),
    ...(method === "resources/read" ? { "mcp.resource.uri": withoutUserInfo(target) } : {}),
  });
  const ended = trace.request({ ...common, ...targetOf[method](target) });
  return send(trace.inject({ ...context?.meta })).then(
    (answer) => {
      ended({});
      return answer;
    },
    (error) => {
      const status = statusOf(error);
      trace.describe(status);
      ended({ ...status, "error.type": errorType(error) });
      throw error;
    },
  );
}

function statusOf(error: unknown): Attributes {
  const code = ToolkitError.is(error, "REMOTE_ERROR") ? error.details.rpcCode : undefined;
  return code === undefined ? {} : { "rpc.response.status_code": String(code) };
}

/** The conventions name the errors of MCP in their own way. */
function errorType(error: unknown): string {
  if (!ToolkitError.is(error)) return "aborted";
  if (error.code === "TOOL_FAILED") return "tool_error";
  return ToolkitError.is(error, "REMOTE_ERROR") ? String(error.details.rpcCode ?? error.code) : error.code;
}
