import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type Fence, fencesOf } from "../../script/support/markdown.ts";
import { project } from "../../script/support/project.ts";
import { run } from "../../script/support/run.ts";
import { verifies } from "../support/verifies.ts";

/** A folder in which `npm run prompt` is what it is in the project, and nothing else is there yet. */
async function freshCopy(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-guide-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(join(project, "package.json"), join(folder, "package.json"));
  for (const name of ["node_modules", "script", "src"])
    await symlink(join(project, name), join(folder, name), "junction");
  return folder;
}

const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/_API_KEY$|^OLLAMA_|^npm_/.test(name)),
);

/** The text between two blocks of a page. */
function proseBefore(page: string, fence: Fence, before: Fence | undefined): string {
  return page
    .split("\n")
    .slice((before?.end ?? -1) + 1, fence.start)
    .join("\n");
}

verifies(
  "P7",
  "whoever follows the page of the first prompt to the letter ends with a result that was checked",
  async () => {
    const page = await readFile(join(project, "docs/first-prompt.md"), "utf8");
    const folder = await freshCopy();
    const fences = fencesOf(page);
    let file = "";
    let output = "";
    let commands = 0;
    let shown = 0;
    for (const [index, fence] of fences.entries()) {
      const prose = proseBefore(page, fence, fences[index - 1]).replace(/\s+/g, " ");
      const [, from, to] = /Change `([^`]+)` to `([^`]+)`, save/.exec(prose) ?? [];
      if (from !== undefined && to !== undefined) {
        const text = await readFile(file, "utf8");
        expect(text).toContain(from);
        await writeFile(file, text.replace(from, to));
      }
      if (fence.language === "markdown") {
        file = join(folder, /into the file `([^`]+)`/.exec(prose)?.[1] ?? "");
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, `${fence.text}\n`);
      } else if (fence.language === "sh" && !fence.text.includes("_API_KEY")) {
        ({ output } = await run("sh", ["-c", fence.text], { cwd: folder, env: environment }));
        commands += 1;
      } else if (fence.language === "text") {
        for (const part of fence.text.split("\n\n")) expect(output).toContain(part);
        shown += 1;
      }
    }
    expect([commands, shown]).toEqual([4, 4]);
  },
  120_000,
);
