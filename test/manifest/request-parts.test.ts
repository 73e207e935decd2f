import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ArgumentSlot, HttpOperation, ValueTemplate } from "../../src/manifest/http/http-operation.ts";
import { requestBody, requestHeaders } from "../../src/manifest/http/request-message.ts";
import { requestUrl } from "../../src/manifest/http/request-url.ts";
import { verifies } from "../support/verifies.ts";

const plain: HttpOperation = {
  name: "colors",
  method: "GET",
  url: { origin: ["https://api.example.com"], isOwn: true, path: ["/"], query: [] },
  parameters: [],
  headers: {},
  answer: { reading: "declared", redact: [], maxBytes: 1_000, maxBytesField: "http.max_bytes" },
  secrets: [],
  isRepeatable: true,
};

type Style = Pick<ArgumentSlot, "style" | "explode">;

function inPath(slot: Style, color: unknown): string {
  const path: ValueTemplate = ["/", { argument: ["color"], ...slot }];
  return requestUrl({ ...plain, url: { ...plain.url, path } }, { color }).pathname.slice(1);
}

function inQuery(slot: Style, color: unknown): string {
  const value: ValueTemplate = [{ argument: ["color"], ...slot }];
  const url = requestUrl({ ...plain, parameters: [{ in: "query", name: "color", value }] }, { color });
  return url.search.slice(1);
}

describe("an argument by its style", () => {
  const list = ["blue", "black", "brown"];
  const object = { R: 100, G: 200, B: 150 };

  test.each([
    [{ style: "simple" }, "blue", "blue"],
    [{ style: "simple" }, list, "blue,black,brown"],
    [{ style: "simple" }, object, "R,100,G,200,B,150"],
    [{ style: "simple", explode: true }, object, "R=100,G=200,B=150"],
    [{ style: "label" }, "blue", ".blue"],
    [{ style: "label" }, list, ".blue,black,brown"],
    [{ style: "label", explode: true }, list, ".blue.black.brown"],
    [{ style: "label", explode: true }, object, ".R=100.G=200.B=150"],
    [{ style: "matrix" }, "blue", ";color=blue"],
    [{ style: "matrix" }, list, ";color=blue,black,brown"],
    [{ style: "matrix", explode: true }, list, ";color=blue;color=black;color=brown"],
    [{ style: "matrix" }, object, ";color=R,100,G,200,B,150"],
    [{ style: "matrix", explode: true }, object, ";R=100;G=200;B=150"],
  ] as const)("in a path: %j of %j", (slot, color, expected) => {
    expect(inPath(slot, color)).toBe(expected);
  });

  test.each([
    [{ style: "form" }, "", "color="],
    [{ style: "form" }, "a&b", "color=a%26b"],
    [{ style: "form" }, list, "color=blue&color=black&color=brown"],
    [{ style: "form", explode: false }, list, "color=blue,black,brown"],
    [{ style: "form" }, object, "R=100&G=200&B=150"],
    [{ style: "form", explode: false }, object, "color=R,100,G,200,B,150"],
    [{ style: "form" }, [], ""],
    [{ style: "spaceDelimited" }, list, "color=blue%20black%20brown"],
    [{ style: "pipeDelimited" }, list, "color=blue%7Cblack%7Cbrown"],
    [{ style: "deepObject" }, object, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"],
    [{ style: "json" }, "blue", "color=%22blue%22"],
    [{ style: "plain" }, object, "color=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D"],
  ] as const)("in a query: %j of %j", (slot, color, expected) => {
    expect(inQuery(slot, color)).toBe(expected);
  });

  verifies("W1", "in a cookie, beside one of the operator", () => {
    const value: ValueTemplate = [{ argument: ["a"], style: "form" }];
    const operation: HttpOperation = {
      ...plain,
      headers: { cookie: "own=1" },
      parameters: [
        { in: "cookie", name: "a", value },
        { in: "cookie", name: "b", value: [{ argument: ["none"] }] },
      ],
    };
    expect(requestHeaders(operation, { a: "x; own=2" }, undefined).cookie).toBe("a=x%3B%20own%3D2; own=1");
  });
});

describe("any argument", () => {
  const pieces = fc.constantFrom(
    "..",
    ".",
    "/",
    "\\",
    "%2e",
    "%2f",
    "%25",
    ";",
    "?",
    "&",
    "=",
    "#",
    "@",
    ":",
    "a",
    "\r\n",
    "\ud800",
  );
  const odd = fc.oneof(
    fc.array(pieces, { maxLength: 6 }).map((parts) => parts.join("")),
    fc.string({ unit: "grapheme" }),
  );

  verifies("W1", "is one segment of a path, or refused", () => {
    const slot = { argument: ["value"] };
    const url = { ...plain.url, path: ["/users/", slot, "/files"] };
    fc.assert(
      fc.property(odd, (value) => {
        let made: URL;
        try {
          made = requestUrl({ ...plain, url }, { value });
        } catch (error) {
          expect(error).toMatchObject({ code: "INVALID_INPUT" });
          return;
        }
        const [, users, segment = "", files, ...more] = made.pathname.split("/");
        expect([made.origin, users, decodeURIComponent(segment), files, more, made.search, made.hash]).toEqual([
          "https://api.example.com",
          "users",
          value,
          "files",
          [],
          "",
          "",
        ]);
      }),
    );
  });

  verifies("W1", "is one value of a query, or refused, and never a host of another domain", () => {
    const value: ValueTemplate = [{ argument: ["value"] }];
    const query: ValueTemplate = ["fixed=1&b=", ...value];
    const parameters = [{ in: "query", name: "a", value } as const];
    const origin: ValueTemplate = ["https://", { argument: ["host"] }, ".example.com"];
    fc.assert(
      fc.property(odd, odd, (text, host) => {
        const input = { value: text, host };
        try {
          const made = requestUrl({ ...plain, url: { ...plain.url, query }, parameters }, input);
          const all = [...made.searchParams];
          expect(all).toEqual([
            ["fixed", "1"],
            ["b", text],
            ["a", text],
          ]);
        } catch (error) {
          expect(error).toMatchObject({ code: "INVALID_INPUT" });
        }
        try {
          const made = requestUrl({ ...plain, url: { ...plain.url, origin, isOwn: false } }, input);
          expect(made.hostname).toMatch(/\.example\.com$/);
          expect([made.pathname, made.username, made.port]).toEqual(["/", "", ""]);
        } catch (error) {
          expect(error).toMatchObject({ code: "INVALID_INPUT" });
        }
      }),
    );
  });
});

describe("a header", () => {
  verifies("W1", "is left out where its name belongs to the connection, or is none", () => {
    const parameters = ["Host", "content-length", "x\r\ny", "x-own"].map(
      (name): HttpOperation["parameters"][number] => ({ in: "header", name, value: ["1"] }),
    );
    const headers = requestHeaders({ ...plain, parameters }, {}, undefined);
    expect(Object.keys(headers).sort()).toEqual(["accept", "accept-encoding", "user-agent", "x-own"]);
  });
});

describe("a body", () => {
  const bodyOf = (mediaType: string, value: unknown, fields = {}) =>
    requestBody({ ...plain, body: { mediaType, value: () => value, fields } }, {});

  verifies("W1", "is JSON, a text, bytes or a form", async () => {
    expect(await bodyOf("application/merge-patch+json", "a")).toEqual({
      type: "application/merge-patch+json",
      content: '"a"',
    });
    expect(await bodyOf("text/plain", "a")).toEqual({ type: "text/plain", content: "a" });
    const bytes = new Uint8Array([1, 2]);
    expect(await bodyOf("application/octet-stream", bytes)).toMatchObject({ content: bytes });
    expect(await bodyOf("text/plain", undefined)).toBeUndefined();
    const form = { a: "x y&z", b: [1, 2], c: { d: 1 }, e: null, f: ["u", "v"] };
    const fields = { f: { explode: false } };
    expect(await bodyOf("application/x-www-form-urlencoded", form, fields)).toMatchObject({
      content: "a=x+y%26z&b=1&b=2&c=%7B%22d%22%3A1%7D&f=u,v",
    });
  });

  verifies("W1", "of several parts has files, and its boundary in its type", async () => {
    const value = { note: "a\r\nb", meta: { a: 1 }, file: new Uint8Array([104, 105]), list: ["x", "y"], none: null };
    const fields = { meta: { mediaType: "application/json" }, file: { mediaType: "text/plain" } };
    const body = await bodyOf("multipart/form-data", value, fields);
    const form = await new Response(body?.content as Uint8Array<ArrayBuffer>, {
      headers: { "content-type": body?.type ?? "" },
    }).formData();
    expect([...form.keys()]).toEqual(["note", "meta", "file", "list", "list"]);
    expect(form.get("note")).toBe("a\r\nb");
    expect(await (form.get("meta") as Blob).text()).toBe('{"a":1}');
    expect(form.get("file")).toMatchObject({ name: "file", type: "text/plain" });
    expect(form.getAll("list")).toEqual(["x", "y"]);
  });
});
