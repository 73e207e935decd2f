import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Catalog } from "../../src/catalog/catalog.ts";
import { readDefinition } from "../../src/core/definition.ts";
import { templateOf } from "../../src/core/entry.ts";
import { isUri } from "../../src/core/identifier.ts";
import { defaultKinds, type Entry, type Item, type Kind, type Prompt, type Tool } from "../../src/core/item.ts";
import { ChoosingRules, choosesRef, RefusingRules } from "../../src/core/name-rules.ts";
import { type Resource, resourceBrand } from "../../src/core/resource.ts";
import { uriKey } from "../../src/lib/uri.ts";
import { defineTemplate } from "../../src/resource/define.ts";
import { verifies } from "../support/verifies.ts";

const tool = (name: string): Tool => ({ kind: "tool", name, run: () => name });
const prompt = (name: string): Prompt => ({ kind: "prompt", name, render: async () => ({ messages: [] }) });
/** A resource as a server has it, under any name. */
const text = (uri: string, name = "note"): Resource => ({
  kind: "resource",
  name,
  uri,
  ...{ [resourceBrand]: "handle" },
  bytes: async () => new Uint8Array(),
  text: async () => uri,
  json: async () => uri,
});
const template = (uriTemplate: string, name = "family") => defineTemplate({ name, uriTemplate, read: (uri) => uri });

interface Placed {
  readonly namespace: string;
  readonly item: Item;
}

function catalogOf(items: readonly Placed[], namespaces: readonly string[] = ["a", "b", "a-b"]): Catalog {
  const catalog = new Catalog({ strictNames: false, emit: () => undefined, hasListeners: () => true });
  for (const name of namespaces) catalog.mount(name, {});
  for (const { namespace, item } of items) {
    const put = [{ definition: readDefinition(item, "remote"), item }];
    catalog.change(catalog.namespace(namespace) as never, { put });
  }
  return catalog;
}

const allKinds: readonly Kind[] = ["tool", "prompt", "resource", "template"];
const entriesOf = (catalog: Catalog) => catalog.entries(allKinds);
const refuses = (rule: string, entry: Entry) => new RefusingRules([rule]).ruleFor(entry) === rule;
const chooses = (rule: string, entry: Entry, catalog: Catalog) =>
  new ChoosingRules([rule]).ruleFor(entry, catalog) === rule;
const chosen = (rules: readonly string[], catalog: Catalog) =>
  entriesOf(catalog)
    .filter((entry) => new ChoosingRules(rules).ruleFor(entry, catalog) !== undefined)
    .map(({ ref }) => ref);
const refused = (rules: readonly string[], catalog: Catalog) =>
  entriesOf(catalog)
    .filter((entry) => new RefusingRules(rules).ruleFor(entry) !== undefined)
    .map(({ ref }) => ref);

/** The meaning of a key, of any kind that is looked up. */
function meant(catalog: Catalog, key: string): Entry | undefined {
  const found = catalog.meaning(key);
  return typeof found === "object" ? found : undefined;
}

function lookedUp(catalog: Catalog, key: string): Entry | undefined {
  try {
    const found = catalog.resolve(key, defaultKinds);
    return "unsettled" in found ? undefined : found;
  } catch {
    return undefined;
  }
}

const sample = () =>
  catalogOf([
    { namespace: "builtin", item: tool("wipe") },
    { namespace: "builtin", item: tool("list_a") },
    { namespace: "a", item: tool("wipe") },
    { namespace: "a", item: tool("list_a") },
    { namespace: "b", item: tool("secret") },
    { namespace: "b", item: tool("only") },
    { namespace: "b", item: prompt("only") },
    { namespace: "a-b", item: tool("b.secret") },
    { namespace: "a-b", item: tool("only") },
    { namespace: "a", item: text("file:///a", "wipe") },
    { namespace: "b", item: text("file:///a") },
    { namespace: "b", item: text("a.x:y") },
    { namespace: "b", item: template("file:///made/{name}") },
  ]);

describe("a rule that refuses", () => {
  const cases: readonly (readonly [rule: string, refs: readonly string[]])[] = [
    ["wipe", ["a.wipe", "builtin.wipe", "file:///a#a"]],
    ["a.wipe", ["a.wipe"]],
    ["b.secret", ["a-b.b.secret", "b.secret"]],
    ["b.*", ["a-b.b.secret", "b.only", "b.secret", "b.only"]],
    ["*.secret", ["a-b.b.secret", "b.secret"]],
    ["secret", ["b.secret"]],
    ["*cret", ["a-b.b.secret", "b.secret"]],
    ["wip?", ["a.wipe", "builtin.wipe", "file:///a#a"]],
    ["file:///a", ["file:///a#a", "file:///a#b"]],
    ["file:///a#b", ["file:///a#b"]],
    ["FILE:///x/../%61#b", ["file:///a#b"]],
    ["file:////a", ["file:///a#a", "file:///a#b"]],
    ["FILE:///*/../*", ["file:///a#a", "file:///a#b", "file:///made/{name}#b"]],
    ["*#b", ["a.x:y#b", "file:///a#b", "file:///made/{name}#b"]],
    ["family", ["file:///made/{name}#b"]],
    ["Wipe", []],
    ["wipe.", []],
    ["wipe ", []],
    ["gone.*", []],
  ];
  for (const [rule, refs] of cases) {
    verifies("N10", `${rule} fits ${refs.join(", ") || "nothing"}`, () =>
      expect(refused([rule], sample()).toSorted()).toEqual(refs.toSorted()),
    );
  }

  verifies("N10", "a letter with an accent is the same, as one character or as two", () => {
    const catalog = catalogOf([
      { namespace: "a", item: tool("cafe\u0301") },
      { namespace: "a", item: text("file:///cafe%CC%81") },
    ]);
    for (const rule of ["caf\u00e9", "a.caf\u00e9", "caf\u00e9*"])
      expect(refused([rule], catalog)).toEqual(["a.cafe\u0301"]);
    for (const rule of ["file:///caf%C3%A9", "file:///caf\u00e9"])
      expect(refused([rule], catalog)).toEqual(["file:///cafe%CC%81#a"]);
  });

  verifies("N10", "* and ** fit everything", () => {
    for (const rule of ["*", "**", "?*"]) expect(refused([rule], sample())).toHaveLength(13);
  });

  verifies("N10", "refuses what a template makes by the template's own name, URI and ref, and by the URI", () => {
    const catalog = sample();
    const made = meant(catalog, "file:///made/x") as Entry;
    expect(made.ref).toBe("file:///made/x#b");
    for (const rule of [
      "family",
      "file:///made/{name}",
      "file:///made/{name}#b",
      "file:///made/x",
      "FILE:///made//x",
      "*/x",
    ])
      expect(refuses(rule, made), rule).toBe(true);
  });

  verifies("N10", "is found for an item in the order of writing, and all that fit too", () => {
    const rules = new RefusingRules(["b.*", "nothing", "secret", "*", "b.secret"]);
    const entry = meant(sample(), "b.secret") as Entry;
    expect([rules.ruleFor(entry), rules.positionsFor(entry)]).toEqual(["b.*", [0, 2, 3, 4]]);
    expect(rules.positionsFor(entry)).toBe(rules.positionsFor(entry));
    expect(rules.unused(entriesOf(sample()))).toEqual(["nothing"]);
  });
});

describe("a rule that chooses", () => {
  const cases: readonly (readonly [rule: string, refs: readonly string[]])[] = [
    ["wipe", ["builtin.wipe"]],
    ["a.wipe", ["a.wipe"]],
    ["only", ["b.only", "b.only"]],
    ["b.secret", ["b.secret"]],
    ["b.*", ["b.only", "b.secret", "b.only"]],
    ["a-b.b.secret", ["a-b.b.secret"]],
    ["list_*", ["builtin.list_a"]],
    ["*ipe", ["builtin.wipe"]],
    ["*.wipe", ["a.wipe", "builtin.wipe"]],
    ["file:///a", ["file:///a#a"]],
    ["FILE:///a", ["file:///a#a"]],
    ["file:///a#b", ["file:///a#b"]],
    ["file:///*", ["file:///a#a", "file:///a#b", "file:///made/{name}#b"]],
    ["*#a", ["file:///a#a"]],
    // A server chooses its URIs: none looks like a ref of another namespace to a glob on refs.
    ["a.*", ["a.list_a", "a.wipe"]],
    ["note", []],
    ["Wipe", []],
    ["nothing", []],
  ];
  for (const [rule, refs] of cases) {
    verifies("N10", `${rule} is ${refs.join(", ") || "nothing"}`, () =>
      expect(chosen([rule], sample()).toSorted()).toEqual(refs.toSorted()),
    );
  }

  verifies("N10", "* and ** are everything", () => {
    for (const rule of ["*", "**"]) expect(chosen([rule], sample())).toHaveLength(13);
  });

  verifies("N10", "a URI must fit in each way in which a server may read it", () => {
    const { meaning } = { meaning: (key: string) => meant(open, key) as Entry };
    const open = catalogOf([{ namespace: "b", item: template("file:///{+path}") }]);
    const rules = new ChoosingRules(["file:///pub/*"]);
    for (const uri of ["file:///pub/x", "FILE:///pub/x", "file:///secret/../pub/x", "file:////pub/x"])
      expect(rules.ruleFor(meaning(uri), open), uri).toBe("file:///pub/*");
    for (const uri of [
      "file:///pub/../secret",
      "file:///pub/%2e%2e/secret",
      "file:///pub/..%2Fsecret",
      "file:///pub/%252e%252e%252fsecret",
      "file:///pub/..\\secret",
      "file:///pub/.\t./secret",
      "file:///pub/x?/../../secret",
      "file:///pub/x#/../../secret",
      "file:///pub%2F..%2Fsecret",
    ])
      expect(rules.ruleFor(meaning(uri), open), uri).toBeUndefined();
    const own = catalogOf([{ namespace: "b", item: template("files://{+path}") }]);
    for (const uri of ["files://pub/..%2Fsecret", "files://pub%2F..%2Fsecret", "files://pub/%2e%2e%2Fsecret"]) {
      const entry = meant(own, uri) as Entry;
      expect(new ChoosingRules(["files://pub/*"]).ruleFor(entry, own), uri).toBeUndefined();
      expect(refuses("files://secret", entry), uri).toBe(true);
    }
    const texts = new ChoosingRules(["file:///pub/*.txt#b"]);
    expect(texts.ruleFor(meaning("file:///pub/a.txt"), open)).toBeDefined();
    expect(texts.ruleFor(meaning("file:///pub/key#.txt"), open)).toBeUndefined();
    expect(texts.ruleFor(meaning("file:///pub/key?.txt"), open)).toBeUndefined();
  });

  verifies("N10", "what comes later widens no bare name", () => {
    const catalog = sample();
    const before = chosen(["wipe", "only", "secret", "file:///a"], catalog);
    const late = catalog.mount("late", {});
    const items = [tool("wipe"), tool("only"), tool("secret"), prompt("secret"), text("file:///a")];
    catalog.change(late, { put: items.map((item) => ({ definition: readDefinition(item, "remote"), item })) });
    expect(chosen(["wipe", "only", "secret", "file:///a"], catalog)).toEqual(before);
  });

  verifies(
    "N10",
    "chooses nothing while a namespace that goes first has not settled, and of an ambiguous name under strictNames",
    () => {
      const catalog = new Catalog({ strictNames: false, emit: () => undefined, hasListeners: () => true });
      let settling: Promise<void> | undefined = Promise.resolve();
      catalog.mount("early", { settling: () => settling });
      const put = [{ definition: readDefinition(tool("x"), "remote"), item: tool("x") }];
      catalog.change(catalog.mount("late", {}), { put });
      expect([chosen(["x"], catalog), chosen(["late.x"], catalog)]).toEqual([[], ["late.x"]]);
      settling = undefined;
      expect(chosen(["x"], catalog)).toEqual(["late.x"]);
      const strict = new Catalog({ strictNames: true, emit: () => undefined, hasListeners: () => true });
      for (const name of ["one", "two"]) strict.change(strict.mount(name, {}), { put });
      expect([chosen(["x"], strict), chosen(["two.x"], strict)]).toEqual([[], ["two.x"]]);
    },
  );

  test.each([
    ["weather.*", "weather.forecast", true],
    ["weather", "weather.forecast", false],
    ["forecast", "builtin.forecast", true],
    ["forecast", "weather.forecast", false],
    ["fore*", "builtin.forecast", true],
    ["wea*", "weather.forecast", false],
    ["*", "weather.forecast", true],
  ])("%s chooses the ref %s: %s", (rule, ref, fits) => expect(choosesRef(rule)(ref)).toBe(fits));
});

const word = fc.constantFrom(
  "a",
  "b",
  "a-b",
  "builtin",
  "x",
  "x-y",
  "a.x",
  "b.x",
  "a.b.x",
  "x.",
  ".x",
  "ab:c",
  "a.x:y",
  "a:b",
  "ab:c#b",
  "*",
  "X",
);
const uri = fc.constantFrom(
  "file:///a",
  "FILE:///a",
  "file:///x/../a",
  "file:////a",
  "file:///%61",
  "file:///a%2Fb",
  "file:///a/b",
  "ab:c",
  "ab:c#b",
  "a.x:y",
  "demo:x",
  "DEMO:x",
  "http://H/",
  "http://h",
  "file:///t/1",
  "file:///t/../t/%31",
);
const key = fc.oneof(
  word,
  uri,
  fc.tuple(word, fc.constantFrom(".", "#"), fc.oneof(word, uri)).map((parts) => parts.join("")),
  fc.tuple(uri, fc.constantFrom("a", "b", "a-b", "builtin")).map((parts) => parts.join("#")),
);
const placed: fc.Arbitrary<Placed> = fc.oneof(
  fc.record({
    namespace: fc.constantFrom("a", "b", "a-b", "builtin"),
    item: fc.tuple(fc.constantFrom(tool, prompt), word).map(([make, name]) => make(name) as Item),
  }),
  fc.record({
    namespace: fc.constantFrom("a", "b", "a-b", "builtin"),
    item: fc.tuple(uri, word).map(([at, name]) => text(at, name) as Item),
  }),
  fc.record({
    namespace: fc.constantFrom("a", "b"),
    item: fc.constantFrom("file:///t/{id}", "demo:{+rest}").map((at) => template(at) as Item),
  }),
);
const items = fc.array(placed, { maxLength: 14 });
const runs = { numRuns: 1_000 };

describe("over any catalogue", () => {
  verifies("N10", "a key that finds an item refuses it as a rule, whatever finds it", () => {
    fc.assert(
      fc.property(items, key, (given, text) => {
        const catalog = catalogOf(given);
        const found = meant(catalog, text);
        if (found !== undefined) expect(refuses(text, found), `${text} on ${found.ref}`).toBe(true);
      }),
      runs,
    );
  });

  verifies("N10", "the ref, the name and the URI of an item refuse it, and so does a glob made of one of them", () => {
    fc.assert(
      fc.property(items, fc.nat(), fc.nat(), (given, from, to) => {
        const catalog = catalogOf(given);
        for (const entry of entriesOf(catalog)) {
          const isNamed = entry.kind === "tool" || entry.kind === "prompt";
          const uriOf = isNamed ? [] : [entry.ref.slice(0, -entry.namespace.length - 1)];
          for (const name of [entry.ref, entry.name, ...uriOf]) {
            const start = from % (name.length + 1);
            const globbed = `${name.slice(0, start)}*${name.slice(start + (to % (name.length + 1 - start)))}`;
            for (const rule of [name, globbed]) expect(refuses(rule, entry), `${rule} on ${entry.ref}`).toBe(true);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  verifies("N10", "a name chooses what lookup finds, and nothing else", () => {
    fc.assert(
      fc.property(items, key, (given, text) => {
        const catalog = catalogOf(given);
        if (/[*?]/.test(text)) return;
        const found = meant(catalog, text);
        const looked = lookedUp(catalog, text);
        // A key that may be a name or a URI is the one of both that comes first; one that is scoped is nowhere else.
        if (!isUri(text)) expect(found).toBe(looked);
        else if (found !== undefined) expect(looked).toBeDefined();
        if (found !== undefined) expect(chooses(text, found, catalog), `${text} is ${found.ref}`).toBe(true);
        for (const entry of entriesOf(catalog)) {
          const isRef = entry.ref === text || uriKey(entry.ref) === uriKey(text);
          const isFound = found !== undefined && uriKey(found.ref) === uriKey(entry.ref);
          if (chooses(text, entry, catalog)) expect(isRef || isFound, `${text} chooses ${entry.ref}`).toBe(true);
          if (entry.ref === text) expect(chooses(text, entry, catalog)).toBe(true);
        }
      }),
      runs,
    );
  });

  verifies("N10", "a namespace that is added later changes nothing of what names chose before", () => {
    fc.assert(
      fc.property(items, items, fc.array(key, { minLength: 1, maxLength: 4 }), (given, later, texts) => {
        const catalog = catalogOf(given);
        const known = texts.filter((text) => meant(catalog, text) !== undefined && !/[*?]/.test(text));
        const before = chosen(known, catalog);
        const late = catalog.mount("late", {});
        const put = later.map(({ item }) => ({ definition: readDefinition(item, "remote"), item }));
        // A listed resource goes before one that a template makes, wherever it is: to read it means that one.
        const isMade = known.some((text) => templateOf(meant(catalog, text) as Entry) !== undefined);
        catalog.change(late, { put: put.filter(({ definition }) => !isMade || definition.kind !== "resource") });
        expect(chosen(known, catalog)).toEqual(before);
      }),
      { numRuns: 500 },
    );
  });
});
