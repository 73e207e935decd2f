import { createHash } from "node:crypto";
import { lstat, mkdir, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { workflowRunStatuses } from "../workflow/stored-run.ts";

/** The version of what is said through the socket. */
export const controlVersion = 1;

/** The longest path of a socket on every system. */
const maxPath = 100;
/** The longest line of a request. */
export const maxRequestBytes = 65_536;

/** The things to do with a run. */
export const runActions = ["show", "resume", "cancel"] as const;

/** A request to a running service. */
export const controlRequest = z.discriminatedUnion("method", [
  z.object({ version: z.int(), method: z.literal("status"), watch: z.boolean().optional() }),
  z.object({ version: z.int(), method: z.literal("approvals") }),
  z.object({ version: z.int(), method: z.literal("workflows"), status: z.enum(workflowRunStatuses).optional() }),
  z.object({ version: z.int(), method: z.literal("workflow"), id: z.string(), action: z.enum(runActions) }),
  z.object({ version: z.int(), method: z.literal("decide"), id: z.string(), approved: z.boolean() }),
]);

/** A request to a running service. */
export type ControlRequest = z.infer<typeof controlRequest>;

/** A line of the answer: a result, or an error as JSON. */
export const controlAnswer = z.union([z.object({ result: z.unknown() }), z.object({ error: z.unknown() })]);

/**
 * The path of the socket of a service, in a folder that no other user may look into: it decides approvals. Undefined where there is no such folder,
 * and on Windows, whose pipes are not private to a user.
 */
export async function controlPath(config: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  const owner = process.getuid?.();
  const { XDG_RUNTIME_DIR: runtime } = env;
  const base = runtime === undefined || runtime === "" ? tmpdir() : runtime;
  const folder = join(base, `toolweave-${owner}`);
  const file = await realpath(config).catch(() => config);
  const name = createHash("sha256").update(file).digest("hex").slice(0, 24);
  const path = join(folder, `${name}.sock`);
  if (Buffer.byteLength(path) > maxPath) return undefined;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // In a folder that all may write to, another user may have made it first.
    const found = await lstat(folder);
    return found.isDirectory() && found.uid === owner && (found.mode & 0o077) === 0 ? path : undefined;
  } catch {
    return undefined;
  }
}
