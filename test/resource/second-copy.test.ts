import { expect, test, vi } from "vitest";
import { isContent } from "../../src/core/resource.ts";
import { textOf } from "../../src/resource/content.ts";
import { jsonValueOf, toContent } from "../../src/resource/normalise.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { verifies } from "../support/verifies.ts";

// As when two versions of the package are installed.
vi.resetModules();
const other = (await import("../../src/resource/resource-factory.ts")).resource;
const otherContent = await import("../../src/resource/content.ts");

test("the copies are two", () => {
  expect(other).not.toBe(resource);
});

verifies("R1", "a resource of another copy is recognised by its brand and taken as it is", async () => {
  const note = other.text("note", "hi");
  expect(isContent(note)).toBe(true);
  expect(toContent(note, { name: "result" })).toBe(note);
  expect(textOf(note)).toBe("hi");
  const moved = resource.withUri(note, "notes:1");
  expect(await moved.text()).toBe("hi");
  expect(moved.toJSON()).toMatchObject({ uri: "notes:1", text: "hi" });
  const both = toContent([note, resource.text("a", "ho")], { name: "result" }) as typeof note;
  expect(await both.text()).toBe("hi\nho");
  expect(resource.fromJSON(JSON.parse(JSON.stringify(both))).toJSON()).toEqual(both.toJSON());
});

test("its JSON and parts are read through its public face", async () => {
  const json = other.json("a", { x: 1 });
  expect(jsonValueOf(json)).toEqual({ x: 1 });
  const bytes = otherContent.bytesContent(new Uint8Array([1]), { name: "b" });
  expect(textOf(bytes)).toBeUndefined();
  const parts = otherContent.multipartContent([json, bytes], { name: "m" });
  expect(textOf(parts)).toBe('{"x":1}');
  await expect(jsonValueOf(parts)).resolves.toEqual({ x: 1 });
});
