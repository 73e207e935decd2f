import { type Context, propagation, type TextMapGetter } from "@opentelemetry/api";

/** What a context is carried in, such as headers or `_meta`. */
export type Carrier = Record<string, unknown>;

/** Whatever else a far caller wrote there is its own. */
const texts: TextMapGetter<Readonly<Carrier>> = {
  keys: (carrier) => Object.keys(carrier),
  get(carrier, key) {
    const value = Object.hasOwn(carrier, key) ? carrier[key] : undefined;
    return typeof value === "string" ? value : undefined;
  },
};

/**
 * Writes a context into a carrier, by the propagators that are registered: `traceparent` and `tracestate`, and `baggage` where that is
 * propagated. What the carrier has under other keys stays.
 */
export function carry(context: Context, carrier: Carrier): void {
  propagation.inject(context, carrier);
}

/** The context that was written into a carrier by a far caller, on top of the one that is there. */
export function contextIn(carrier: Readonly<Carrier> | undefined, context: Context): Context {
  return carrier === undefined ? context : propagation.extract(context, carrier, texts);
}
