import { expectTypeOf, test } from "vitest";
import type { Content, Resource } from "../../src/core/resource.ts";
import { defineResource } from "../../src/resource/define.ts";
import { resource } from "../../src/resource/resource-factory.ts";

test("a JSON content knows the type of its value", () => {
  const content = resource.json("point", { x: 1 });
  expectTypeOf(content).toEqualTypeOf<Content<{ x: number }>>();
  expectTypeOf(content.json()).resolves.toEqualTypeOf<{ x: number }>();
  expectTypeOf(resource.text("note", "hi")).toEqualTypeOf<Content>();
});

test("under another URI a Content stays a Content and a handle a handle", () => {
  const content = resource.json("point", { x: 1 });
  const handle = defineResource<number>({ uri: "count:reads", name: "counter", bytes: () => "1" });
  expectTypeOf(resource.withUri(content, "points:1")).toEqualTypeOf<Content<{ x: number }>>();
  expectTypeOf(resource.withUri(handle, "count:other")).toEqualTypeOf<Resource<number>>();
  expectTypeOf(resource.withDescription(handle, "Counts").size).toEqualTypeOf<number | undefined>();
});

test("what is no source or no resource does not compile", () => {
  // @ts-expect-error a number is no source
  void (() => resource.read(7));
  // @ts-expect-error a shape alone is no Resource
  void (() => resource.withUri({ name: "a" }, "a:b"));
  // @ts-expect-error bytes are wanted
  void (() => resource.data("a", "text"));
  // @ts-expect-error a resource reads bytes or a string
  void (() => defineResource({ uri: "a:b", name: "a", bytes: () => 7 }));
});
