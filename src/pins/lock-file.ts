import { resolve } from "node:path";
import { messageOf, ToolkitError } from "../core/error.ts";
import { readBounded } from "../lib/bounded-file.ts";
import { digest } from "../lib/canonical.ts";
import { replaceFile, withFileLock } from "../lib/file-lock.ts";
import { isRecord } from "../lib/value.ts";
import { unicodeEscaped } from "../lib/visible-text.ts";
import { type Contract, contractToJson, noContract, parseContract } from "./contract.ts";
import type { KeptContract, PinPlace } from "./pin-place.ts";

const fileVersion = 1;
const maxBytes = 256 * 2 ** 20;
const noFile = "";

type Contracts = ReadonlyMap<string, KeptContract>;

/** Contracts in a file that is made to be committed and reviewed. */
export interface LockFile extends PinPlace {
  readonly path: string;
  /** The namespaces that it has; undefined where there is no such file. @throws ToolkitError `STORE_FAILED` */
  namespaces(): Promise<readonly string[] | undefined>;
}

/**
 * Keeps contracts in a file of JSON: in a fixed order, a member on each line, what does not show escaped. It is replaced whole, with mode 644. While
 * it is written, a file ending in `.lock` lies beside it. What others write is seen when it is loaded next.
 */
export function lockFile(file: string): LockFile {
  const path = resolve(file);
  let last: { readonly text: string; readonly contracts: Contracts } = { text: noFile, contracts: new Map() };
  const read = async (): Promise<Contracts | undefined> => {
    const text = await guarded("read", path, () => readText(path));
    if (text === undefined) return undefined;
    if (text !== last.text) last = { text, contracts: parse(text, path, last.contracts) };
    return last.contracts;
  };
  const load = async (namespace: string) => (await read())?.get(namespace) ?? { contract: noContract, version: noFile };
  return {
    path,
    namespaces: async () => {
      const contracts = await read();
      return contracts && [...contracts.keys()];
    },
    load,
    save: (namespace, contract, expected) =>
      guarded("write", path, () =>
        withFileLock(`${path}.lock`, async () => {
          const kept = await load(namespace);
          if (kept.version !== expected) {
            const message = `${path} was changed meanwhile: it has another contract of "${namespace}".`;
            throw new ToolkitError("CONFLICT", message, { key: namespace, owners: [] });
          }
          const contracts = new Map([...((await read()) ?? []), [namespace, keptAs(contract)]]);
          await replaceFile(path, textOf(contracts), 0o644);
          return load(namespace);
        }),
      ),
    watch: () => () => undefined,
  };
}

function keptAs(contract: Contract): KeptContract {
  return { contract, version: digest(contractToJson(contract)) };
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readBounded(path, { maxBytes })).toString("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function textOf(contracts: Contracts): string {
  const sorted = [...contracts].sort(([a], [b]) => (a < b ? -1 : 1));
  const value = {
    lockfileVersion: fileVersion,
    contracts: Object.fromEntries(sorted.map(([namespace, { contract }]) => [namespace, contractToJson(contract)])),
  };
  return `${unicodeEscaped(JSON.stringify(value, null, 2))}\n`;
}

/** @param before - what was read last: of equal contracts the one that is known stays */
function parse(text: string, path: string, before: Contracts): Contracts {
  let at: string | undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value) || value.lockfileVersion !== fileVersion || !isRecord(value.contracts))
      throw new Error(`it is no lock file of version ${fileVersion}`);
    const read = Object.entries(value.contracts).map(([namespace, given]): [string, KeptContract] => {
      at = namespace;
      const kept = keptAs(parseContract(given, `/contracts/${namespace}`));
      const known = before.get(namespace);
      return [namespace, known?.version === kept.version ? known : kept];
    });
    return new Map(read);
  } catch (cause) {
    const why = messageOf(cause);
    const message = `${path}:${lineOf(text, why, at)}: the pins cannot be read: ${why}. Correct the file, or restore it from version control.`;
    throw new ToolkitError("STORE_FAILED", message, { operation: "read" }, { cause });
  }
}

/** The line of a syntax error, or of the contract that cannot be read; counted from 1. */
function lineOf(text: string, why: string, namespace: string | undefined): number {
  const [, position] = /at position (\d+)/.exec(why) ?? [];
  const end = /end of JSON/.test(why) ? text.length : 0;
  const start = namespace === undefined ? end : Math.max(0, text.indexOf(`"${namespace}"`));
  return text.slice(0, position === undefined ? start : Number(position)).split("\n").length;
}

async function guarded<T>(operation: string, path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (ToolkitError.is(error)) throw error;
    const message = `${path} cannot be ${operation === "read" ? "read" : "written"}: ${messageOf(error)}`;
    throw new ToolkitError("STORE_FAILED", message, { operation }, { cause: error });
  }
}
