import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Content } from "../../src/core/resource.ts";
import { derivedContent, isEmptyContent } from "../../src/resource/content.ts";
import { defineResource } from "../../src/resource/define.ts";
import { jsonValueOf, toContent } from "../../src/resource/normalise.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { verifies } from "../support/verifies.ts";

const options = { name: "result" };
const text = resource.text("note", "hi");
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

function now(value: unknown): Content {
  const content = toContent(value, options);
  expect(content).not.toBeInstanceOf(Promise);
  return content as Content;
}

describe("at once, without a promise", () => {
  verifies("C3", "nothing is an empty content", () => {
    const content = now(undefined);
    expect(content).toMatchObject({ name: "result", mediaType: "text/plain", size: 0 });
    expect(isEmptyContent(content)).toBe(true);
    expect(isEmptyContent(now(""))).toBe(false);
  });

  verifies("C3", "a string is text/plain", async () => {
    expect(now("hi")).toMatchObject({ uri: "text:result", mediaType: "text/plain" });
    expect(await now("hi").text()).toBe("hi");
  });

  verifies("C3", "any JSON value is application/json", async () => {
    for (const value of [null, true, 0, [], [1, "a"], {}, { a: { b: null } }]) {
      expect(now(value)).toMatchObject({ uri: "json:result", mediaType: "application/json" });
      expect(await now(value).json()).toEqual(value);
    }
    expect(await now(new Date(0)).json()).toBe("1970-01-01T00:00:00.000Z");
  });

  verifies("C3", "a Content is itself, and Contents in an array are one multipart", () => {
    expect(now(text)).toBe(text);
    expect(now([text])).toBe(text);
    expect(now([text, text])).toMatchObject({ mediaType: "multipart/mixed", parts: [text, text] });
  });

  verifies("C3", "what JSON cannot hold is INVALID_OUTPUT, naming where", () => {
    expect(() => now({ a: 1n })).toThrow(
      expect.objectContaining({
        code: "INVALID_OUTPUT",
        details: { issues: [{ pointer: "/a", message: "is a BigInt" }] },
      }),
    );
    for (const value of [() => 1, Symbol("s"), 1n]) {
      expect(() => now(value)).toThrow(expect.objectContaining({ code: "INVALID_OUTPUT" }));
    }
  });

  test("the URI is the given one", () => {
    expect(toContent("hi", { name: "a", uri: "call:1" })).toMatchObject({ name: "a", uri: "call:1" });
  });

  test("a description, title or media type among the options is not taken for the content's", () => {
    const strange = { name: "a", description: "of the tool", mediaType: "x/y" };
    expect(toContent("hi", strange)).toMatchObject({ description: undefined, mediaType: "text/plain" });
  });
});

describe("bytes", () => {
  verifies("C3", "bytes are sniffed and copied", async () => {
    const given = Buffer.from(png);
    const content = await toContent(given, options);
    given.fill(0);
    expect(content).toMatchObject({ uri: "data:result", mediaType: "image/png", size: png.length });
    expect(Buffer.from(await content.bytes()).equals(png)).toBe(true);
  });

  verifies("C3", "Uint8Array, Buffer, ArrayBuffer and Blob are bytes; text among them becomes text", async () => {
    const bytes = new TextEncoder().encode("héllo");
    for (const value of [bytes, Buffer.from(bytes), bytes.slice().buffer, new Blob([bytes])]) {
      const content = await toContent(value, options);
      expect(content).toMatchObject({ mediaType: "text/plain", size: 6 });
      expect(await content.text()).toBe("héllo");
    }
  });

  test("a view is its own bytes, not those around it", async () => {
    const content = await toContent(new Uint8Array([1, 0, 2, 3]).subarray(1, 3), options);
    expect([...(await content.bytes())]).toEqual([0, 2]);
  });
});

describe("resources", () => {
  verifies(["C3", "K3"], "a handle is loaded", async () => {
    const handle = defineResource({ uri: "test:1", name: "status", title: "Status", bytes: () => '{"a":1}' });
    const content = await toContent(handle, options);
    expect(content).toMatchObject({ name: "status", uri: "test:1", title: "Status", mediaType: "text/plain", size: 7 });
    expect(await toContent([handle, text], options)).toMatchObject({
      parts: [{ uri: "test:1", size: 7 }, { uri: "text:note" }],
    });
  });

  verifies("C3", "a handle that fails rejects with its error", async () => {
    const error = new Error("gone");
    const handle = defineResource({ uri: "test:1", name: "status", bytes: () => Promise.reject(error) });
    await expect(toContent(handle, options)).rejects.toBe(error);
    await expect(toContent([text, handle, handle], options)).rejects.toBe(error);
  });
});

describe("an async iterable of parts", () => {
  async function* parts(...values: readonly unknown[]) {
    yield* values;
  }

  verifies("C3", "each part goes by the same rules and to onPartial as it comes", async () => {
    const seen: string[] = [];
    async function* produce() {
      yield "one";
      seen.push("after one");
      yield { two: 2 };
      seen.push("after two");
      yield png;
    }
    const onPartial = (part: Content) => void seen.push(part.mediaType);
    const content = await toContent(produce(), { ...options, onPartial });
    expect(seen).toEqual(["text/plain", "after one", "application/json", "after two", "image/png"]);
    expect(content).toMatchObject({ name: "result", uri: "multipart:result", mediaType: "multipart/mixed" });
    expect(content.parts).toMatchObject([
      { name: "result-1", uri: "text:result-1" },
      { name: "result-2", uri: "json:result-2" },
      { name: "result-3", uri: "data:result-3" },
    ]);
    expect(await content.text()).toBe('one\n{"two":2}');
  });

  verifies("C3", "none is nothing, one is that one", async () => {
    expect(isEmptyContent(await toContent(parts(), options))).toBe(true);
    expect(await toContent(parts(text), options)).toBe(text);
  });

  verifies(
    "C3",
    "it is closed, and what was thrown comes through, when onPartial throws or a part is not valid",
    async () => {
      let closed = 0;
      async function* produce(value: unknown) {
        try {
          yield value;
          yield "never reached";
        } finally {
          closed++;
        }
      }
      const error = new Error("heard enough");
      const onPartial = () => {
        throw error;
      };
      await expect(toContent(produce("a"), { ...options, onPartial })).rejects.toBe(error);
      expect(closed).toBe(1);
      await expect(toContent(produce({ x: 1n }), options)).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
      expect(closed).toBe(2);
    },
  );

  verifies("C3", "an error of the iterable comes through", async () => {
    const error = new Error("broken");
    async function* produce() {
      yield "a";
      throw error;
    }
    await expect(toContent(produce(), options)).rejects.toBe(error);
  });

  verifies("C6", "an abort rejects with its reason and closes the iterable, even one that never answers", async () => {
    const controller = new AbortController();
    let closed = false;
    const iterable: AsyncIterable<unknown> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        async return() {
          closed = true;
          throw new Error("closing fails, and nobody minds");
        },
      }),
    };
    const result = toContent(iterable, { ...options, signal: controller.signal });
    controller.abort(new Error("stop"));
    await expect(result).rejects.toBe(controller.signal.reason);
    expect(closed).toBe(true);
  });

  verifies("C6", "with an aborted signal nothing is asked for", async () => {
    const signal = AbortSignal.abort(new Error("stop"));
    let asked = 0;
    const iterable = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: ++asked > 1, value: "a" }) }) };
    await expect(toContent(iterable, { ...options, signal })).rejects.toBe(signal.reason);
    expect(asked).toBe(0);
  });
});

describe("the value for a validator", () => {
  test("of plain JSON it is a copy, another one each time, unless it is only read", () => {
    const value = { a: [1, { b: "c" }], d: null };
    const content = now(value);
    const first = jsonValueOf(content);
    expect(first).toStrictEqual(value);
    expect(first).not.toBe(value);
    expect(jsonValueOf(content)).not.toBe(first);
    expect(jsonValueOf(content, true)).toBe(jsonValueOf(content, true));
    expect(jsonValueOf(content, true)).not.toBe(value);
  });

  test("a later change of the object, or of a value that was read, never shows", async () => {
    for (const isRead of [false, true]) {
      const value = { a: 1, inside: { list: [1] } };
      const content = now(value);
      if (isRead) await content.text();
      value.a = 2;
      value.inside.list.push(2);
      const first = (await content.json()) as typeof value;
      first.inside.list.push(3);
      Object.assign(jsonValueOf(content) as object, { a: 4 });
      expect(await content.json()).toStrictEqual({ a: 1, inside: { list: [1] } });
      expect(jsonValueOf(content)).toStrictEqual({ a: 1, inside: { list: [1] } });
      expect(await content.text()).toBe('{"a":1,"inside":{"list":[1]}}');
    }
  });

  test("value and text are those of JSON.stringify, whatever is read first", async () => {
    let reads = 0;
    const counted = {
      get at() {
        return ++reads;
      },
    };
    const content = now(counted);
    expect(await content.json()).toStrictEqual({ at: 1 });
    expect(await content.text()).toBe('{"at":1}');
    expect(reads).toBe(1);
    await fc.assert(
      fc.asyncProperty(
        fc.anything({ withNullPrototype: true, withSparseArray: true, withDate: true }),
        async (inner) => {
          const value = { inner };
          const text = JSON.stringify(value);
          expect(await now(value).text()).toBe(text);
          const read = now(value);
          expect(await read.json()).toStrictEqual(JSON.parse(text));
          expect(jsonValueOf(read)).toStrictEqual(JSON.parse(text));
          expect(await read.text()).toBe(text);
          expect(read.size).toBe(Buffer.byteLength(text));
        },
      ),
    );
  });

  test("a value with one part many times over takes no more memory than its text", async () => {
    let value: unknown = "x".repeat(1_000);
    for (let level = 0; level < 12; level++) value = [value, value];
    const content = now(value);
    expect(jsonValueOf(content, true)).not.toBe(jsonValueOf(content, true));
    expect(content.size).toBe(Buffer.byteLength(JSON.stringify(value)));
  });

  const notPlain: readonly (readonly [string, unknown, unknown])[] = [
    ["a Date", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["undefined members", { a: undefined, b: 1 }, { b: 1 }],
    ["NaN", [Number.NaN], [null]],
    ["holes", new Array(2), [null, null]],
    [
      "a class",
      new (class A {
        x = 1;
      })(),
      { x: 1 },
    ],
    ["a toJSON", { toJSON: () => 5 }, 5],
    ["a hidden property", Object.defineProperty({ a: 1 }, "hidden", { value: 2 }), { a: 1 }],
    ["a Map", { m: new Map([[1, 2]]) }, { m: {} }],
    ["nested functions", { f: () => 1 }, {}],
    ["a symbol as key", { [Symbol("a")]: 1, b: 2 }, { b: 2 }],
    ["a negative zero", [-0], [0]],
    ["a toJSON that is no function", { toJSON: 1 }, { toJSON: 1 }],
    ["a member __proto__", JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}')],
    ["members that are inherited", Object.create({ a: 1 }, { b: { value: 2, enumerable: true } }), { b: 2 }],
  ];
  for (const [what, value, expected] of notPlain) {
    test(`${what}: it is what the JSON says`, () => {
      const seen = jsonValueOf(now(value));
      expect(seen).toStrictEqual(expected);
      expect(seen).not.toBe(value);
    });
  }

  test("an object without prototype is plain, at any depth JSON is read right", () => {
    const bare = Object.assign(Object.create(null), { a: 1 });
    expect(jsonValueOf(now(bare))).toStrictEqual({ a: 1 });
    let deep: unknown = 1;
    for (let level = 0; level < 500; level++) deep = [deep];
    expect(jsonValueOf(now(deep))).toEqual(deep);
  });

  verifies("C3", "of text it is the string, of nothing undefined, of bytes INVALID_OUTPUT", async () => {
    expect(jsonValueOf(text)).toBe("hi");
    expect(jsonValueOf(resource.text("a", "[1]", { mediaType: "application/json" }))).toEqual([1]);
    expect(jsonValueOf(now(undefined))).toBeUndefined();
    expect(jsonValueOf(derivedContent(now(undefined), { name: "b" }))).toBeUndefined();
    const bytes = await resource.data("a", png);
    expect(() => jsonValueOf(bytes)).toThrow(expect.objectContaining({ code: "INVALID_OUTPUT" }));
    expect(() => jsonValueOf(resource.text("a", "{", { mediaType: "application/json" }))).toThrow(
      expect.objectContaining({ code: "INVALID_OUTPUT" }),
    );
  });

  verifies("C3", "of a multipart it is its one JSON part", async () => {
    await expect(jsonValueOf(now([text, resource.json("a", { x: 1 })]))).resolves.toEqual({ x: 1 });
    await expect(jsonValueOf(now([text, text]))).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
  });
});

verifies("C3", "what JSON would make an empty object of is refused, not lost", () => {
  class Hidden {
    readonly #secret = 1;
    reveal = undefined as unknown;
    get secret() {
      return this.#secret;
    }
  }
  const hollow = [new Map([["a", 1]]), new Set([1]), new Error("x"), new Response("x"), (function* () {})()];
  for (const value of hollow) expect(() => toContent(value, { name: "t" })).toThrow(/JSON holds nothing/);
  for (const value of [{}, Object.create(null), new Date(0), new Hidden()]) {
    expect(() => toContent(value, { name: "t" })).not.toThrow();
  }
});
