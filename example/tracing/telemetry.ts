/**
 * What a service does with `new NodeSDK({ traceExporter }).start()` of `@opentelemetry/sdk-node`, from its parts: each span goes to a
 * collector when it ends, a context stays active across awaits, and is carried on in the form of W3C.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { w3cPropagator } from "./w3c.ts";

/** A span as it is collected. */
export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly id: string;
  readonly parentId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Registers the parts of the SDK in this process. */
export function startTelemetry(service: string, collect: (span: CollectedSpan) => void): void {
  const exporter = {
    export(spans: readonly ReadableSpan[], done: (result: { readonly code: number }) => void) {
      for (const span of spans) collect(collected(service, span));
      done({ code: 0 });
    },
    shutdown: async () => undefined,
  };
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(w3cPropagator);
}

function collected(service: string, span: ReadableSpan): CollectedSpan {
  const { traceId, spanId } = span.spanContext();
  const { name, attributes, parentSpanContext } = span;
  return { service, name, traceId, id: spanId, parentId: parentSpanContext?.spanId, attributes };
}

/** Sends spans to a collector. */
export function sendTo(url: string): (span: CollectedSpan) => void {
  return (span) => void fetch(url, { method: "POST", body: JSON.stringify(span) });
}

/** Takes spans of any process over HTTP. */
export class Collector {
  readonly spans: CollectedSpan[] = [];
  readonly collect = (span: CollectedSpan): void => {
    this.spans.push(span);
    for (const wake of this.#waiting.splice(0)) wake();
  };
  readonly #server = createServer(async (request, response) => {
    this.collect(JSON.parse(Buffer.concat(await request.toArray()).toString()));
    response.end();
  });
  #waiting: (() => void)[] = [];

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when so many have come. */
  async until(count: number): Promise<void> {
    while (this.spans.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
