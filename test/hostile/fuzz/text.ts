import { stripInvisible, visible, visibleLines, withoutInvisible } from "../../../src/lib/visible-text.ts";
import type { Random } from "../../support/random.ts";
import type { HostileArea, HostileCase } from "./area.ts";

const pieces = [
  ..."\u0000\u0007\u001b\u0085\u009b\r\n\t\u00ad\u034f\u115f\u180e\u200b\u200c\u200d\u200e\u2028\u202e\u2060\u2066\u3164\ufe0e\ufe0f\ufeff\ufff9\uffa0",
  ..."\u{e0001}\u{e0041}\u{e007f}\u{e0101}\u{1d173}\u{1f468}\u{1f3fd}\u2764\u0915\u094d\u0627",
  ..."a1#[]\\;m ",
  "\ud800",
  "\udc00",
  "\u001b[",
  "\u001b]",
  "\u001b[31m",
  "\u001b]8;;x\u0007",
];
/** Characters that no text is to have; joiners and selectors of emoji are judged by what is beside them. */
const hidden = /(?!\n|\t|\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{DI}\u2028\u2029]|(?:\u200c|\u200d|\ufe0e|\ufe0f){3}/u;
const hiddenOnLine = /(?!\t|\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{DI}\u2028\u2029]/u;

/** Texts that hide something from people, or from what strips it. */
export const textFuzz: HostileArea = {
  name: "text",
  *cases(random) {
    for (;;) yield oneText(random);
  },
};

function oneText(random: Random): HostileCase {
  const one = () => pieces[Math.floor(random() * pieces.length)] ?? "";
  const unit = Array.from({ length: 1 + Math.floor(random() * 12) }, one).join("");
  const units = unit.repeat(1 + Math.floor((random() ** 4 * 300_000) / unit.length));
  const text = random() < 0.5 ? units : Array.from({ length: 1 + Math.floor(random() ** 4 * 200_000) }, one).join("");
  return {
    describe: `${JSON.stringify(text.slice(0, 60))}, ${text.length} characters`,
    run: () => check(text),
  };
}

function check(text: string): void {
  const stripped = stripInvisible(text);
  if (hidden.test(stripped)) throw new Error("Something is still hidden.");
  if (stripInvisible(stripped) !== stripped) throw new Error("What was stripped can be stripped again.");
  if (hiddenOnLine.test(visible(text))) throw new Error("Something is not escaped.");
  if (hidden.test(visibleLines(text))) throw new Error("Something of several lines is not escaped.");
  const schema = { properties: { [text]: { description: text, pattern: text, enum: [text] } }, required: [text] };
  if (text.length < 1_000 && hidden.test(JSON.stringify(withoutInvisible(schema))))
    throw new Error("Something is hidden in a schema.");
}
