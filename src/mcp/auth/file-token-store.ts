import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { replaceFile, withFileLock } from "../../lib/file-lock.ts";
import { isRecord } from "../../lib/value.ts";
import { wideAccess } from "../../lib/wide-access.ts";
import {
  KeyedMutex,
  type StoredAuthorization,
  type StoredClient,
  type StoredTokens,
  type TokenStore,
} from "./token-store.ts";

const version = 1;

type Kept = Readonly<Record<string, StoredAuthorization>>;

/**
 * Keeps the tokens of any number of servers in one file, for several processes of this machine at once: after a restart no person has
 * to authorize again. The file can be read by its owner only (mode 600, a folder made for it 700), and is replaced whole or not at all.
 * A file that others may read is reported when a connector connects, and becomes 600 at the next write. It is not encrypted. While it is written, and while a token is refreshed, a file ending in `.lock` lies beside it.
 *
 * @param file - its path; the folder is made where it is missing
 * @example
 * ```ts
 * oauth({ open: (url) => console.log(`Open ${url}`), store: fileTokenStore("/var/lib/my-service/tokens.json") });
 * ```
 */
export function fileTokenStore(file: string): TokenStore {
  const path = resolve(file);
  const mutex = new KeyedMutex();
  const guarded = async <T>(operation: string, run: () => Promise<T>) => {
    try {
      return await run();
    } catch (error) {
      throw storeFailed(operation, path, error);
    }
  };
  const change = async (key: string, authorization: StoredAuthorization | undefined) => {
    const { [key]: _replaced, ...others } = await readKept(path);
    const servers = authorization === undefined ? others : { ...others, [key]: authorization };
    await replaceFile(path, `${JSON.stringify({ version, servers }, null, 2)}\n`, 0o600);
  };
  return {
    read: (key) => guarded("read", async () => (await readKept(path))[key]),
    write: (key, authorization) =>
      guarded("write", () =>
        mutex.run("file", async () => {
          await mkdir(dirname(path), { recursive: true, mode: 0o700 });
          await withFileLock(`${path}.lock`, () => change(key, authorization));
        }),
      ),
    // Where there is none yet, or it cannot be read, `read` says so.
    warning: () => wideAccess(path, "The token file").catch(() => undefined),
    exclusively: (key, run) => mutex.run(`key ${key}`, () => exclusively(path, key, run)),
  };
}

async function exclusively<T>(path: string, key: string, run: () => Promise<T>): Promise<T> {
  const hash = createHash("sha256").update(key).digest("hex").slice(0, 12);
  const own = { failed: false };
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return await withFileLock(`${path}.${hash}.lock`, async () => {
      try {
        return await run();
      } catch (error) {
        own.failed = true;
        throw error;
      }
    });
  } catch (error) {
    throw own.failed ? error : storeFailed("lock", path, error);
  }
}

async function readKept(path: string): Promise<Kept> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  return parse(text);
}

/** @throws Error that says what is wrong, and quotes nothing of it */
function parse(text: string): Kept {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("it is no valid JSON. Repair it or move it away; it was left as it is.");
  }
  if (!isRecord(value) || value.version !== version || !isRecord(value.servers)) {
    throw new Error("it is no token file of this version. Repair it or move it away; it was left as it is.");
  }
  return Object.fromEntries(Object.entries(value.servers).map(([key, entry]) => [key, authorizationOf(key, entry)]));
}

function authorizationOf(key: string, entry: unknown): StoredAuthorization {
  const { issuer, client, tokens } = isRecord(entry) ? entry : {};
  const fits =
    typeof issuer === "string" &&
    (client === undefined ||
      (isRecord(client) && fieldsFit(client, ["id"], ["secret", "authMethod", "redirectUri", "scope"]))) &&
    (tokens === undefined || (isRecord(tokens) && fieldsFit(tokens, ["accessToken"], ["refreshToken", "scope"])));
  if (!fits)
    throw new Error(`its entry ${JSON.stringify(key)} is broken. Repair it or take it out; it was left as it is.`);
  return {
    issuer,
    ...(client === undefined ? {} : { client: client as unknown as StoredClient }),
    ...(tokens === undefined ? {} : { tokens: tokens as unknown as StoredTokens }),
  };
}

function fieldsFit(
  given: Readonly<Record<string, unknown>>,
  needed: readonly string[],
  optional: readonly string[],
): boolean {
  const numbers = [given.expiresAt, given.secretExpiresAt];
  return (
    needed.every((name) => typeof given[name] === "string") &&
    optional.every((name) => given[name] === undefined || typeof given[name] === "string") &&
    numbers.every((number) => number === undefined || typeof number === "number")
  );
}

function storeFailed(operation: string, path: string, error: unknown): ToolkitError<"STORE_FAILED"> {
  const message = `The token file ${path} cannot be used (${operation}): ${messageOf(error)}`;
  return new ToolkitError("STORE_FAILED", message, { operation }, { cause: error });
}
