import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { project } from "../../../../script/support/project.ts";

const execute = promisify(execFile);

/**
 * Builds the side of PromptKit, with what that needs, from the checkout of its repository in BENCH_PROMPTKIT: it takes the place of the
 * program of a benchmark that is there. Needs Go.
 *
 * @returns its program; undefined where BENCH_PROMPTKIT is not set
 */
export async function promptKitProgram(): Promise<string | undefined> {
  const checkout = process.env.BENCH_PROMPTKIT;
  if (checkout === undefined) return undefined;
  const folder = join(project, ".bench/promptkit");
  await mkdir(folder, { recursive: true });
  const cwd = join(checkout, "benchmarks/frameworks/promptkit/round1");
  const ours = fileURLToPath(new URL("./main.go", import.meta.url));
  // Nothing is written into the checkout.
  const overlay = join(folder, "overlay.json");
  await writeFile(overlay, JSON.stringify({ Replace: { [join(cwd, "main.go")]: ours } }));
  const program = join(folder, "promptkit");
  await execute("go", ["build", "-overlay", overlay, "-o", program, "."], { cwd, maxBuffer: 2 ** 24 });
  return program;
}
