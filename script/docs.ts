/** Checks the docs against the code they show; with `--write` it brings them up to date. */
import { checkDocs, pagesOf } from "./support/docs.ts";
import { project, readManifest } from "./support/project.ts";

const write = process.argv.slice(2).includes("--write");
const problems = await checkDocs(project, await readManifest(), { write });
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
} else {
  console.log(`${(await pagesOf(project)).length} pages agree with the code.`);
}
