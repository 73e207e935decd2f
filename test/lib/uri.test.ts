import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dereferencedUri, lenientUri, normalUri, uriKey } from "../../src/lib/uri.ts";
import { verifies } from "../support/verifies.ts";

const secret = "file:///secret";
const same = [
  "FILE:///secret",
  "file:///%73ecret",
  "file:///a/../secret",
  "file:///a//../secret",
  "file:///a/%2e%2E/secret",
  "file:///./secret",
  "file:///../secret",
  "file:/secret",
  "file://localhost/secret",
  "file://LOCALHOST/secret",
];
const sameKey = ["file:////secret", "file://///./secret"];
const lenient = [
  "file:///%2Fsecret",
  "file:///a%2F..%2Fsecret",
  "file:///a%252F..%252Fsecret",
  "file:///a\\..\\secret",
  "file:\\\\\\secret",
  " file:///secret ",
  "file:///sec\tret",
  "file:///secret%00",
  "file:///a/.\n./secret",
  "file://@/secret",
  "file:///x?/../secret",
  "file:///x#/../secret",
];

describe("a URI", () => {
  for (const uri of same) {
    verifies("N10", `${JSON.stringify(uri)} has the normal form of ${secret}`, () =>
      expect(normalUri(uri)).toBe(secret),
    );
  }
  for (const uri of [...same, ...sameKey]) {
    verifies("N10", `${JSON.stringify(uri)} has the key of ${secret}`, () => expect(uriKey(uri)).toBe(secret));
  }
  for (const uri of [...same, ...sameKey, ...lenient]) {
    verifies("N10", `${JSON.stringify(uri)} may be read as ${secret}`, () => expect(lenientUri(uri)).toBe(secret));
  }

  const others: readonly (readonly [uri: string, normal: string])[] = [
    ["demo:x", "demo:x"],
    ["DEMO:X", "demo:X"],
    ["demo:a/../b", "demo:b"],
    ["demo:..", "demo:"],
    ["urn:isbn:0451450523", "urn:isbn:0451450523"],
    ["file:///a%2fb", "file:///a%2Fb"],
    ["file:///a/b/..", "file:///a/"],
    ["file:///a/.", "file:///a/"],
    ["file:///100%", "file:///100%"],
    ["file:///C:/a", "file:///C:/a"],
    ["HTTP://Example.COM:80", "http://example.com/"],
    ["https://Example.com:443/A?b=C#D", "https://example.com/A?b=C#D"],
    ["https://user:Pw@Example.com:8443/", "https://user:Pw@example.com:8443/"],
    ["http://[::1]:80/", "http://[::1]/"],
    ["https://e.com/a//b?c=//d/../e#/./f", "https://e.com/a//b?c=//d/../e#/./f"],
    // The host of a scheme of one's own is as its server likes.
    ["greeting://Ada", "greeting://Ada"],
    ["text:Z%C3%BCrich", "text:Z%C3%BCrich"],
    ["text:Zürich", "text:Zürich"],
  ];
  test.each(others)("%j has the normal form %j", (uri, normal) => expect(normalUri(uri)).toBe(normal));

  test.each(["", "a", "a.b", "c:/a", "/a/../b", ":", "*:x", "#"])("%j is none, and stays as it is", (text) => {
    for (const form of [normalUri, uriKey, lenientUri]) expect(form(text)).toBe(text);
  });

  test.each([
    ["http:/h/x", "http://h/x"],
    ["http:\\\\H./x", "http://h/x"],
    ["http:////h:80/x", "http://h/x"],
    ["http://me@h/x", "http://h/x"],
    ["memo://MAP/%C3%BC", "memo://map/ü"],
    ["memo://a%2F..%2FMap", "memo://map"],
    ["memo://a/../Map/B", "memo://map/B"],
    ["user://ada@Example.com", "user://ada@example.com"],
    ["memo://a/\ud800", "memo://a/\ufffd"],
  ])("%j may be read as %j", (uri, read) => expect(lenientUri(uri)).toBe(read));

  test.each([
    ["file:///a?b#c", "file:///a"],
    ["https://h/a?b#c", "https://h/a?b"],
    ["memo:a", "memo:a"],
  ])("%j is asked for as %j", (uri, asked) => expect(dereferencedUri(uri)).toBe(asked));

  const piece = fc.constantFrom(
    "file:",
    "http:",
    "demo:",
    "//",
    "/",
    "..",
    ".",
    "a",
    "B",
    "%2e",
    "%2F",
    "%",
    "?",
    "#",
    "@",
    ":80",
    "\\",
    "ü",
    " ",
  );
  const uri = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));

  test("has a normal form and a key that are their own", () => {
    fc.assert(
      fc.property(uri, (text) => {
        const normal = normalUri(text);
        expect(normalUri(normal)).toBe(normal);
        expect([uriKey(uriKey(text)), uriKey(normal)]).toEqual([uriKey(text), uriKey(text)]);
      }),
      { numRuns: 2_000 },
    );
  });

  test("takes no time worth naming, however it is made", () => {
    for (const text of [
      "%25".repeat(30_000),
      "/..".repeat(30_000),
      "/".repeat(90_000),
      "@".repeat(90_000),
      "\\".repeat(90_000),
    ]) {
      const long = `file://${text}`;
      expect([normalUri(long), uriKey(long), lenientUri(long)].every((form) => form.length <= long.length + 1)).toBe(
        true,
      );
    }
  });
});
