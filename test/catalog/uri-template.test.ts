import fc from "fast-check";
import { expect, test } from "vitest";
import { matchTemplate } from "../../src/catalog/uri-template.ts";
import { verifies } from "../support/verifies.ts";

/** Expansions of RFC 6570, with the values of its section 3.2; each behind a scheme. */
const expansions: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  "level 1": [
    ["{var}", "value"],
    ["{hello}", "Hello%20World%21"],
  ],
  "level 2": [
    ["{+var}", "value"],
    ["{+hello}", "Hello%20World!"],
    ["{+path}/here", "/foo/bar/here"],
    ["here?ref={+path}", "here?ref=/foo/bar"],
    ["{+base}index", "http://example.com/home/index"],
    ["X{#var}", "X#value"],
    ["X{#hello}", "X#Hello%20World!"],
    ["{#path}here", "#/foo/barhere"],
    ["X{#undef}", "X"],
  ],
  "level 3": [
    ["map?{x,y}", "map?1024,768"],
    ["{x,hello,y}", "1024,Hello%20World%21,768"],
    ["?{x,empty}", "?1024,"],
    ["?{x,undef}", "?1024"],
    ["{+x,hello,y}", "1024,Hello%20World!,768"],
    ["{+path,x}/here", "/foo/bar,1024/here"],
    ["{#x,hello,y}", "#1024,Hello%20World!,768"],
    ["{#path,x}/here", "#/foo/bar,1024/here"],
    ["X{.var}", "X.value"],
    ["X{.x,y}", "X.1024.768"],
    ["X{.empty}", "X."],
    ["X{.undef}", "X"],
    ["{/var}", "/value"],
    ["{/var,x}/here", "/value/1024/here"],
    ["{/var,undef}", "/value"],
    ["{/var,empty}", "/value/"],
    ["{;x,y}", ";x=1024;y=768"],
    ["{;x,y,empty}", ";x=1024;y=768;empty"],
    ["{;v,bar,who}", ";v=6;who=fred"],
    ["{?x,y}", "?x=1024&y=768"],
    ["{?x,y,empty}", "?x=1024&y=768&empty="],
    ["{?x,y,undef}", "?x=1024&y=768"],
    ["a{?undef}", "a"],
    ["?fixed=yes{&x}", "?fixed=yes&x=1024"],
    ["{&x,y,empty}", "&x=1024&y=768&empty="],
  ],
  "level 4": [
    ["{var:3}", "val"],
    ["{list}", "red,green,blue"],
    ["{list*}", "red,green,blue"],
    ["{keys}", "semi,%3B,dot,.,comma,%2C"],
    ["{keys*}", "semi=%3B,dot=.,comma=%2C"],
    ["{+path:6}/here", "/foo/b/here"],
    ["{+list*}", "red,green,blue"],
    ["{+keys*}", "semi=;,dot=.,comma=,"],
    ["{#path:6}here", "#/foo/bhere"],
    ["{#list*}", "#red,green,blue"],
    ["{#keys*}", "#semi=;,dot=.,comma=,"],
    ["X{.var:3}", "X.val"],
    ["X{.list}", "X.red,green,blue"],
    ["X{.list*}", "X.red.green.blue"],
    ["X{.keys*}", "X.semi=%3B.dot=..comma=%2C"],
    ["{/var:1,var}", "/v/value"],
    ["{/list}", "/red,green,blue"],
    ["{/list*}", "/red/green/blue"],
    ["{/list*,path:4}", "/red/green/blue/%2Ffoo"],
    ["{/keys*}", "/semi=%3B/dot=./comma=%2C"],
    ["{;hello:5}", ";hello=Hello"],
    ["{;list}", ";list=red,green,blue"],
    ["{;list*}", ";list=red;list=green;list=blue"],
    ["{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"],
    ["{;keys*}", ";semi=%3B;dot=.;comma=%2C"],
    ["{?var:3}", "?var=val"],
    ["{?list}", "?list=red,green,blue"],
    ["{?list*}", "?list=red&list=green&list=blue"],
    ["{?keys*}", "?semi=%3B&dot=.&comma=%2C"],
    ["{&list*}", "&list=red&list=green&list=blue"],
    ["{&keys*}", "&semi=%3B&dot=.&comma=%2C"],
  ],
};

for (const [level, table] of Object.entries(expansions)) {
  verifies("K1", `a template matches its expansions, ${level} of RFC 6570`, () => {
    for (const [template, expansion] of table) {
      const matches = matchTemplate(`test:${template}`);
      expect([template, matches(`test:${expansion}`)]).toEqual([template, true]);
      expect([template, matches(`other:${expansion}`)]).toEqual([template, false]);
    }
  });
}

verifies("K1", "a template matches nothing that is not of its family", () => {
  const strangers: readonly (readonly [string, string])[] = [
    ["ticket:{id}", "ticket:"],
    ["ticket:{id}", "ticket:1/2"],
    ["ticket:{id}", "ticket:1?x=2"],
    ["ticket:{id}", "ticket:1#a"],
    ["ticket:{id}/notes", "ticket:1/note"],
    ["a:{/x}", "a:/1/2"],
    ["a:{/x,y}", "a:/1/2/3"],
    ["a:b{?q}", "a:b?r=1"],
    ["a:b{?q}", "a:b&q=1"],
    ["a:b{;q}", "a:b;r"],
    ["a:b{.x}", "a:b.c/d"],
    ["a:{+x}", "a:"],
    ["a:[b]+{x}", "a:bb1"],
  ];
  for (const [template, uri] of strangers) {
    expect([template, uri, matchTemplate(template)(uri)]).toEqual([template, uri, false]);
  }
});

test("an expression that cannot be read matches only itself", () => {
  for (const template of ["a:{}", "a:{", "a:}", "a:{=x}", "a:{!x}", "a:{|x}", "a:{+}", "a:{,}", "a:{a{b}"]) {
    expect(() => matchTemplate(template)("a:b")).not.toThrow();
  }
  expect(matchTemplate("a:{}")("a:{}")).toBe(true);
  expect(matchTemplate("a:{=x}")("a:{=x}")).toBe(true);
  expect(matchTemplate("a:{=x}")("a:1")).toBe(false);
});

test("a hostile pair of template and URI is answered, for time grows with length alone", () => {
  const hostile = [
    "{+a,b}!",
    "{a}{b}{c}{d}{e}{f}!",
    "{+a}{+b}{+c}{+d}{+e}!",
    "{;x,y*,z*}!",
    "{?x,y*}{&x,y*}!",
    "{/a*}{/b*}{/c*}!",
    "{.a*}{.b*}!",
  ];
  const uris = [",", "a", "/", ";x", "&x", "/a", ".a"].map(
    (unit) => `a:${unit.repeat(Math.floor(8100 / unit.length))}\n`,
  );
  for (const template of hostile) {
    const matches = matchTemplate(`a:${template}`);
    for (const uri of uris) expect(matches(uri)).toBe(false);
  }
  expect(matchTemplate("a:{+x}")(`a:${"x".repeat(8190)}`)).toBe(true);
  expect(matchTemplate("a:{+x}")(`a:${"x".repeat(8191)}`)).toBe(false);
});

test("no template and no URI makes it throw", () => {
  const part = fc.oneof(
    fc.string(),
    fc.constantFrom("{", "}", "{+", "{?", "*", ":3}", "a,b", "{/a*,b:1}", "#", "\\", "("),
  );
  const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(""));
  fc.assert(fc.property(text, text, (template, uri) => void matchTemplate(template)(uri)));
  fc.assert(
    fc.property(fc.stringMatching(/^[^{}]*$/), fc.stringMatching(/^[A-Za-z0-9._~-]+$/), (prefix, value) => {
      expect(matchTemplate(`${prefix}{id}`)(prefix + value)).toBe(true);
      expect(matchTemplate(prefix)(prefix)).toBe(true);
    }),
  );
});
