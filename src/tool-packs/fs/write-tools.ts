import type { Stats } from "node:fs";
import { z } from "zod";
import { ToolkitError } from "../../core/error.ts";
import type { Tool } from "../../core/item.ts";
import { defineTool } from "../../core/tool.ts";
import type { ContainedFolder } from "../folder/contained-folder.ts";
import { invalidPath } from "../folder/file-errors.ts";
import type { ReadLimits } from "../folder/folder-config.ts";
import { readWhole, withFile } from "../folder/read-whole.ts";
import { fsGuidance, pathSchema } from "./read-tools.ts";

const options = { guidance: fsGuidance, maxConcurrent: 1 } as const;

/** `write_file`. */
export function writeFileTool(folder: ContainedFolder, { maxFileBytes }: ReadLimits): Tool {
  return defineTool({
    name: "write_file",
    description: "Writes a text file whole, and makes its folders. To change a part of a file use edit_file.",
    input: z.object({
      path: pathSchema,
      text: z.string(),
      replace: z.boolean().default(false).describe("Whether a file that is there is replaced"),
    }),
    output: z.object({ path: z.string(), bytes: z.int(), created: z.boolean() }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    options,
    run: async ({ path, text, replace }) => {
      const bytes = toBytes(path, text, maxFileBytes);
      const before = replace ? await statsOf(folder, path) : null;
      await folder.write(path, bytes, before);
      return { path, bytes: bytes.length, created: before === null };
    },
  });
}

/** `edit_file`. */
export function editFileTool(folder: ContainedFolder, { maxFileBytes }: ReadLimits): Tool {
  return defineTool({
    name: "edit_file",
    description: "Replaces parts of a text file. All edits are made, or none.",
    input: z.object({
      path: pathSchema,
      edits: z
        .array(
          z.object({
            old: z.string().min(1).describe("As it stands in the file, once"),
            new: z.string(),
            all: z.boolean().default(false).describe("Whether old may stand there several times"),
          }),
        )
        .min(1)
        .max(100),
    }),
    output: z.object({ path: z.string(), replaced: z.int(), bytes: z.int() }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    options,
    run: async ({ path, edits }) => {
      const { stats, bytes } = await withFile(await folder.openFile(path), async (file) => ({
        stats: file.stats,
        bytes: await readWhole(file, path, maxFileBytes),
      }));
      let text = decodeStrictly(path, bytes);
      let replaced = 0;
      for (const [index, edit] of edits.entries()) {
        const parts = text.split(edit.old);
        assertCount(path, { index, count: parts.length - 1, all: edit.all });
        replaced += parts.length - 1;
        text = parts.join(edit.new);
        toBytes(path, text, maxFileBytes);
      }
      const changed = toBytes(path, text, maxFileBytes);
      await folder.write(path, changed, stats);
      return { path, replaced, bytes: changed.length };
    },
  });
}

async function statsOf(folder: ContainedFolder, path: string): Promise<Stats | null> {
  try {
    return await folder.stat(path);
  } catch (error) {
    if (ToolkitError.is(error, "NOT_FOUND")) return null;
    throw error;
  }
}

function assertCount(
  path: string,
  { index, count, all }: { readonly index: number; readonly count: number; readonly all: boolean },
): void {
  if (count === 1 || (all && count > 1)) return;
  const advice = count === 0 ? "Read the file, and copy it exactly" : "Give more of what is around it, or set all";
  const message = `stands ${count} times in ${path}`;
  throw new ToolkitError(
    "INVALID_INPUT",
    `The old text of edit ${index + 1} ${message}. ${advice}. Nothing was changed.`,
    {
      issues: [{ pointer: `/edits/${index}/old`, message }],
    },
  );
}

function toBytes(path: string, text: string, max: number): Buffer {
  const actual = Buffer.byteLength(text);
  if (actual <= max) return Buffer.from(text);
  const message = `The text for ${JSON.stringify(path)} has ${actual} bytes, and at most ${max} are written.`;
  throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxFileBytes", max, actual });
}

/** Text in another charset would be written back as something else. */
function decodeStrictly(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalidPath(path, "is no text in UTF-8, and only such a file can be edited");
  }
}
