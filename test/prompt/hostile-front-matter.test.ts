import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import fc from "fast-check";
import type GrayMatter from "gray-matter";
import { describe, expect, test } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { defaultPromptLimits } from "../../src/core/prompt-limits.ts";
import { splitFrontMatter } from "../../src/prompt/front-matter/split-front-matter.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { verifies } from "../support/verifies.ts";
import { parseError, render, wideLimits } from "./support.ts";

const grayMatter = createRequire(import.meta.url)("gray-matter") as typeof GrayMatter & {
  readonly cache: Readonly<Record<string, unknown>>;
};

const many = 100_000;
const run = promisify(execFile);

/** A program that parses prompts where the parser that gray-matter has by default throws. */
const withoutItsParser = `
  import { createRequire } from "node:module";
  const require = createRequire(process.cwd() + "/x.js");
  const yaml = createRequire(require.resolve("gray-matter"))("js-yaml");
  for (const name of Object.keys(yaml)) {
    if (typeof yaml[name] === "function") yaml[name] = () => { throw new Error("js-yaml was called"); };
  }
  const { parsePrompt } = await import("../../src/prompt/parse-prompt.ts");
  const texts = ["---\\nname: a\\n---\\nHi", "---\\nname: >-\\n  b\\nx-y: &z [1]\\n---\\nHi", "---\\n# none\\n---\\nHi"];
  const prompts = texts.map((text) => parsePrompt(text, { filename: "c.md" }));
  const used = parsePrompt("---\\nname: d\\n---\\n{{> p}}", { partials: { p: texts[1] } });
  console.log(JSON.stringify([...prompts, used].map(({ name }) => name)));
`;

describe("the engines of gray-matter", () => {
  const code = "(() => { globalThis.toolweaveExecuted = true; return { name: 'a' } })()";

  for (const language of ["js", "javascript", " js", "json", "coffee", "cson", "toml", "yml", "constructor"]) {
    verifies("P3", `---${language} reaches none, and runs nothing`, () => {
      for (const end of ["\n", "\r\n"]) {
        for (const mark of ["", "\ufeff"]) {
          const error = parseError(`${mark}---${language}${end}${code}${end}---${end}Hi`);
          expect(error).toMatchObject({ code: "INVALID_PROMPT", details: { line: 1, column: 4 } });
          expect(error.message).toContain("no code runs from a prompt file. Write --- alone");
        }
      }
      expect(globalThis).not.toHaveProperty("toolweaveExecuted");
    });
  }

  verifies("P3", "fields that are options of gray-matter are fields like others", async () => {
    const fields = "engine: js\nlanguage: js\nexcerpt: true\nsections: true\neval: true\ndelimiters: '~~~'";
    const hostile = "excerpt_separator: { toString: 1, valueOf: 1 }\n__proto__: { language: js }";
    const prompt = parsePrompt(`---\nname: a\n${fields}\n${hostile}\n---\nHi\n~~~\nthere\n--- \nyou`);
    expect(Object.keys(prompt.meta?.frontMatter ?? {})).toContain("excerpt_separator");
    expect(await render(prompt)).toBe("Hi\n~~~\nthere\n--- \nyou");
    expect({}).not.toHaveProperty("language");
  });

  verifies("P3", "nothing is kept in its cache", () => {
    parsePrompt("---\nname: cached\n---\nHi");
    expect(Object.keys(grayMatter.cache)).toEqual([]);
  });

  verifies(
    "P3",
    "its own YAML parser is given nothing: plain front matter, what needs the library, comments alone, a partial",
    async () => {
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", withoutItsParser], {
        cwd: import.meta.dirname,
      });
      expect(JSON.parse(stdout)).toEqual(["a", "b", "c", "d"]);
    },
  );

  verifies("P3", "front matter that is too large is refused before they look at it", () => {
    const text = `---\nname: [\n${"\n".repeat(500)}x: ${"y".repeat(70_000)}\n---\n`;
    const bounded = { code: "LIMIT_EXCEEDED", details: { limit: "maxFrontMatterBytes" } };
    expect(parseError(`${text}Hi`, {})).toMatchObject(bounded);
    const used = { partials: { tone: `${text}Hi` } };
    expect(parseError("---\nname: a\n---\n{{> tone}}", used)).toMatchObject(bounded);
  });
});

describe("line ends and byte order marks", () => {
  const plain = "---\nname: a\nthinking: 1\n---\nHi";

  verifies("P4", "the place of an error is the same with them", () => {
    for (const text of [plain, plain.replaceAll("\n", "\r\n"), plain.replaceAll("\n", "\r"), `\ufeff${plain}`]) {
      expect(parseError(text)).toMatchObject({ details: { line: 3, column: 11 } });
    }
    expect(parseError(`\ufeff\ufeff${plain}`).message).toContain("does not start with front matter");
  });

  verifies("P1", "the text is the same with them, empty lines at its beginning included", () => {
    const text = "---  \nname: a\n---\t\n\n\nHi";
    for (const given of [text, text.replaceAll("\n", "\r\n"), `\ufeff${text}`]) {
      expect(splitFrontMatter(given, "a.md", defaultPromptLimits)).toMatchObject({
        yaml: "name: a\n",
        body: "\n\nHi",
        bodyLine: 4,
      });
    }
  });
});

describe("without end", () => {
  const dashes = "-".repeat(many);
  const cases: readonly (readonly [what: string, text: string, place: string, message: string])[] = [
    ["dashes", dashes, "1:4", "The opening line says"],
    ["dashes in the front matter", `---\nname: a\n${dashes}\nHi`, "3:1", "The front matter is not closed"],
    ["lines of four dashes", `---\nname: a\n${"----\n".repeat(many)}`, "3:1", "The front matter is not closed"],
    ["empty lines before it", `${"\n".repeat(many)}---\nname: a\n---\nHi`, "1:1", "Remove everything before"],
    ["empty lines alone", "\n".repeat(many), "1:1", "does not start with front matter"],
    ["empty lines in it", `---\nname: a\n${"\n".repeat(many)}x: y\n---\nHi`, "3:1", "100 empty lines in a row"],
    ["blank lines in it", `---\nname: a\n${"  \t\n".repeat(many)}x: y\n---\nHi`, "3:1", "100 empty lines in a row"],
    [
      "line separators in it",
      `---\nname: a\n${"\u2028".repeat(many)}\nx: y\n---\nHi`,
      "3:1",
      "100 empty lines in a row",
    ],
    ["a language", `---${"x".repeat(many)}\n---\nHi`, "1:4", "The opening line says"],
  ];
  for (const [what, text, place, message] of cases) {
    verifies("P4", `${what}: a short error in time`, () => {
      const error = parseError(text);
      expect(error.message).toContain(message);
      expect(error.message.startsWith(`prompts/test.md:${place}: `), error.message.slice(0, 100)).toBe(true);
      expect(error.message.length).toBeLessThan(500);
    });
  }

  test("in the text they are text", async () => {
    for (const text of [dashes, "---\n".repeat(many).trim(), `a${"\n".repeat(many)}b`]) {
      expect(await render(parsePrompt(`---\nname: a\n---\n${text}`, { limits: wideLimits }))).toBe(text);
    }
  });

  test("thousands of fields are read in time", () => {
    const fields = Array.from({ length: 25_000 }, (_, index) => `x-${index}`);
    for (const yaml of [fields.map((field) => `${field}: 1`).join("\n"), `x: { ${fields.join(": 1, ")}: 1 }`]) {
      const prompt = parsePrompt(`---\nname: a\ndescription: >\n  folded\n${yaml}\n---\nHi`, { limits: wideLimits });
      expect(prompt.description).toBe("folded\n");
    }
  });

  test("a hundred empty lines are taken, and so are many comments", () => {
    const prompt = parsePrompt(`---\nname: a${"\n".repeat(101)}${"# b\n\n".repeat(many / 10)}description: c\n---\nHi`, {
      limits: wideLimits,
    });
    expect(prompt.description).toBe("c");
  });
});

test("whatever the text, its parts are where the lines of dashes are", () => {
  const piece = fc.constantFrom(
    "---",
    "--- ",
    "---\t",
    "----",
    "--- x",
    "---x",
    "a: b",
    "#",
    " ",
    "",
    "a: b\u2028---",
    "\ufeff",
  );
  const text = fc.array(piece, { maxLength: 9 }).map((lines) => ["---", ...lines].join("\n"));
  fc.assert(
    fc.property(text, (given) => {
      let split: ReturnType<typeof splitFrontMatter>;
      try {
        split = splitFrontMatter(given, "a.md", defaultPromptLimits);
      } catch (error) {
        if (!ToolkitError.is(error)) throw error;
        return;
      }
      const lines = given.split("\n");
      const closing = lines.findIndex((line, index) => index > 0 && /^---[ \t]*$/.test(line));
      expect(split).toMatchObject({
        yaml: lines
          .slice(1, closing)
          .map((line) => `${line}\n`)
          .join(""),
        yamlStart: (lines[0]?.length ?? 0) + 1,
        body: lines.slice(closing + 1).join("\n"),
        bodyLine: closing + 2,
      });
    }),
    { numRuns: 2_000 },
  );
});
