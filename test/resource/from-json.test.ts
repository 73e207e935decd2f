import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Content } from "../../src/core/resource.ts";
import { bytesContent, emptyContent, jsonContent, multipartContent, textContent } from "../../src/resource/content.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { verifies } from "../support/verifies.ts";

async function expectSame(actual: Content, expected: Content): Promise<void> {
  for (const key of ["kind", "name", "uri", "mediaType", "title", "description", "meta", "size"] as const) {
    expect(actual[key]).toEqual(expected[key]);
  }
  expect([...(await actual.bytes())]).toEqual([...(await expected.bytes())]);
  expect(await actual.text().catch(() => "no text")).toBe(await expected.text().catch(() => "no text"));
  expect(actual.parts?.length).toBe(expected.parts?.length);
  for (const [index, part] of (actual.parts ?? []).entries())
    await expectSame(part, expected.parts?.[index] as Content);
}

const word = fc.string({ unit: "binary", minLength: 1, maxLength: 12 });
const fields = fc.record(
  {
    name: word,
    uri: word,
    title: fc.string(),
    description: fc.string(),
    // JSON has no -0.
    meta: fc.dictionary(fc.string(), fc.jsonValue()).map((meta) => JSON.parse(JSON.stringify(meta)) as typeof meta),
  },
  { requiredKeys: ["name", "uri"] },
);
const { content } = fc.letrec<{ content: Content; part: Content }>((tie) => ({
  part: fc.oneof(
    fc.tuple(fc.string({ unit: "binary" }), fields).map(([text, own]) => textContent(text, own)),
    fc.tuple(fc.jsonValue(), fields).map(([value, own]) => jsonContent(value, own)),
    fc
      .tuple(fc.uint8Array({ maxLength: 64 }), fields)
      .map(([bytes, own]) => bytesContent(bytes, { ...own, mediaType: "image/png" })),
    fields.map((own) => emptyContent(own)),
  ),
  content: fc.oneof(
    { maxDepth: 2 },
    tie("part"),
    fc.tuple(fc.array(tie("content"), { maxLength: 3 }), fields).map(([parts, own]) => multipartContent(parts, own)),
  ),
}));

describe("round trip", () => {
  verifies("R3", "every content comes back equal, its parts too, through the text of its JSON", async () => {
    await fc.assert(
      fc.asyncProperty(content, async (original) => {
        await expectSame(resource.fromJSON(JSON.parse(JSON.stringify(original))), original);
      }),
      { numRuns: 300, seed: 20 },
    );
  });

  verifies("R3", "text is written as text, the rest as base64", async () => {
    expect(resource.text("note", "hi").toJSON()).toEqual({
      kind: "resource",
      name: "note",
      uri: "text:note",
      mediaType: "text/plain",
      text: "hi",
    });
    expect(resource.json("a", { x: 1 }).toJSON()).toMatchObject({ mediaType: "application/json", text: '{"x":1}' });
    const bytes = await resource.data("b", new Uint8Array([0, 255]));
    expect(bytes.toJSON()).toMatchObject({ base64: "AP8=" });
    expect(multipartContent([bytes], { name: "m" }).toJSON()).toMatchObject({ parts: [{ base64: "AP8=" }] });
  });

  test("a key named __proto__ in meta or JSON stays a key", async () => {
    const json =
      '{"kind":"resource","name":"a","uri":"test:a","mediaType":"application/json","meta":{"__proto__":{"p":1}},"text":"{\\"__proto__\\":{\\"p\\":1}}"}';
    const back = resource.fromJSON(JSON.parse(json));
    expect(Object.keys(back.meta ?? {})).toEqual(["__proto__"]);
    expect(Object.keys((await back.json()) as object)).toEqual(["__proto__"]);
    expect(({} as { p?: number }).p).toBeUndefined();
    expect(JSON.stringify(back)).toContain('"meta":{"__proto__":{"p":1}}');
  });

  test("what is inherited counts for nothing: a text hidden behind __proto__ is missing", () => {
    const json = JSON.parse('{"kind":"resource","name":"a","uri":"test:a","mediaType":"text/plain"}') as object;
    Object.setPrototypeOf(json, { text: "inherited" });
    expect(() => resource.fromJSON(json)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  });
});

describe("bad JSON is INVALID_INPUT with a pointer", () => {
  const good = { kind: "resource", name: "a", uri: "test:a", mediaType: "text/plain", text: "hi" };
  const { text: _, ...bodiless } = good;
  const cases: readonly (readonly [unknown, string])[] = [
    [null, ""],
    ["{}", ""],
    [[good], ""],
    [{ ...good, kind: "tool" }, "/kind"],
    [{ ...good, name: 1 }, "/name"],
    [{ ...good, name: undefined }, "/name"],
    [{ ...good, uri: null }, "/uri"],
    [{ ...good, mediaType: 1 }, "/mediaType"],
    [{ ...good, title: 1 }, "/title"],
    [{ ...good, meta: [] }, "/meta"],
    [{ ...good, text: 1 }, "/text"],
    [bodiless, ""],
    [{ ...good, base64: "" }, ""],
    [{ ...bodiless, base64: "a" }, "/base64"],
    [{ ...bodiless, base64: "ab-_" }, "/base64"],
    [{ ...bodiless, parts: {} }, "/parts"],
    [{ ...bodiless, parts: [good, { ...good, uri: 1 }] }, "/parts/1/uri"],
  ];
  for (const [json, pointer] of cases) {
    verifies("R3", `${JSON.stringify(json)} at ${JSON.stringify(pointer)}`, () => {
      expect(() => resource.fromJSON(json)).toThrow(
        expect.objectContaining({
          code: "INVALID_INPUT",
          details: { issues: [expect.objectContaining({ pointer })] },
        }),
      );
    });
  }
});
