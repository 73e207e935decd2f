import { placeOf, promptProblem } from "../problem.ts";
import type { TemplateSource } from "./source.ts";

// Far more than anybody writes. Handlebars needs time that grows with the square of the depth, and then overflows the stack.
const maxDepth = 100;

/**
 * Refuses a template that is nested too deep to be parsed.
 *
 * @throws ToolkitError `INVALID_PROMPT` with the place
 */
export function refuseDeepNesting(source: TemplateSource): void {
  let blocks = 0;
  // Of one tag; those of the text between tags do not matter.
  let parentheses = 0;
  let isInTag = false;
  for (const { 0: mark, index } of source.text.matchAll(/\{\{~?[#^/]?|[()]|\}\}/g)) {
    if (mark === "(" && isInTag) parentheses += 1;
    else if (mark === ")" && isInTag) parentheses -= 1;
    else if (mark.length > 1) {
      isInTag = mark !== "}}";
      parentheses = 0;
      if (/[#^]$/.test(mark)) blocks += 1;
      else if (mark.endsWith("/")) blocks -= 1;
    }
    if (blocks <= maxDepth && parentheses <= maxDepth) continue;
    const { line, column } = placeOf(source.text, index);
    const what = `The template is nested deeper than ${maxDepth} levels here.`;
    throw promptProblem(
      source.file,
      source.placeAt(line, column),
      what,
      "Close blocks and parentheses, or write partials.",
    );
  }
}
