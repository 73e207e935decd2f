import type { Issue } from "../error-catalog.ts";

/** The result of validating a value that does not fit its schema. */
export class Violation {
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    this.issues = issues;
  }
}

/** The most issues of one value that are reported. */
export const maxIssues = 1_000;
/** The most of them that a message names, and the most characters of what it says of them, about. */
const maxDescribed = 100;
const maxDescription = 10_000;

/** The first issues as one line for people: each with its pointer. */
export function describeIssues(issues: readonly Issue[]): string {
  const texts: string[] = [];
  let length = 0;
  for (const { pointer, message } of issues.slice(0, maxDescribed)) {
    if (length > maxDescription) break;
    const text = pointer === "" ? message : `${pointer} ${message}`;
    length += text.length;
    texts.push(text);
  }
  if (issues.length > texts.length) texts.push(`and ${issues.length - texts.length} more`);
  return texts.join("; ");
}

/** The most characters of a list of values in a message, about: each value of a long list may be refused with the whole of another. */
const maxListed = 1_000;

/** Values as JSON, joined as far as a message goes. */
export function listed(values: readonly unknown[]): string {
  let text = "";
  for (const value of values) {
    if (text.length > maxListed) return `${text}, ...`;
    text += `${text === "" ? "" : ", "}${JSON.stringify(value)}`;
  }
  return text;
}
