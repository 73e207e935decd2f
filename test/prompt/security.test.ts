import { describe, expect, test, vi } from "vitest";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { verifies } from "../support/verifies.ts";
import { parseError, rejection, render, renderBody } from "./support.ts";

describe("front matter", () => {
  for (const language of ["js", "javascript", "json", "coffee", "toml", " js", "yaml", "-"]) {
    verifies("P3", `---${language} is refused`, () => {
      const marker = `toolweaveExecuted${language.trim()}`;
      const error = parseError(`---${language}\nglobalThis[${JSON.stringify(marker)}] = true\n---\nHello`);
      expect(error.code).toBe("INVALID_PROMPT");
      expect(error.message).toMatch(/^prompts\/test\.md:1:\d: .*no code runs from a prompt file\. Write --- alone/);
      expect(marker in globalThis).toBe(false);
    });
  }

  for (const tag of [
    "!!js/function",
    "!!js/regexp",
    "!!python/object:os.system",
    "!custom",
    "!!binary",
    "!!timestamp",
    "!!set",
  ]) {
    verifies("P3", `the tag ${tag} is refused`, () => {
      const error = parseError(`---\nname: a\ndescription: ${tag} "function () { return 1 }"\n---\nHello`);
      expect(error).toMatchObject({ code: "INVALID_PROMPT", details: { line: 3, column: 14 } });
      expect(error.message).toContain(`The tag ${tag} is not known`);
    });
  }

  verifies("P3", "a directive opens no other schema", () => {
    const prompt = parsePrompt("---\nname: a\nday: 2001-01-01\nyes: yes\n---\nHi");
    expect(prompt.meta).toEqual({ frontMatter: { day: "2001-01-01", yes: "yes" } });
    const sneaked = parsePrompt("---\n%YAML 1.1\n--- { name: a, day: 2001-01-01 }\n---\nHi");
    expect(sneaked.meta).toEqual({ frontMatter: { day: "2001-01-01" } });
  });

  verifies("P3", "a billion laughs are refused before they are expanded", () => {
    const lines = ["l0: &l0 [lol]"];
    for (let level = 1; level < 12; level += 1)
      lines.push(
        `l${level}: &l${level} [${Array(9)
          .fill(`*l${level - 1}`)
          .join(", ")}]`,
      );
    const error = parseError(`---\nname: a\n${lines.join("\n")}\n---\nHi`);
    expect(error).toMatchObject({ code: "INVALID_PROMPT" });
    expect(error.message).toContain("more than 30 aliases");
  });

  verifies("P3", "in few aliases and through merges they are refused too", () => {
    const doubled = Array.from({ length: 15 }, (_, i) => `l${i + 1}: &l${i + 1} [*l${i}, *l${i}]`);
    const error = parseError(`---\nl0: &l0 [lol]\n${doubled.join("\n")}\n---\nHi`);
    expect(error.message).toContain("Write out what aliases (*) and merges (<<) stand for.");
    const merged = Array.from({ length: 40 }, (_, i) => `l${i + 1}: &l${i + 1} { <<: [*l${i}, *l${i}, *l${i}] }`);
    const laughing = parseError(`---\nl0: &l0 { a: b }\n${merged.join("\n")}\n---\nHi`);
    expect(laughing.message).toContain("more than 30 aliases");
  });

  verifies("P3", "nesting without end is an error, not a crash", () => {
    const deep = 100_000;
    expect(parseError(`---\nname: a\nx: ${"[".repeat(deep)}\n---\nHi`).code).toBe("INVALID_PROMPT");
    expect(parseError(`---\nname: a\n---\n{{upper ${"(upper ".repeat(deep)}x${")".repeat(deep)}}}`).code).toBe(
      "INVALID_PROMPT",
    );
    for (const text of [
      `${"{{#if x}}".repeat(deep)}${"{{/if}}".repeat(deep)}`,
      `{{#if x}}${"{{else if y}}".repeat(deep)}{{/if}}`,
      `{{#if x}}${"{{~ else  unless y }}".repeat(deep)}{{/if}}`,
    ]) {
      expect(parseError(`---\nname: a\n---\n${text}`).message).toContain("is nested deeper than 100 levels here");
    }
  });

  test("many blocks beside each other are not deep", async () => {
    for (const text of ["{{#if x}}a{{else if y}}b{{/if}}", "{{#if x}}a{{^}}b{{/if}}", "{{^if x}}b{{/if}}"]) {
      expect(await renderBody(text.repeat(200), { y: true })).toBe("b".repeat(200));
    }
  });
});

describe("template", () => {
  const inputs: readonly unknown[] = [{}, { a: {} }, { a: "text" }, [1], "text", 5, { a: () => "called" }];
  const reaches = [
    "{{constructor}}",
    "{{__proto__}}",
    "{{this.constructor}}",
    "{{a.constructor.constructor}}",
    "{{a.__proto__}}",
    '{{lookup this "constructor"}}',
    '{{lookup this "__proto__"}}',
    '{{lookup (lookup this "constructor") "constructor"}}',
    "{{#with constructor}}{{this}}{{/with}}",
    "{{#with a}}{{#with constructor}}{{this}}{{/with}}{{/with}}",
    "{{toString}}",
    "{{hasOwnProperty}}",
    "{{__defineGetter__}}",
    "{{@root.constructor}}",
    "{{#each this as |x|}}{{x.constructor}}{{/each}}",
  ];
  for (const template of reaches) {
    verifies("P3", `${template} gives nothing`, async () => {
      const written = ["log", "warn", "error", "info", "debug"].map((method) =>
        vi.spyOn(console, method as "log").mockImplementation(() => {}),
      );
      try {
        for (const input of inputs) expect(await renderBody(`[${template}]`, input)).toBe("[]");
        for (const method of written) expect(method).not.toHaveBeenCalled();
      } finally {
        vi.restoreAllMocks();
      }
    });
  }

  test("own fields of such names are values like others", async () => {
    const input = JSON.parse('{ "constructor": "mine", "__proto__": { "x": 1 }, "a": { "constructor": 2 } }');
    expect(await renderBody("{{constructor}} {{a.constructor}}", input)).toBe("mine 2");
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  for (const template of [
    '{{log "x"}}',
    "{{helperMissing x}}",
    "{{#blockHelperMissing x}}{{/blockHelperMissing}}",
    '{{eval "1"}}',
    "{{~show x}}x{{show x}}",
    '{{["~show"] x}}',
    "{{[~show] x}}",
  ]) {
    verifies("P3", `${template} is no helper`, () => {
      expect(parseError(`---\nname: a\n---\n${template}`).code).toBe("INVALID_PROMPT");
    });
  }

  for (const name of [
    "../secret",
    "/etc/passwd",
    '"../secret"',
    '"a/../../b"',
    "a/b",
    "..",
    ".",
    "[../x]",
    "a.md",
    "@partial-block",
    '"a\\b"',
    '""',
    "__proto__.x",
  ]) {
    verifies("P3", `{{> ${name}}} leaves no folder`, () => {
      const partials = new Proxy(
        {},
        {
          has: () => true,
          get: () => "secret",
          getOwnPropertyDescriptor: () => ({ configurable: true, value: "secret" }),
        },
      );
      expect(parseError(`---\nname: a\n---\n{{> ${name}}}`, { partials }).code).toBe("INVALID_PROMPT");
    });
  }

  for (const name of ["__proto__", "constructor", "toString"]) {
    verifies("P3", `{{> ${name}}} is no partial unless there is one`, () => {
      expect(parseError(`---\nname: a\n---\n{{> ${name}}}`, { partials: {} }).message).toContain("There is no partial");
    });
  }

  for (const template of [
    "{{> (lookup . 'x')}}",
    "{{#> x}}{{/x}}",
    '{{#*inline "x"}}a{{/inline}}{{> x}}',
    "{{* foo}}",
    "{{#* foo}}{{/foo}}",
    "{{> @partial-block}}",
  ]) {
    verifies("P3", `${template} is refused`, () => {
      expect(parseError(`---\nname: a\n---\n${template}`, { partials: { x: "y" } }).code).toBe("INVALID_PROMPT");
    });
  }

  verifies("P3", "what JSON cannot hold is INVALID_INPUT when it is shown", async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    for (const [template, input] of [
      ["{{json a}}", { a: 1n }],
      ["{{a}}", { a: [1n] }],
      ["{{this}}", cyclic],
    ] as const) {
      expect((await rejection(renderBody(template, input))).code).toBe("INVALID_INPUT");
    }
  });

  test("an input that throws is INVALID_PROMPT with its cause", async () => {
    const cause = new Error("no");
    const input = {
      get a(): string {
        throw cause;
      },
    };
    const error = await rejection(render(parsePrompt("---\nname: a\n---\n{{a}}", { filename: "a.md" }), input));
    expect(error).toMatchObject({ code: "INVALID_PROMPT", cause, message: expect.stringMatching(/^a\.md:4:1: .*no/) });
  });
});
