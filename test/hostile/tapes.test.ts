import { writeFile } from "node:fs/promises";
import { describe, expect } from "vitest";
import { parseTape, readTape, replayed } from "../../src/tape/index.ts";
import { verifies } from "../support/verifies.ts";
import { planPrompt, tapeFolder } from "../tape/support.ts";

const folder = tapeFolder();
const header = { type: "tape", version: 1, toolweave: "1.0.0", beganAt: "2026-01-01T00:00:00Z", redact: [] };
const turn = {
  type: "turn",
  at: 0,
  run: "r",
  ref: "builtin.plan",
  step: 0,
  provider: "p",
  model: "m",
  api: "p",
  durationMs: 0,
};
const textOf = (...lines: readonly unknown[]) => lines.map((line) => JSON.stringify(line)).join("\n");

describe("a tape of a stranger", () => {
  verifies("Y2", "is refused with the line and the place of what is wrong", async () => {
    const problems: readonly (readonly [string, RegExp])[] = [
      ["", /^tape:1 is no tape: the file is empty/],
      ["{}", /^tape:1 \/type is missing/],
      [textOf({ ...header, version: 9 }), /^tape:1 \/version is 9, and this package reads version 1/],
      [textOf({ type: "call", at: 0, call: 1, verb: "call", kind: "tool", ref: "a.b" }), /^tape:1 is no first line/],
      [
        textOf(header, { type: "call", at: 0, call: "x", verb: "call", kind: "tool", ref: "a" }),
        /^tape:2 \/call invalid/,
      ],
      [`${textOf(header)}\n{"type":\n${textOf(header)}`, /^tape:2 is no JSON/],
      [textOf(header, header), /^tape:2 \/type is the first line of another tape/],
      [`${textOf(header)}\n${"[".repeat(5_000)}${"]".repeat(5_000)}`, /^tape:2 is nested deeper than 200 levels/],
    ];
    for (const [text, expected] of problems) expect(() => parseTape(text)).toThrow(expected);
    const file = folder.path("odd.tape");
    await writeFile(file, `${textOf(header)}\n{"type":"turn","at":0}\n`);
    await expect(readTape(file)).rejects.toThrow(/^odd\.tape:2 \/run/);
    await expect(readTape(folder.path("none.tape"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(readTape(folder.path("."))).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  verifies("Y2", "of another version's lines, or with a part of a last line, is read as far as it goes", () => {
    const later = { type: "weather", at: 1, sky: "blue" };
    expect(parseTape(`${textOf(header, later, { type: "end", at: 2, dropped: 3 })}\n`)).toMatchObject({
      lines: [{ type: "end" }],
      isComplete: true,
      dropped: 3,
    });
    expect(parseTape(`${textOf(header, turn)}\n{"type":"tu`)).toMatchObject({
      lines: [{ type: "turn" }],
      isComplete: false,
    });
  });

  verifies("Y2", "with requests, answers and results that are none ends the replay with an error", async () => {
    const call = { type: "call", at: 0, call: 1, verb: "call", kind: "prompt", ref: "builtin.plan", input: {} };
    const request = { digest: "x", kept: 1_000_000, added: [], tools: {}, settings: {} };
    const ends: readonly (readonly [readonly unknown[], RegExp])[] = [
      [[call, turn], /does not have the request of step 0/],
      [[call, { ...turn, request }], /does not have the request of step 0/],
      [[call, { ...turn, request: { ...request, kept: 0 } }], /message 0 of the request/],
      [[{ ...call, cut: 9 }], /does not have the input/],
      [[{ ...call, attachments: [{ name: "a" }] }], /attachment/],
      [[call], /in the answer/],
    ];
    for (const [lines, expected] of ends) {
      const prompt = planPrompt(undefined, { model: "p/m", tools: [] });
      await using replay = await replayed(parseTape([header, ...lines]), { items: [prompt] });
      await expect(replay.run()).rejects.toThrow(expected);
    }
    const proto = JSON.parse(
      `{"type":"item","at":0,"kind":"tool","ref":"builtin.x","namespace":"builtin","name":"__proto__"}`,
    );
    await expect(replayed(parseTape([header, proto]))).rejects.toMatchObject({ code: "INVALID_NAME" });
  });
});
