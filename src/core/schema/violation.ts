import type { Issue } from "../error-catalog.ts";

/** The result of validating a value that does not fit its schema. */
export class Violation {
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    this.issues = issues;
  }
}

/** The issues as one line for people: each with its pointer. */
export function describeIssues(issues: readonly Issue[]): string {
  return issues.map(({ pointer, message }) => (pointer === "" ? message : `${pointer} ${message}`)).join("; ");
}
