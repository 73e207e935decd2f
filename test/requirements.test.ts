import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { requirements } from "./requirements.ts";
import { citationsIn, proofsOf, readCitations } from "./support/citations.ts";
import { verifies } from "./support/verifies.ts";

const project = fileURLToPath(new URL("..", import.meta.url));

describe("requirements", () => {
  test("each has an id of its own and a text", () => {
    const ids = requirements.map((requirement) => requirement.id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, text } of requirements) {
      expect(id).toMatch(/^[A-Z]\d*$/);
      expect(text).toMatch(/\.$/);
    }
  });

  test("every citation is of a known id", async () => {
    const known = new Set(requirements.map((requirement) => requirement.id));
    const wrong = (await readCitations(project)).flatMap(({ ids, file, line }) =>
      ids.filter((id) => !known.has(id)).map((id) => `${file}:${line} cites ${id}`),
    );
    expect(wrong).toEqual([]);
  });

  test("every requirement is proven by a test", async () => {
    const proofs = proofsOf(requirements, await readCitations(project));
    const unproven = proofs.filter((proof) => proof.tests === 0).map((proof) => proof.requirement.id);
    expect(unproven, "proven by nothing; `npm run requirements` shows what they say").toEqual([]);
  });
});

describe("verifies", () => {
  test("refuses an id that is no requirement, and none at all", () => {
    // Through another name, so that these are not read as citations.
    const cite = verifies;
    expect(() => cite("N99", "x", () => {})).toThrow(/"x" cites N99, which test\/requirements\.ts does not have/);
    expect(() => cite(["N1", "Q7"], "x", () => {})).toThrow(/cites Q7/);
    expect(() => cite([], "x", () => {})).toThrow(/cites no requirement/);
  });
});

describe("citationsIn", () => {
  test("finds calls, with one id or several, and neither comments nor strings", () => {
    const text = [
      '// verifies("N1", "not this")',
      'const text = \'verifies("N2", "nor this")\';',
      'describe("group", () => {',
      '  verifies("N3", "one", () => {});',
      '  for (const n of [1, 2]) verifies(["N4", "N5"], `several ${n}`, () => {});',
      "});",
    ].join("\n");
    expect(citationsIn("test/a.test.ts", text)).toEqual([
      { ids: ["N3"], title: "one", file: "test/a.test.ts", line: 4 },
      { ids: ["N4", "N5"], title: "(computed)", file: "test/a.test.ts", line: 5 },
    ]);
  });

  test("reads the titles of type tests only", () => {
    const text = 'test("[I1 C1] infers", () => {}); test("no id", () => {});';
    expect(citationsIn("test/types/a.test-d.ts", text)).toMatchObject([{ ids: ["I1", "C1"], title: "infers" }]);
    expect(citationsIn("test/a.test.ts", text)).toEqual([]);
  });

  test("refuses ids that are not written out", () => {
    expect(() => citationsIn("test/a.test.ts", "verifies(id, 'x', () => {});")).toThrow(/test\/a\.test\.ts:1: write/);
  });
});
