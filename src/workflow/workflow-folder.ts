import { isUtf8 } from "node:buffer";
import { basename, dirname, join } from "node:path";
import { messageOf, ToolkitError } from "../core/error.ts";
import { readBounded } from "../lib/bounded-file.ts";
import type { WantedFiles } from "../lib/folder-scan.ts";
import type { FolderContents } from "../resource/followed-folder.ts";
import { maxWorkflowBytes, type ParsedWorkflow, parseWorkflow } from "./parse-workflow.ts";

/** A workflow and its file. */
export interface PlacedWorkflow {
  readonly file: string;
  readonly parsed: ParsedWorkflow;
}

/** A file, and what came of it. */
interface WorkflowFile {
  /** The last good version. */
  readonly parsed: ParsedWorkflow | undefined;
  readonly error: Error | undefined;
}

const fileName = /\.(?:ya?ml|json)$/i;
/** The most workflow files of a folder. */
const maxFiles = 1_000;

/** The workflow files of a folder, or one of them. */
export class WorkflowFolder implements FolderContents {
  readonly folder: string;
  readonly files: WantedFiles;
  /** The name of the file that is read alone. */
  readonly #one: string | undefined;
  readonly #read = new Map<string, WorkflowFile>();
  #others: readonly Error[] = [];

  /** @param path - of a folder, or of a file by its extension */
  constructor(path: string) {
    const isFile = fileName.test(path);
    this.folder = isFile ? dirname(path) : path;
    this.#one = isFile ? basename(path) : undefined;
    this.files = {
      wanted: isFile ? (name) => name === this.#one : (name) => fileName.test(name) && !/^[._]/.test(name),
    };
  }

  /** In the order of their names. */
  get workflows(): readonly PlacedWorkflow[] {
    const names = [...this.#read.keys()].sort();
    return names.flatMap((name) => {
      const { parsed } = this.#read.get(name) ?? {};
      return parsed === undefined ? [] : [{ file: join(this.folder, name), parsed }];
    });
  }

  /** The paths of the files that were read. */
  get paths(): readonly string[] {
    return [...this.#read.keys()].sort().map((name) => join(this.folder, name));
  }

  get problems(): readonly Error[] {
    return [...[...this.#read.values()].flatMap(({ error }) => error ?? []), ...this.#others];
  }

  async update(names: readonly string[], changed: readonly string[]): Promise<(name: string) => boolean> {
    const all = names.slice(0, maxFiles);
    const current = new Set(all);
    for (const name of this.#read.keys()) if (!current.has(name)) this.#read.delete(name);
    for (const name of all) {
      const before = this.#read.get(name);
      const isDue = before === undefined || before.error !== undefined || changed.includes(name);
      if (isDue) this.#read.set(name, await this.#readFile(name, before));
    }
    this.#others = [];
    if (names.length > maxFiles) this.#others = [this.#tooMany(names.length)];
    // One that was named, and not found by looking for workflows, is missed.
    if (this.#one !== undefined && names.length === 0)
      this.#others = [unreadable(join(this.folder, this.#one), new Error("there is no such file"))];
    return (name) => this.#read.get(name)?.error !== undefined;
  }

  async unreadable(cause: unknown): Promise<Error> {
    return unreadable(this.folder, cause);
  }

  async #readFile(name: string, before: WorkflowFile | undefined): Promise<WorkflowFile> {
    const file = join(this.folder, name);
    try {
      // The operator chose a file that is named: a link of it may lead anywhere.
      const within = this.#one === undefined ? this.folder : undefined;
      const bytes = await readBounded(file, { maxBytes: maxWorkflowBytes, within });
      if (!isUtf8(bytes)) throw new Error("it is not text in UTF-8");
      return { parsed: await parseWorkflow({ text: bytes.toString("utf8"), file }), error: undefined };
    } catch (error) {
      const isNamed = ToolkitError.is(error, "INVALID_WORKFLOW");
      return { parsed: before?.parsed, error: isNamed ? error : unreadable(file, error) };
    }
  }

  #tooMany(actual: number): Error {
    const message = `${this.folder}: There are ${actual} workflow files, and ${maxFiles} are read. Use several folders.`;
    return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "workflow files", max: maxFiles, actual });
  }
}

function unreadable(path: string, cause: unknown): Error {
  const message = `${path}: It cannot be read: ${messageOf(cause)}.`;
  return new ToolkitError("INVALID_WORKFLOW", message, { file: path }, { cause });
}
