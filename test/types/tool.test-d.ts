import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { CallContext, Content, Entry, ListPage, Prompt, Resource, Tool, ToolkitEvent } from "../../src/index.ts";
import { defineTool, Toolkit } from "../../src/index.ts";

const toolkit = new Toolkit();

test("[I1] zod gives the input before and after its defaults and transforms", () => {
  const forecast = defineTool({
    name: "forecast",
    input: z.object({
      city: z.string(),
      days: z.number().default(1),
      at: z.string().transform((text) => new Date(text)),
    }),
    run: (input, context) => {
      expectTypeOf(input).toEqualTypeOf<{ city: string; days: number; at: Date }>();
      expectTypeOf(context).toEqualTypeOf<CallContext>();
      return { degrees: 20 };
    },
  });
  expectTypeOf(toolkit.call(forecast, { city: "Bern", at: "now" })).resolves.toEqualTypeOf<
    Content<{ degrees: number }>
  >();
  void toolkit.call(forecast, { city: "Bern", days: 2, at: "now" }, { timeoutMs: 10 });
  // @ts-expect-error the city is missing
  void toolkit.call(forecast, { at: "now" });
  // @ts-expect-error a city is text
  void toolkit.call(forecast, { city: 1, at: "now" });
  // @ts-expect-error the input is the one before the transform
  void toolkit.call(forecast, { city: "Bern", at: new Date() });
  // @ts-expect-error an input is wanted
  void toolkit.call(forecast);
  // @ts-expect-error no such option
  void toolkit.call(forecast, { city: "Bern", at: "now" }, { timeout: 10 });
});

test("[I1] valibot, converted, and arktype", () => {
  const greet = defineTool({
    name: "greet",
    input: toStandardJsonSchema(v.object({ name: v.optional(v.string(), "you") })),
    run: ({ name }) => {
      expectTypeOf(name).toEqualTypeOf<string>();
      return [name];
    },
  });
  expectTypeOf(toolkit.call(greet)).resolves.toEqualTypeOf<Content<string[]>>();
  void toolkit.call(greet, {});
  // @ts-expect-error a name is text
  void toolkit.call(greet, { name: 1 });
  const add = defineTool({
    name: "add",
    input: type({ a: "number", "b?": "number" }),
    run: async ({ a, b }) => {
      expectTypeOf(a).toEqualTypeOf<number>();
      expectTypeOf(b).toEqualTypeOf<number | undefined>();
      return { sum: a + (b ?? 0) };
    },
  });
  expectTypeOf(toolkit.call(add, { a: 1 })).resolves.toEqualTypeOf<Content<{ sum: number }>>();
  // @ts-expect-error a is missing
  void toolkit.call(add, { b: 1 });
  // @ts-expect-error plain valibot does not know its JSON Schema: no overload takes its types
  defineTool({ name: "plain", input: v.object({ a: v.string() }), run: ({ a }: { a: string }) => a.length });
});

test("[I1] an output schema types what run gives, and what the caller gets after it", () => {
  const count = defineTool({
    name: "count",
    input: z.object({}),
    output: z.object({ n: z.string().transform(Number).pipe(z.number()) }),
    run: () => ({ n: "1" }),
  });
  expectTypeOf(toolkit.call(count)).resolves.toEqualTypeOf<Content<{ n: number }>>();
  const output = z.object({ n: z.string() });
  // @ts-expect-error n is text
  defineTool({ name: "wrong", input: z.object({}), output, run: () => ({ n: 1 }) });
});

test("[I1] JSON Schema, or none, takes any object unless its type is named", () => {
  const loose = defineTool({
    name: "loose",
    input: { type: "object", properties: { a: { type: "string" } } },
    run: (input) => {
      expectTypeOf(input).toEqualTypeOf<Record<string, unknown>>();
      return "text";
    },
  });
  expectTypeOf(toolkit.call(loose)).resolves.toEqualTypeOf<Content<unknown>>();
  void toolkit.call(loose, { anything: 1 });
  // @ts-expect-error text is no object
  void toolkit.call(loose, "text");
  const named = defineTool({
    name: "named",
    input: { type: "object" },
    run: ({ a }: { a: string }) => ({ length: a.length }),
  });
  expectTypeOf(toolkit.call(named, { a: "x" })).resolves.toEqualTypeOf<Content<{ length: number }>>();
  // @ts-expect-error a is missing
  void toolkit.call(named, {});
  expectTypeOf(toolkit.call(defineTool({ name: "nothing", run: () => {} }))).resolves.toEqualTypeOf<Content<unknown>>();
  // @ts-expect-error a tool needs run
  defineTool({ name: "lazy" });
  // @ts-expect-error a schema is no text
  defineTool({ name: "text", input: "object", run: () => 1 });
});

test("[I1] every tool goes where a tool is wanted, and what is none does not", () => {
  const typed = defineTool({ name: "typed", input: z.object({ a: z.string() }), run: ({ a }) => a });
  const tools: Tool[] = [typed, { kind: "tool", name: "plain", run: () => 1 }];
  toolkit.add(...tools, typed);
  // @ts-expect-error a kind is wanted
  toolkit.add({ name: "plain", run: () => 1 });
  // @ts-expect-error a resource is not called
  void (() => toolkit.call({} as Resource));
  // @ts-expect-error an entry of a resource is not called
  void (() => toolkit.call({} as Entry<"resource">));
  expectTypeOf(toolkit.call("any.name", { a: 1 })).resolves.toEqualTypeOf<Content>();
  expectTypeOf(toolkit.call({} as Entry<"tool">)).resolves.toEqualTypeOf<Content>();
});

test("entries and pages narrow by kind", async () => {
  expectTypeOf(toolkit.lookup("a", { kind: "tool" })).resolves.toEqualTypeOf<Entry<"tool">>();
  expectTypeOf(toolkit.lookup("a")).resolves.toEqualTypeOf<Entry<"tool" | "prompt" | "resource">>();
  expectTypeOf(toolkit.list({ kind: "template" })).resolves.toEqualTypeOf<ListPage<"template">>();
  expectTypeOf(toolkit.list({ kind: ["tool", "prompt"] })).resolves.toEqualTypeOf<ListPage<"tool" | "prompt">>();
  expectTypeOf(toolkit.list()).resolves.toEqualTypeOf<ListPage<"tool" | "prompt" | "resource">>();
  const { entries } = await toolkit.list();
  for (const entry of entries) {
    if (entry.kind === "tool") expectTypeOf(entry.item).toEqualTypeOf<Tool>();
    else if (entry.kind === "prompt") expectTypeOf(entry.item).toEqualTypeOf<Prompt>();
    else expectTypeOf(entry.item).toEqualTypeOf<Resource>();
  }
  // @ts-expect-error no such kind
  void toolkit.list({ kind: "tools" });
  // @ts-expect-error read-only
  void ((page: ListPage) => page.entries.push());
});

test("events know their fields by type", () => {
  toolkit.on("toolListChanged", (event) => {
    expectTypeOf(event.added).toEqualTypeOf<readonly string[]>();
    // @ts-expect-error of another event
    void event.uri;
  });
  toolkit.on("*", (event) => {
    expectTypeOf(event).toEqualTypeOf<ToolkitEvent>();
    if (event.type === "callFinished") expectTypeOf(event.durationMs).toEqualTypeOf<number>();
  });
  // @ts-expect-error no such event
  toolkit.on("toolChanged", () => {});
});
