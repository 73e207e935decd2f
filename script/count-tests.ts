/** Reads a report of vitest's JSON reporter and prints `<passed> <failed>`, for `.ci/run`. */
import { readFile } from "node:fs/promises";

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { status: string }[];
  }[];
}

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("Give the path of the report: node script/count-tests.ts report.json");
const report: Report = JSON.parse(await readFile(path, "utf8"));

// A file that fails before its first test has no failed test to count, so it counts itself.
const brokenFiles = report.testResults.filter(
  ({ status, assertionResults }) => status === "failed" && assertionResults.every((test) => test.status !== "failed"),
);
console.log(`${report.numPassedTests} ${report.numFailedTests + brokenFiles.length}`);
