import type { Attributes } from "@opentelemetry/api";
import { callStateOf } from "../call/call-port.ts";
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

/** What the conventions call the target of each method. */
const targetOf = {
  "tools/call": (name: string): Attributes => ({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name }),
  "prompts/get": (name: string): Attributes => ({ "gen_ai.prompt.name": name }),
  "resources/read": (): Attributes => ({}),
};

/** The trace of the call that a request is made for, where somebody looks at it. */
export function traceOf(context: CallContext | undefined): Trace | undefined {
  return callStateOf(context)?.trace;
}

/**
 * Makes a request of a call that somebody looks at, with the `_meta` it is to carry: the far side is told whose part this is, and the span
 * of the call says what was asked over what.
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
