import { describe, expect, test } from "vitest";
import { isContent, isResource } from "../../src/core/resource.ts";
import {
  base64Content,
  bytesContent,
  derivedContent,
  emptyContent,
  jsonContent,
  multipartContent,
  textContent,
  textOf,
} from "../../src/resource/content.ts";
import { defineResource } from "../../src/resource/define.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

describe("text", () => {
  verifies("R1", "a text is text/plain at text:name, in UTF-8", async () => {
    const note = resource.text("note", "Grüße 👋");
    expect(note).toMatchObject({ kind: "resource", name: "note", uri: "text:note", mediaType: "text/plain", size: 12 });
    expect(await note.text()).toBe("Grüße 👋");
    expect(await note.bytes()).toEqual(utf8("Grüße 👋"));
    expect(note.parts).toBeUndefined();
    expect(isContent(note)).toBe(true);
  });

  verifies("R1", "it takes a media type, whose charset is dropped, title, description and meta", () => {
    const meta = { a: 1 };
    const page = resource.text("page", "<p>", {
      mediaType: "text/html; charset=latin1",
      title: "A page",
      description: "To read",
      meta,
    });
    expect(page).toMatchObject({ mediaType: "text/html", title: "A page", description: "To read", meta });
  });

  test("its JSON is parsed where it is some, else INVALID_OUTPUT says what is wrong", async () => {
    expect(await resource.text("a", '{"x":1}').json()).toEqual({ x: 1 });
    await expect(resource.text("a", "hello").json()).rejects.toMatchObject({
      code: "INVALID_OUTPUT",
      message: expect.stringContaining("is no JSON"),
    });
    await expect(resource.text("a", '{"x":[1e400]}').json()).rejects.toMatchObject({
      code: "INVALID_OUTPUT",
      message: expect.stringContaining("beyond 1.8e308"),
    });
  });

  verifies("R1", "what is no string is INVALID_INPUT", () => {
    expect(() => resource.text("a", 7 as never)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  });
});

describe("JSON", () => {
  verifies("R1", "a JSON content is a snapshot at json:name, parsed afresh each time", async () => {
    const value = { list: [1, 2] };
    const content = resource.json("numbers", value);
    value.list.push(3);
    expect(content).toMatchObject({ uri: "json:numbers", mediaType: "application/json", size: 14 });
    const first = await content.json();
    expect(first).toEqual({ list: [1, 2] });
    first.list.push(9);
    expect(await content.json()).toEqual({ list: [1, 2] });
    expect(await content.text()).toBe('{"list":[1,2]}');
  });

  const cyclic: Record<string, unknown> = { a: [{}] };
  (cyclic.a as unknown[])[0] = { back: cyclic };
  const refused: readonly (readonly [string, unknown, string, string])[] = [
    ["a BigInt", { "a/b": [0, 1n] }, "/a~1b/1", "BigInt"],
    ["a cycle", cyclic, "/a/0/back", "cycle"],
    ["a function", () => 1, "", "function"],
    ["a symbol", Symbol("s"), "", "symbol"],
    ["undefined", undefined, "", "undefined"],
    [
      "a getter that throws",
      {
        get x() {
          throw new Error("broken");
        },
      },
      "/x",
      "broken",
    ],
    [
      "a toJSON that throws",
      {
        x: {
          toJSON() {
            throw new Error("no way");
          },
        },
      },
      "/x",
      "no way",
    ],
    ["a toJSON that gives nothing", { toJSON: () => undefined }, "", "undefined"],
  ];
  for (const [what, value, pointer, message] of refused) {
    verifies("C3", `${what} is INVALID_OUTPUT naming ${JSON.stringify(pointer)}`, () => {
      expect(() => resource.json("bad", value)).toThrow(
        expect.objectContaining({
          code: "INVALID_OUTPUT",
          message: expect.stringContaining(message),
          details: { issues: [{ pointer, message: expect.stringContaining(message) }] },
        }),
      );
    });
  }

  test("a value nested too deep for JSON.stringify is INVALID_OUTPUT, not a crash", async () => {
    const levels = 200_000;
    let deep: unknown = 0;
    for (let level = 0; level < levels; level++) deep = [deep];
    // That of Node 26 writes such a value.
    const isWritable = Number(process.versions.node.split(".")[0]) >= 26;
    if (isWritable) {
      const content = resource.json("deep", deep);
      expect(await content.text()).toBe(`${"[".repeat(levels)}0${"]".repeat(levels)}`);
      expect(Array.isArray(await content.json())).toBe(true);
    } else {
      expect(() => resource.json("deep", deep)).toThrow(expect.objectContaining({ code: "INVALID_OUTPUT" }));
    }
  });

  test("a value used twice is no cycle", async () => {
    const shared = { x: 1 };
    expect(await resource.json("twice", { a: shared, b: shared }).text()).toBe('{"a":{"x":1},"b":{"x":1}}');
  });

  test("a key named __proto__ is only a key", async () => {
    const value = JSON.parse('{"__proto__":{"polluted":true}}') as object;
    const json = (await resource.json("proto", value).json()) as { polluted?: boolean };
    expect(Object.keys(json)).toEqual(["__proto__"]);
    expect(json.polluted).toBeUndefined();
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe("bytes", () => {
  verifies("R1", "data copies what it is given and hands out copies", async () => {
    const given = new Uint8Array([0, 1, 2, 255]);
    const content = await resource.data("blob", given);
    given[0] = 9;
    const bytes = await content.bytes();
    expect(bytes).toEqual(new Uint8Array([0, 1, 2, 255]));
    bytes[1] = 9;
    expect(await content.bytes()).toEqual(new Uint8Array([0, 1, 2, 255]));
    expect(content).toMatchObject({ uri: "data:blob", mediaType: "application/octet-stream", size: 4 });
  });

  test("a Buffer, which shares memory with its slices, is copied too", async () => {
    const given = Buffer.from([0, 1, 255]);
    const content = await resource.data("blob", given);
    given[0] = 9;
    expect([...(await content.bytes())]).toEqual([0, 1, 255]);
    const own = bytesContent(Buffer.from([0, 1, 255]), { name: "own" });
    (await own.bytes())[0] = 9;
    expect([...(await own.bytes())]).toEqual([0, 1, 255]);
  });

  verifies("R2", "text() of bytes that are no text is INVALID_OUTPUT", async () => {
    const content = await resource.data("blob", new Uint8Array([0xff, 0xfe, 0xfd]), { mediaType: "image/x-thing" });
    await expect(content.text()).rejects.toMatchObject({
      code: "INVALID_OUTPUT",
      message: expect.stringContaining("bytes()"),
    });
  });

  test("text() of bytes that are text decodes them", async () => {
    expect(await bytesContent(utf8("é"), { name: "a" }).text()).toBe("é");
    expect(await bytesContent(new Uint8Array([0xe9]), { name: "a", mediaType: "x/y; charset=latin1" }).text()).toBe(
      "é",
    );
  });

  verifies("R1", "what is no bytes is INVALID_INPUT", async () => {
    await expect(resource.data("a", "text" as never)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  test("base64 is decoded when it is asked for", async () => {
    const content = base64Content("AAEC/w==", { name: "a" });
    expect(content.toJSON().base64).toBe("AAEC/w==");
    expect(content.size).toBe(4);
    expect([...(await content.bytes())]).toEqual([0, 1, 2, 255]);
    expect(content.toJSON().base64).toBe("AAEC/w==");
  });
});

describe("nothing and several", () => {
  verifies("C3", "nothing is text/plain of size 0", async () => {
    const empty = emptyContent({ name: "none" });
    expect(empty).toMatchObject({ mediaType: "text/plain", size: 0 });
    expect(await empty.text()).toBe("");
    expect(await empty.bytes()).toEqual(new Uint8Array());
    await expect(empty.json()).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
  });

  verifies(
    "C4",
    "a multipart has parts; its text joins those that are text, its JSON is that of its one JSON part",
    async () => {
      const parts = [
        textContent("one", { name: "a" }),
        bytesContent(new Uint8Array([1, 2]), { name: "b" }),
        jsonContent({ x: 1 }, { name: "c" }),
        multipartContent([textContent("é", { name: "e" })], { name: "d" }),
      ];
      const content = multipartContent(parts, { name: "all" });
      expect(content).toMatchObject({ uri: "multipart:all", mediaType: "multipart/mixed" });
      expect(content.parts).toEqual(parts);
      expect(await content.text()).toBe('one\n{"x":1}\né');
      expect(await content.bytes()).toEqual(utf8('one\n{"x":1}\né'));
      expect(content.size).toBe((await content.bytes()).length);
      expect(await content.json()).toEqual({ x: 1 });
    },
  );

  verifies("C4", "no JSON part, or two, is INVALID_OUTPUT which says to use parts", async () => {
    const one = jsonContent(1, { name: "a" });
    for (const parts of [[], [textContent("1", { name: "a" })], [one, one]]) {
      await expect(multipartContent(parts, { name: "all" }).json()).rejects.toMatchObject({
        code: "INVALID_OUTPUT",
        message: expect.stringContaining("Use its parts"),
      });
    }
  });

  test("its list of parts cannot be changed", () => {
    const parts = [textContent("a", { name: "a" })];
    const content = multipartContent(parts, { name: "all" });
    parts.length = 0;
    expect(content.parts).toHaveLength(1);
    expect(Object.isFrozen(content.parts)).toBe(true);
  });

  test("textOf gives text at once, and nothing for bytes", () => {
    const text = textContent("a", { name: "a" });
    const bytes = bytesContent(utf8("a"), { name: "b" });
    expect(textOf(text)).toBe("a");
    expect(textOf(bytes)).toBeUndefined();
    expect(textOf(multipartContent([bytes], { name: "c" }))).toBeUndefined();
    expect(textOf(derivedContent(multipartContent([text, bytes, text], { name: "c" }), { name: "d" }))).toBe("a\na");
  });
});

test("an aborted signal rejects with its reason, loaded or not", async () => {
  const signal = AbortSignal.abort(new Error("stop"));
  const text = textContent("a", { name: "a" });
  for (const content of [
    text,
    bytesContent(new Uint8Array(), { name: "a" }),
    multipartContent([text], { name: "m" }),
  ]) {
    await expect(content.text({ signal })).rejects.toBe(signal.reason);
    await expect(content.bytes({ signal })).rejects.toBe(signal.reason);
    await expect(content.json({ signal })).rejects.toBe(signal.reason);
  }
});

describe("names and URIs", () => {
  verifies("R1", "constructor names are identifiers", async () => {
    const invalid = expect.objectContaining({ code: "INVALID_NAME" });
    for (const name of ["", "a b", "a.b", "v1.2", ".csv", "-a", "a b.csv", "ä", "a".repeat(65)]) {
      expect(() => resource.text(name, "")).toThrow(invalid);
      expect(() => resource.json(name, 1)).toThrow(invalid);
      await expect(resource.data(name, new Uint8Array())).rejects.toEqual(invalid);
      await expect(resource.from(name, 1)).rejects.toEqual(invalid);
    }
  });

  verifies(
    "R1",
    "they may begin with a digit or _, or be the name of a file, whose extension says the type",
    async () => {
      expect(resource.text("2024", "x")).toMatchObject({ name: "2024", uri: "text:2024", mediaType: "text/plain" });
      expect(resource.json("_a", 1)).toMatchObject({ name: "_a", uri: "json:_a" });
      const table = { name: "table", uri: "data:table", mediaType: "text/csv" };
      expect(await resource.data("table.csv", Buffer.from("a;b"))).toMatchObject(table);
      expect(await resource.from("table.csv", Buffer.from("a;b"))).toMatchObject(table);
      const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
      expect(await resource.data("table.csv", png)).toMatchObject({ name: "table", mediaType: "image/png" });
      expect(await resource.data("model.onnx", new Uint8Array([1, 0]))).toMatchObject({
        name: "model",
        mediaType: "application/octet-stream",
      });
      expect(await resource.data("a.csv", Buffer.from("a"), { mediaType: "text/x-a" })).toMatchObject({
        mediaType: "text/x-a",
      });
      expect(resource.text("notes.md", "# Hi")).toMatchObject({
        name: "notes",
        uri: "text:notes",
        mediaType: "text/markdown",
      });
      expect(resource.text("photo.png", "Hi")).toMatchObject({ name: "photo", mediaType: "text/plain" });
      expect(resource.json("graph.jsonld", {})).toMatchObject({ name: "graph", mediaType: "application/ld+json" });
      expect(resource.json("table.csv", {})).toMatchObject({ name: "table", mediaType: "application/json" });
      async function* stream() {
        yield Buffer.from("a;b");
      }
      expect(await resource.read(stream(), { name: "table.csv" })).toMatchObject(table);
      expect(await resource.from("table.csv", new Blob(["a;b"]))).toMatchObject({
        name: "table",
        mediaType: "text/csv",
      });
      expect(await resource.from("other.txt", resource.text("note", "x"))).toMatchObject({
        name: "other",
        uri: "text:note",
      });
      const defined = defineResource({ uri: "test:a", name: "log.json", bytes: () => "{}" });
      expect(defined).toMatchObject({ name: "log", mediaType: "application/json" });
    },
  );

  verifies("R1", "such a resource is listed and read", async () => {
    await using toolkit = new Toolkit();
    toolkit.add(resource.text("2024", "a year"), await resource.data("_t.csv", Buffer.from("a;b")));
    expect((await toolkit.list({ kind: "resource" })).entries.map(({ ref }) => ref)).toEqual([
      "data:_t#builtin",
      "text:2024#builtin",
    ]);
    expect(await (await toolkit.read("text:2024")).text()).toBe("a year");
  });

  verifies("R1", "withUri keeps everything but the URI; without a scheme it is INVALID_NAME", async () => {
    const note = resource.json("note", { x: 1 }, { title: "Note", description: "d", meta: { m: 1 } });
    const moved = resource.withUri(note, "notes://1");
    expect(moved).toMatchObject({ uri: "notes://1", name: "note", title: "Note", description: "d", meta: { m: 1 } });
    expect(moved).toMatchObject({ mediaType: "application/json", size: 7, parts: undefined });
    expect(isContent(moved)).toBe(true);
    expect(await moved.json()).toEqual({ x: 1 });
    expect(await moved.text()).toBe('{"x":1}');
    expect(await moved.bytes()).toEqual(utf8('{"x":1}'));
    expect(moved.toJSON()).toEqual({ ...note.toJSON(), uri: "notes://1" });
    expect(note.uri).toBe("json:note");
    for (const uri of ["notes", "", "C:\\notes", "x:"]) {
      expect(() => resource.withUri(note, uri)).toThrow(expect.objectContaining({ code: "INVALID_NAME" }));
    }
  });

  verifies("R1", "withDescription changes the description alone", () => {
    const note = resource.withDescription(resource.text("note", "hi"), "What to buy");
    expect(note).toMatchObject({ description: "What to buy", name: "note", uri: "text:note" });
    expect(() => resource.withDescription({ ...note } as never, "x")).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT" }),
    );
  });

  verifies("R1", "from goes by the type of the value", async () => {
    expect(await resource.from("a", "hi")).toMatchObject({ uri: "text:a", mediaType: "text/plain" });
    expect(await resource.from("a", { x: 1 })).toMatchObject({ uri: "json:a", mediaType: "application/json" });
    expect(await resource.from("a", null)).toMatchObject({ uri: "json:a" });
    expect(await resource.from("a", new Uint8Array([0]).buffer)).toMatchObject({ uri: "data:a", size: 1 });
    expect(await resource.from("a", new Blob(["hi"], { type: "text/html" }))).toMatchObject({
      uri: "data:a",
      mediaType: "text/html",
    });
    const other = await resource.from("a", resource.text("b", "hi"));
    expect(other).toMatchObject({ name: "a", uri: "text:b" });
    expect(isResource(other)).toBe(true);
    await expect(resource.from("a", undefined)).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
  });
});
