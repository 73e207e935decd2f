import { describe, expect, test } from "vitest";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { textContent } from "../../src/resource/content.ts";
import { verifies } from "../support/verifies.ts";
import { contextOf, rejection, render, textOf } from "./support.ts";

const schema = `---
name: greet
system_prompt: You greet {{name}}.
input:
  type: object
  properties:
    name: { type: string, minLength: 1 }
    tone: { type: string, default: warm }
    times: { type: integer, default: 0 }
  required: [name]
---
{{name}}, {{tone}}, {{times}}
`;

describe("messages", () => {
  verifies("P6", "one user message: the text, then the attachments, unchanged and in order", async () => {
    const attachments = [textContent("one", { name: "one" }), textContent("two", { name: "two" })];
    const rendered = await parsePrompt(schema).render({ name: "Ann" }, contextOf(...attachments));
    expect(rendered.system).toBe("You greet Ann.");
    expect(rendered.messages).toHaveLength(1);
    const [message] = rendered.messages;
    expect(message?.role).toBe("user");
    expect(message?.content[0]).toMatchObject({ kind: "resource", name: "greet", mediaType: "text/plain" });
    expect(message?.content[1]).toBe(attachments[0]);
    expect(message?.content[2]).toBe(attachments[1]);
    expect(message?.content).toHaveLength(3);
  });

  test("without a system prompt there is none", async () => {
    const rendered = await parsePrompt("---\nname: a\n---\nHi").render({}, contextOf());
    expect("system" in rendered).toBe(false);
    expect(await textOf(rendered)).toBe("Hi");
  });
});

describe("input", () => {
  verifies("P6", "what does not fit is INVALID_INPUT with every issue, the first time and again", async () => {
    const prompt = parsePrompt(schema);
    for (const _ of [1, 2]) {
      expect(await rejection(prompt.render({ name: "", times: 1.5 }, contextOf()))).toMatchObject({
        code: "INVALID_INPUT",
        details: { issues: [{ pointer: "/name" }, { pointer: "/times" }] },
        message: expect.stringContaining('The input of the prompt "greet" does not fit: /name '),
      });
      expect(await rejection(prompt.render(undefined, contextOf()))).toMatchObject({
        message: expect.stringContaining('The input of the prompt "greet" does not fit: /name is missing.'),
      });
    }
  });

  verifies("P6", "defaults stand in for what is left out, and for nothing else", async () => {
    const prompt = parsePrompt(schema);
    const input = { name: "Ann" };
    expect(await render(prompt, input)).toBe("Ann, warm, 0");
    expect(input).toEqual({ name: "Ann" });
    expect(await render(prompt, { name: "Ann", tone: "", times: 2 })).toBe("Ann, , 2");
  });

  verifies("P6", "an input that is no object is validated too, and nothing stands in for it", async () => {
    const prompt = parsePrompt("---\nname: a\ninput: { type: string, minLength: 2 }\n---\n<{{this}}>");
    expect(await render(prompt, "word")).toBe("<word>");
    expect((await rejection(prompt.render("w", contextOf()))).code).toBe("INVALID_INPUT");
    expect((await rejection(prompt.render(undefined, contextOf()))).code).toBe("INVALID_INPUT");
  });

  test("without a schema anything is taken", async () => {
    const prompt = parsePrompt("---\nname: a\n---\n<{{this}}>");
    expect(await render(prompt, [1])).toBe("<[1]>");
    expect(await render(prompt)).toBe("<{}>");
  });

  test("a schema that cannot be compiled is INVALID_PROMPT, at its place", async () => {
    const prompt = parsePrompt('---\nname: a\ninput: { properties: { x: { $ref: "#nowhere" } } }\n---\nHi', {
      filename: "a.md",
    });
    expect(await rejection(prompt.render({ x: 1 }, contextOf()))).toMatchObject({
      code: "INVALID_PROMPT",
      message: expect.stringMatching(/^a\.md:3:1: The schema in input cannot be used/),
    });
  });
});
