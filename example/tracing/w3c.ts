/** W3C Trace Context in few lines. The SDK for Node (`@opentelemetry/sdk-node`) registers its own, and that of baggage. */
import { createTraceState, isSpanContextValid, type TextMapPropagator, trace } from "@opentelemetry/api";

/** @see https://www.w3.org/TR/trace-context/ */
export const w3cPropagator: TextMapPropagator = {
  fields: () => ["traceparent", "tracestate"],
  inject(context, carrier, { set }) {
    const span = trace.getSpanContext(context);
    if (span === undefined || !isSpanContextValid(span)) return;
    const flags = span.traceFlags.toString(16).padStart(2, "0");
    set(carrier, "traceparent", `00-${span.traceId}-${span.spanId}-${flags}`);
    if (span.traceState !== undefined) set(carrier, "tracestate", span.traceState.serialize());
  },
  extract(context, carrier, { get }) {
    const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(String(get(carrier, "traceparent")));
    const [, traceId, spanId, flags] = match ?? [];
    if (traceId === undefined || spanId === undefined || flags === undefined) return context;
    const state = get(carrier, "tracestate");
    const traceState = typeof state === "string" ? { traceState: createTraceState(state) } : {};
    const traceFlags = Number.parseInt(flags, 16);
    return trace.setSpanContext(context, { traceId, spanId, traceFlags, isRemote: true, ...traceState });
  },
};
