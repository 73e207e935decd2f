import fc from "fast-check";
import { expect, test } from "vitest";
import { parseKey } from "../../src/catalog/parsed-key.ts";
import { verifies } from "../support/verifies.ts";

const known = (name: string) => ["builtin", "weather", "w"].includes(name);
const parse = (key: string) => parseKey(key, known);
const none = { scopedName: undefined, scopedUri: undefined, name: undefined, uri: undefined };

verifies("N5", "a name splits at its first dot, where a namespace is known before it", () => {
  expect(parse("weather.forecast")).toEqual({ ...none, scopedName: { namespace: "weather", name: "forecast" } });
  expect(parse("weather.a.b")).toEqual({ ...none, scopedName: { namespace: "weather", name: "a.b" } });
  expect(parse("other.forecast")).toEqual({ ...none, name: "other.forecast" });
  expect(parse(".x")).toEqual({ ...none, name: ".x" });
  expect(parse("weather.")).toEqual({ ...none, scopedName: { namespace: "weather", name: "" } });
});

verifies(
  "N4",
  "a URI has a scheme of two characters and something behind it; its last fragment scopes it where it is a namespace",
  () => {
    expect(parse("file:///a#weather")).toEqual({
      ...none,
      scopedUri: { namespace: "weather", uri: "file:///a" },
      name: "file:///a#weather",
    });
    expect(parse("file:///a#b#weather").scopedUri).toEqual({ namespace: "weather", uri: "file:///a#b" });
    expect(parse("file:///a#part")).toEqual({ ...none, name: "file:///a#part", uri: "file:///a#part" });
    for (const name of ["c:/a", "text:", "a:b", ":x", "1a:b", ""]) expect(parse(name)).toEqual({ ...none, name });
    expect(parse("ab:c")).toEqual({ ...none, name: "ab:c", uri: "ab:c" });
  },
);

test("every key can be read, in at least one way, and nothing of it is lost", () => {
  const key = fc.oneof(
    fc.string(),
    fc
      .array(fc.constantFrom("weather", "w", "builtin", ".", "#", ":", "/", "x", "file"), { maxLength: 8 })
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(key, (text) => {
      const { scopedName, scopedUri, name, uri } = parse(text);
      expect([scopedName, scopedUri, name, uri].some((reading) => reading !== undefined)).toBe(true);
      if (scopedName !== undefined) expect(`${scopedName.namespace}.${scopedName.name}`).toBe(text);
      if (scopedUri !== undefined) expect(`${scopedUri.uri}#${scopedUri.namespace}`).toBe(text);
      if (name !== undefined) expect(name).toBe(text);
      if (uri !== undefined) expect(uri).toBe(text);
    }),
  );
});
