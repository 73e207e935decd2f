import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ToolkitError } from "../../src/core/error.ts";
import { fileRole } from "../../src/prompt/prompt-files.ts";
import { readPrompt } from "../../src/prompt/read-prompts.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";

/** Adds the prompts beside one, or in a folder, which it may name as tools. Those that are broken are left out. */
export async function addNeighbours(toolkit: Toolkit, path: string, signal: AbortSignal): Promise<void> {
  const folder = (await stat(path).catch(() => undefined))?.isDirectory() === true ? path : dirname(path);
  const names = await readdir(folder).catch(() => []);
  for (const name of names.sort()) {
    const file = join(folder, name);
    if (fileRole(name) !== "prompt" || join(path) === file) continue;
    try {
      toolkit.add(await readPrompt(file, { signal }));
    } catch (error) {
      if (!ToolkitError.is(error)) throw error;
    }
  }
}
