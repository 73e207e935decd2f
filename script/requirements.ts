/** Prints what proves each requirement; fails when something is proven by nothing. */
import { fileURLToPath } from "node:url";
import { requirements } from "../test/requirements.ts";
import { proofsOf, readCitations } from "../test/support/citations.ts";
import { table } from "./support/table.ts";

const project = fileURLToPath(new URL("..", import.meta.url));
const proofs = proofsOf(requirements, await readCitations(project));
const shortened = (text: string): string => (text.length > 72 ? `${text.slice(0, 71)}…` : text);

const rows = proofs.map(({ requirement, tests, files }) => [
  requirement.id,
  shortened(requirement.text),
  String(tests),
  files.map((file) => file.replace(/^test\//, "")).join(" "),
]);
console.log(table(["id", "requirement", "tests", "files"], rows, { right: ["tests"] }));

const unproven = proofs.filter((proof) => proof.tests === 0).map((proof) => proof.requirement.id);
console.log(`\n${proofs.length - unproven.length} of ${proofs.length} requirements are proven.`);
if (unproven.length > 0) {
  console.error(`Proven by nothing: ${unproven.join(", ")}`);
  process.exitCode = 1;
}
