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
/** The most of them that a message names. */
const maxDescribed = 100;

/** The first issues as one line for people: each with its pointer. */
export function describeIssues(issues: readonly Issue[]): string {
  const texts = issues
    .slice(0, maxDescribed)
    .map(({ pointer, message }) => (pointer === "" ? message : `${pointer} ${message}`));
  if (issues.length > maxDescribed) texts.push(`and ${issues.length - maxDescribed} more`);
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
