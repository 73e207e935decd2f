import { readFile } from "node:fs/promises";
import { describe, expect } from "vitest";
import { lintPrompts } from "../../src/prompt/lint/lint-prompts.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { verifies } from "../support/verifies.ts";
import { parseError, rejection, render, renderBody } from "./support.ts";

/** A template and its text. */
type Case = readonly [template: string, text: string];

const input = {
  kind: "new",
  price: 12.5,
  none: 0,
  empty: "",
  nothing: null,
  list: [1, 2, 3, 4],
  people: [{ name: "Ann" }, { name: "Bob" }],
  text: "a😀b",
  created: "2026-11-22T23:30:00",
  day: "2026-11-22",
  at: new Date(0),
  date: "a date",
  number: "a number",
  not: "not",
};

const comparisons: readonly Case[] = [
  [
    '{{eq kind "new"}} {{eq kind "old"}} {{eq kind "old" "new"}} {{ne kind "new"}} {{ne price 1}}',
    "true false true false true",
  ],
  ["{{lt price 13}} {{le price 12.5}} {{gt price 12.5}} {{ge price 13}}", "true true false false"],
  ['{{lt day "2026-12-01"}} {{gt at at}} {{ge at at}}', "true false true"],
  ['{{eq price "12.5"}} {{eq missing nothing}} {{eq missing kind}} {{eq none false}}', "false true false false"],
  ["{{gt missing 1}} {{lt missing 1}} {{ge nothing nothing}}", "false false false"],
  ["{{not kind}} {{not none}} {{not empty}} {{not missing}} {{not list}}", "false true true true false"],
  ['{{or empty kind "x"}} {{or empty none}} {{and kind price}} {{and kind empty price}}.', "new 0 12.5 ."],
  ['{{#if (and kind (gt price 10) (not none))}}yes{{else if (eq kind "old")}}old{{/if}}', "yes"],
  ["{{#unless (or none empty)}}a{{/unless}}{{#each list}}{{#if (eq this 2 4)}}{{this}}{{/if}}{{/each}}", "a24"],
  // Those behind the one that decides are not computed: this comparison would fail.
  ["{{#if (and none (gt kind 3))}}a{{else}}b{{/if}}{{or kind (gt kind 3)}}", "bnew"],
];

const parts: readonly Case[] = [
  ["{{slice kind 0 2}} {{slice kind 1}} {{slice kind -1}} {{slice kind 5}}.", "ne ew w ."],
  ["{{slice list 0 2}} {{slice list -1}} {{slice missing 1}}.", "[1,2] [4] ."],
  ["{{#each (slice people 1)}}{{name}}{{/each}}", "Bob"],
  ["{{slice text 0 2}}|{{slice text 2}}", "a|b"],
];

const formats: readonly Case[] = [
  ['{{number price}} {{number 1234567.891}} {{number "7.25"}} {{number missing}}.', "12.5 1,234,567.891 7.25 ."],
  ['{{number price "0"}} {{number price "0.00"}} {{number 0.5 "0.#"}} {{number 2 "0.##"}}', "13 12.50 0.5 2"],
  ['{{number 12345.678 "#,##0.0"}} {{number 0.125 "0%"}} {{number 0.1234 "0.0#%"}}', "12,345.7 13% 12.34%"],
  [
    '{{number 1234.5 "#,##0.00" locale="de"}} {{number 3 currency="EUR"}} {{number 3 "0" currency="USD"}}',
    "1.234,50 €3.00 $3",
  ],
  [
    '{{date created}} {{date created "HH:mm:ss"}} {{date day}} {{date 0}} {{date at}}',
    "2026-11-22 23:30:00 2026-11-22 1970-01-01 1970-01-01",
  ],
  [
    '{{date created "long"}}, {{date created "d MMM yy"}}, {{date created "EEEE"}}',
    "November 22, 2026, 22 Nov 26, Sunday",
  ],
  ['{{date created "yyyy-MM-dd HH:mm" zone="Asia/Tokyo"}} {{date created "h:mm a"}}', "2026-11-23 08:30 11:30 PM"],
  [`{{date created "EEE d. MMMM 'um' H 'o''clock'" locale="de"}}`, "So 22. November um 23 o'clock"],
  ['{{date "2026-11-22T23:30:00+02:00" "HH:mm"}} {{date "2026-11" "M/d"}} {{date missing}}.', "21:30 11/1 ."],
];

describe("helpers", () => {
  for (const [template, text] of [...comparisons, ...parts, ...formats]) {
    verifies("P2", template, async () => expect(await renderBody(template, input)).toBe(text));
  }

  verifies("P2", "alone, the name of one is a field, as it was before there was a helper", async () => {
    expect(await renderBody("{{date}} {{number}} {{not}} {{#if date}}{{upper date}}{{/if}}", input)).toBe(
      "a date a number not A DATE",
    );
  });

  verifies("P2", "dates do not depend on the zone of the machine", async () => {
    const before = process.env.TZ;
    process.env.TZ = "America/New_York";
    try {
      expect(await renderBody('{{date created "yyyy-MM-dd HH:mm"}} {{date day}}', input)).toBe(
        "2026-11-22 23:30 2026-11-22",
      );
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  });

  verifies("P2", "the examples of the guide give what it says", async () => {
    const guide = await readFile(new URL("../../docs/prompts.md", import.meta.url), "utf8");
    const section = guide.slice(guide.indexOf("### Numbers and dates"), guide.indexOf("An input need not be"));
    const rows = [...section.matchAll(/^\| `(\{\{.+?\}\})` \| (.+) \|$/gm)];
    expect(rows.length).toBeGreaterThanOrEqual(10);
    for (const [, template = "", text = ""] of rows)
      expect([template, await renderBody(template)]).toEqual([template, text]);
  });
});

describe("mistakes", () => {
  const written: readonly (readonly [template: string, message: string])[] = [
    ["{{eq kind}}", '4:3: eq takes 2 values and has 1. Write it as in {{#if (eq kind "new")}}...{{/if}}.'],
    ['{{#eq kind "a"}}{{/eq}}', "4:4: eq is no block."],
    ['{{number price "0,00"}}', '4:16: "0,00" is no format of a number. Write one such as "0.00", "#,##0.##" or "0%".'],
    ['{{number price currency="EURO"}}', '"EURO" is no currency. Write one such as "EUR".'],
    ['{{number price locale="d_e"}}', '"d_e" is no locale. Write one such as "de-CH".'],
    ['{{date day "foo"}}', '4:12: "foo" is no format of a date: it has f. Write words in single quotes'],
    ['{{date day "long" zone="Mars"}}', '"Mars" is no time zone. Write one such as "Europe/Berlin".'],
    ['{{date day "long" currency="EUR"}}', "date takes no currency=."],
    [`{{date day "${"d".repeat(90)}"}}`, "A format is longer than 80 characters."],
    [
      "{{#each list}}{{break}}{{/each}}",
      "4:17: There is no {{break}}: a loop goes through all entries. Pass the entries",
    ],
    ["{{continue}}", "A field named continue is written {{this.continue}}."],
  ];
  for (const [template, message] of written) {
    verifies("P4", `${template.slice(0, 60)} is found when the prompt is read, and by lint`, async () => {
      expect(parseError(`---\nname: a\n---\n${template}`).message).toContain(message);
      const { problems } = await lintPrompts({ text: `---\nname: a\n---\n${template}` });
      expect(problems.filter(({ code }) => code === "template")).toHaveLength(1);
    });
  }

  const passed: readonly (readonly [template: string, message: string])[] = [
    [
      '{{gt price "3"}}',
      'prompts/a.md:4:3: gt cannot compare the number 12.5 with "3": pass two numbers or two texts.',
    ],
    ["{{lt list kind}}", 'lt cannot compare a list with "new"'],
    ["{{slice price 1}}", "slice takes a text or a list, and this is the number 12.5."],
    ["{{slice kind kind}}", 'slice takes whole numbers as positions, and this is "new".'],
    ["{{number kind}}", 'number cannot write "new": pass digits.'],
    ["{{date kind}}", 'date cannot write "new": pass a date such as 2026-11-22 or 2026-11-22T10:00:00Z.'],
    ["{{date day kind}}", '"new" is no format of a date: it has n.'],
    ["{{number price locale=text}}", '"a😀b" is no locale.'],
  ];
  for (const [template, message] of passed) {
    verifies("P2", `${template} is INVALID_INPUT for the wrong value`, async () => {
      const prompt = parsePrompt(`---\nname: a\n---\n${template}`, { filename: "prompts/a.md" });
      const error = await rejection(render(prompt, input));
      expect(error).toMatchObject({ code: "INVALID_INPUT" });
      expect(error.message).toContain(message);
    });
  }

  verifies("P7", "lint follows names into a part of a list", async () => {
    const text = `---
title: List the people
description: Lists them.
input:
  type: object
  properties:
    people: { type: array, items: { type: object, properties: { name: { type: string } } } }
    urgent: { type: boolean }
---
{{#each (slice people 0 3)}}{{nmae}}{{/each}}{{#if (and urgnt (eq people.length 3))}}!{{/if}}`;
    const { problems } = await lintPrompts({ text, filename: "a.md" });
    expect(problems.filter(({ code }) => code === "unknown-variable").map(({ message }) => message)).toEqual([
      'There is no "nmae" in the entries of input.people.',
      'There is no "urgnt" in input.',
    ]);
  });
});
