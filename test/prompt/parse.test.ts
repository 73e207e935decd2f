import { describe, expect, test } from "vitest";
import { FilePrompt } from "../../src/prompt/file-prompt.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import type { Template } from "../../src/prompt/template/prompt-template.ts";
import { eachEntry } from "../../src/prompt/template/template-uses.ts";
import { verifies } from "../support/verifies.ts";
import { parseError, render, renderBody } from "./support.ts";

const whole = `---
name: weather_report
title: Report the weather
description: Tells what the weather will be.
model: gpt-5
provider: openai
system_prompt: You are in {{region}}.
input:
  type: object
  properties: { region: { type: string } }
output: { type: object }
tools: [weather.forecast, "fs.*"]
thinking: true
thinking_budget: 2000
temperature: 0.2
tags: [a, b]
---
# Another heading

What is the weather in {{region}}?
`;

describe("fields", () => {
  verifies("P1", "every field is read, unknown ones are kept under meta", () => {
    const prompt = parsePrompt(whole, { filename: "prompts/other.md" });
    expect({ ...prompt }).toEqual({
      kind: "prompt",
      name: "weather_report",
      title: "Report the weather",
      description: "Tells what the weather will be.",
      meta: { frontMatter: { temperature: 0.2, tags: ["a", "b"] } },
      input: { type: "object", properties: { region: { type: "string" } } },
      output: { type: "object" },
      model: "gpt-5",
      provider: "openai",
      system: "You are in {{region}}.",
      tools: ["weather.forecast", "fs.*"],
      thinking: true,
      thinkingBudget: 2000,
      version: expect.any(String),
    });
  });

  verifies("I5", "another text, or another partial, is another version", () => {
    const text = "---\nname: greet\n---\nGreet {{> whom}}.";
    const version = (body: string, whom: string) => parsePrompt(body, { partials: { whom } }).version;
    expect(version(text, "Ada")).toBe(version(text, "Ada"));
    expect(version(text, "Ada")).not.toBe(version(text, "Grace"));
    expect(version(text, "Ada")).not.toBe(version(`${text}!`, "Ada"));
  });

  verifies("P1", "without a name the file name is the name; `format` is `output`; one tool needs no list", () => {
    const prompt = parsePrompt("---\nformat: { type: string }\ntools: fs.read\nmodel:\n---\nHello", {
      filename: "some/folder/say_hello.md",
    });
    expect(prompt).toMatchObject({ name: "say_hello", output: { type: "string" }, tools: ["fs.read"] });
    expect(prompt.model).toBeUndefined();
    expect(prompt.meta).toBeUndefined();
  });

  verifies("P1", "a name that is no identifier is INVALID_NAME, naming the file", () => {
    expect(parseError("---\ntitle: A title of length\n---\nHi", { filename: "prompts/say hello.md" })).toMatchObject({
      code: "INVALID_NAME",
      message: expect.stringMatching(/^prompts\/say hello\.md:1:1: "say hello".*Rename the file, or write `name: /),
    });
    expect(parseError("---\nname: 1a\n---\nHi")).toMatchObject({
      code: "INVALID_NAME",
      message: expect.stringContaining("prompts/test.md:2:7"),
    });
    expect(parseError("---\nname: submit_output\n---\nHi").code).toBe("RESERVED_NAME");
    expect(parseError("---\n---\nHi", {})).toMatchObject({
      code: "INVALID_NAME",
      message: expect.stringContaining("Write `name: "),
    });
  });

  const titles: readonly [string, string, string | undefined][] = [
    ["the first heading", "Text\n\n# The title #\n\n# Second", "The title"],
    ["no heading of a lower level", "## Lower", undefined],
    ["no heading in code", "```sh\n# comment\n```\n# Real", "Real"],
    ["no heading in a comment", "{{!-- \n# no\n--}}\n<!--\n# no\n-->\n# Yes", "Yes"],
    ["no heading that is known only when rendered", "# To {{language}}\n# Plain", "Plain"],
  ];
  for (const [what, body, title] of titles) {
    verifies("P1", `without a title: ${what}`, () => {
      expect(parsePrompt(`---\nname: a\n---\n${body}`).title).toBe(title);
    });
  }

  test("merge keys and aliases stand for what they repeat", () => {
    const prompt = parsePrompt(
      "---\nname: a\nbase: &base { type: string }\ninput:\n  properties:\n    x: { <<: *base, minLength: 1 }\n    y: *base\n---\nHi",
    );
    expect(prompt.input).toEqual({ properties: { x: { type: "string", minLength: 1 }, y: { type: "string" } } });
  });

  test("a field named __proto__ stays a field", () => {
    const prompt = parsePrompt("---\nname: a\n__proto__: { admin: true }\n---\nHi");
    expect(Object.hasOwn(prompt.meta?.frontMatter as object, "__proto__")).toBe(true);
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });
});

describe("encoding", () => {
  verifies("P1", "a byte order mark and CRLF change nothing", async () => {
    const unix = parsePrompt(whole);
    const windows = parsePrompt(`\ufeff${whole.replaceAll("\n", "\r\n")}`);
    expect({ ...windows }).toEqual({ ...unix });
    expect(await render(windows, { region: "Bern" })).toBe(await render(unix, { region: "Bern" }));
    expect(await render(windows, { region: "Bern" })).not.toContain("\r");
  });

  verifies("P4", "places are right with a byte order mark and CRLF", () => {
    const text = "\ufeff---\r\nname: a\r\n---\r\nHello\r\n  {{uper x}}\r\n";
    expect(parseError(text)).toMatchObject({ details: { line: 5, column: 5 } });
    expect(parseError("\ufeff---\r\nname: a\r\nthinking: maybe\r\n---\r\nHi")).toMatchObject({
      details: { line: 3, column: 11 },
    });
  });

  test("blanks after the dashes do no harm", async () => {
    expect(await render(parsePrompt("---  \nname: a\n--- \nHi"))).toBe("Hi");
  });
});

describe("a file without front matter", () => {
  verifies("P1", "is a prompt where it has a heading: its name is that of the file", async () => {
    const prompt = parsePrompt("# Summarise a text\n\nSummarise {{text}}.\n", { filename: "prompts/summarise.md" });
    expect(prompt).toMatchObject({ name: "summarise", title: "Summarise a text", input: undefined });
    expect(await render(prompt, { text: "this" })).toBe("# Summarise a text\n\nSummarise this.");
  });

  verifies("P1", "is one with any heading outside code, and errors have its lines", () => {
    expect(parsePrompt("Hi\n# Greet {{name}}\n", { filename: "a.md" }).title).toBeUndefined();
    expect(parseError("# Greet\n{{#if}}")).toMatchObject({ details: { line: 2 } });
    for (const text of ["```\n# a comment\n```", "## Second level", "#hashtag", "<!--\n# Title\n-->"]) {
      expect(parseError(text).message).toContain("1:1: The file does not start with front matter.");
    }
  });
});

verifies("P1", "an empty text loads, and is an empty message", async () => {
  for (const text of ["---\nname: a\n---\n \n", "---\nname: a\n---"]) expect(await render(parsePrompt(text))).toBe("");
  expect(await render(parsePrompt("---\nmodel: a\n---\n", { filename: "a.prompt" }))).toBe("");
});

verifies("P1", "a short title is one", () => {
  expect(parsePrompt("---\nname: a\ntitle: Hi\n---\nHi").title).toBe("Hi");
});

describe("what a linter needs", () => {
  test("the source knows fields used, partials and places", () => {
    const prompt = parsePrompt(
      "---\nname: a\nfoo: 1\nsystem_prompt: In {{language}}.\ninput:\n  properties:\n    items: { type: array }\n---\n{{#each items}}{{name}} {{../tone}} {{@root.mood}}{{/each}}\n{{> sign}} {{#with x as |y|}}{{y}}{{/with}}{{> sign x mood=1}}",
      { filename: "a.md", partials: { sign: "{{name}}" } },
    );
    const source = FilePrompt.sourceOf(prompt);
    expect(source?.file).toBe("a.md");
    expect(source?.unknown).toEqual(["foo"]);
    expect(values(source?.body)).toEqual([
      ["9:9", "items", false, ["items"]],
      ["9:18", "name", false, ["items", eachEntry, "name"]],
      ["9:27", "../tone", false, ["tone"]],
      ["9:39", "@root.mood", true, ["mood"]],
      ["10:20", "x", false, ["x"]],
      ["10:32", "y", false, ["x"]],
      ["10:53", "x", false, ["x"]],
    ]);
    expect(source?.body.uses.values.map(({ isList }) => isList).indexOf(true)).toBe(0);
    const root = { fromRoot: false, steps: [] };
    expect(source?.body.uses.partials).toEqual([
      { name: "sign", place: { line: 10, column: 1 }, path: root, added: [] },
      { name: "sign", place: { line: 10, column: 44 }, path: { ...root, steps: ["x"] }, added: ["mood"] },
    ]);
    expect(values(source?.system)).toEqual([["4:21", "language", false, ["language"]]]);
    expect(values(source?.partials.get("sign"))).toEqual([["1:3", "name", false, ["name"]]]);
    expect(source?.placeOf(["input", "properties", "items"])).toEqual({ line: 7, column: 5 });
    expect(
      FilePrompt.sourceOf({ kind: "prompt", name: "b", render: () => Promise.reject(new Error()) }),
    ).toBeUndefined();
  });

  test("`{{this}}` uses the input as a whole, and what is computed has no path", () => {
    const source = FilePrompt.sourceOf(
      parsePrompt("---\nname: a\n---\n{{this}} {{#each (lookup a b) as |x|}}{{x}}{{y}}{{@index}}{{/each}}"),
    );
    expect(values(source?.body)).toEqual([
      ["4:3", "this", false, []],
      ["4:26", "a", false, ["a"]],
      ["4:28", "b", false, ["b"]],
    ]);
  });
});

function values(template: Template | undefined) {
  return template?.uses.values.map(({ written, place, path }) => [
    `${place.line}:${place.column}`,
    written,
    path.fromRoot,
    path.steps,
  ]);
}

verifies("P1", "the text is cut at both ends and kept otherwise", async () => {
  expect(await renderBody("\n\n  Hello\n\n  there\n\n")).toBe("Hello\n\n  there");
});
