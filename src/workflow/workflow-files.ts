import { isUtf8 } from "node:buffer";
import { basename, dirname, join, resolve } from "node:path";
import { messageOf, ToolkitError } from "../core/error.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import { FileTooLarge, LinkLeadsOut, readBounded } from "../lib/bounded-file.ts";
import { type FolderState, scanFolder, type WantedFiles } from "../lib/folder-scan.ts";
import { type FolderWatcher, watchFolder } from "../lib/folder-watcher.ts";
import { findCallCycles } from "./call-cycles.ts";
import { maxWorkflowBytes, type ParsedWorkflow, parseWorkflow } from "./parse-workflow.ts";
import type { Workflow } from "./workflow-definition.ts";
import type { WorkflowSupply } from "./workflows.ts";

/** Options of `workflowFiles`. */
export interface WorkflowFilesOptions {
  /** Follow changes of the files. Default: false, they are read once. */
  readonly watch?: boolean | undefined;
  /** The interval of looks beside the events of the file system, in milliseconds, from 100. Default: 5 s. */
  readonly pollMs?: number | undefined;
}

const optionNames: OptionNames<WorkflowFilesOptions> = { watch: true, pollMs: true };
const owner = "of workflow files";
const workflowFile = /\.(?:ya?ml|json)$/i;
/** More files are not read, of all folders together. */
const maxFiles = 1_000;

/**
 * The workflows of files and folders, for `workflows`. Of a folder each `*.yaml`, `*.yml` and `*.json` is one whose name does not begin with `.` or `_`;
 * folders inside it are not read, and no link may lead out of it.
 *
 * A broken file stops no other: it keeps its last good version, and is among the problems, with line and column. With `watch` a file that is new,
 * changed or removed takes effect within a fraction of a second.
 *
 * @param paths - files and folders; a relative one counts from the working directory
 * @throws ToolkitError `INVALID_CONFIG` for options that are unknown or out of their range
 *
 * @example
 * ```ts
 * toolkit.addSource("workflow", workflows(workflowFiles("workflows", { watch: true })));
 * ```
 */
export function workflowFiles(paths: string | readonly string[], options: WorkflowFilesOptions = {}): WorkflowSupply {
  assertOptionNames(options, optionNames, owner);
  const { watch = false, pollMs = 5_000 } = options;
  const all = [paths].flat();
  if (all.some((path) => typeof path !== "string" || path === ""))
    throw invalidOption("paths", "paths of files and folders", paths, owner);
  if (typeof watch !== "boolean") throw invalidOption("watch", "true or false", watch, owner);
  if (typeof pollMs !== "number" || !(pollMs >= 100))
    throw invalidOption("pollMs", "a number of milliseconds from 100", pollMs, owner);
  const files = new WorkflowFiles(all, pollMs);
  return {
    list: () => files.list(),
    problems: () => files.problems,
    ...(watch ? { watch: (listener: () => void) => files.watch(listener) } : {}),
  };
}

/** A folder that is read, and which of its files. */
interface ReadFolder extends WantedFiles {
  readonly path: string;
  /** The files that were named; undefined for a folder that was. */
  readonly named: readonly string[] | undefined;
  watcher: FolderWatcher | undefined;
}

/** A file as it was read last. */
interface ReadFile {
  readonly version: string;
  /** The last good version. */
  readonly parsed: ParsedWorkflow | undefined;
  readonly error: Error | undefined;
}

class WorkflowFiles {
  readonly #folders: readonly ReadFolder[];
  readonly #pollMs: number;
  readonly #listeners = new Set<() => void>();
  #files: ReadonlyMap<string, ReadFile> = new Map();
  #problems: readonly Error[] = [];
  #watchProblem: Error | undefined;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(paths: readonly string[], pollMs: number) {
    this.#folders = paths.map((path) => (workflowFile.test(path) ? fileAt(resolve(path)) : folderAt(resolve(path))));
    this.#pollMs = pollMs;
  }

  get problems(): readonly Error[] {
    return this.#watchProblem === undefined ? this.#problems : [...this.#problems, this.#watchProblem];
  }

  /** Reads the changed files. Reads are sequential: two toolkits may share them. */
  list(): Promise<readonly Workflow[]> {
    const reading = this.#reading.then(() => this.#read());
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  watch(listener: () => void): () => void {
    const own = () => listener();
    this.#listeners.add(own);
    for (const folder of this.#folders) {
      folder.watcher ??= watchFolder(folder.path, {
        wanted: folder.wanted,
        pollMs: this.#pollMs,
        onChange: () => this.#emitChange(),
        onProblem: (cause) => {
          const message = `${folder.path}: The file system reports no changes of this folder: ${messageOf(cause)}. It is looked at every ${this.#pollMs / 1000} s.`;
          this.#watchProblem = new Error(message, { cause });
          this.#emitChange();
        },
      });
    }
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      for (const folder of this.#folders) {
        folder.watcher?.close();
        folder.watcher = undefined;
      }
      this.#watchProblem = undefined;
    };
  }

  #emitChange(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  async #read(): Promise<readonly Workflow[]> {
    const files = new Map<string, ReadFile>();
    const problems: Error[] = [];
    for (const folder of this.#folders) {
      const state = (await folder.watcher?.state()) ?? (await scanFolder(folder.path, folder));
      if (state.identity === undefined) problems.push(unreadable(folder.path, state.error));
      for (const name of namesIn(folder, state)) {
        const file = join(folder.path, name);
        const version = state.files.get(name)?.version;
        if (files.size >= maxFiles && !files.has(file)) problems.push(tooMany(folder.path));
        if (files.size >= maxFiles) break;
        files.set(file, await this.#readFile(file, folder, version));
      }
      // A folder that cannot be read keeps what was known of it.
      if (state.identity === undefined)
        for (const [file, known] of this.#files) if (dirname(file) === folder.path) files.set(file, known);
    }
    this.#files = files;
    const { kept, conflicts } = oneOfEachName(files);
    problems.push(...[...files.values()].flatMap(({ error }) => error ?? []), ...conflicts, ...findCallCycles(kept));
    this.#problems = problems;
    return kept.map(({ workflow }) => workflow);
  }

  async #readFile(file: string, folder: ReadFolder, version: string | undefined): Promise<ReadFile> {
    const before = this.#files.get(file);
    // A broken one is read again: it may have been half-written.
    if (version !== undefined && before?.version === version && before.error === undefined) return before;
    try {
      const within = folder.named === undefined ? folder.path : undefined;
      const bytes = await readBounded(file, { maxBytes: maxWorkflowBytes, within });
      if (!isUtf8(bytes)) throw new Error("it is not text in UTF-8");
      return {
        version: version ?? "",
        parsed: await parseWorkflow({ text: bytes.toString("utf8"), file }),
        error: undefined,
      };
    } catch (error) {
      const problem = ToolkitError.is(error, "INVALID_WORKFLOW") ? error : unreadable(file, error);
      return { version: version ?? "", parsed: before?.parsed, error: problem };
    }
  }
}

function folderAt(path: string): ReadFolder {
  const wanted = (name: string) => workflowFile.test(name) && !/^[._]/.test(name);
  return { path, wanted, named: undefined, watcher: undefined };
}

function fileAt(path: string): ReadFolder {
  const name = basename(path);
  return { path: dirname(path), wanted: (other) => other === name, named: [name], watcher: undefined };
}

/** A file that was named is read, and so reported, where it is not there too. */
function namesIn({ named }: ReadFolder, { identity, files }: FolderState): readonly string[] {
  return identity === undefined ? [] : (named ?? [...files.keys()]);
}

/** Of two workflows with one name the first keeps it. */
function oneOfEachName(files: ReadonlyMap<string, ReadFile>) {
  const owners = new Map<string, { readonly file: string; readonly parsed: ParsedWorkflow }>();
  const conflicts: Error[] = [];
  for (const [file, { parsed }] of files) {
    if (parsed === undefined) continue;
    const { name } = parsed.workflow;
    const owner = owners.get(name);
    if (owner === undefined) owners.set(name, { file, parsed });
    else {
      const message = `${file}: The name "${name}" is that of ${owner.file} too. Give one of them another name.`;
      conflicts.push(new ToolkitError("CONFLICT", message, { key: name, owners: [owner.file, file] }));
    }
  }
  return { kept: [...owners.values()].map(({ parsed }) => parsed), conflicts };
}

function tooMany(folder: string): Error {
  return new ToolkitError(
    "LIMIT_EXCEEDED",
    `${folder}: There are more than ${maxFiles} workflow files. The others are not read.`,
    {
      limit: "files",
      max: maxFiles,
    },
  );
}

function unreadable(path: string, cause: unknown): Error {
  const why =
    cause instanceof FileTooLarge
      ? `it has ${cause.bytes} bytes, and may have ${maxWorkflowBytes}`
      : cause instanceof LinkLeadsOut
        ? "it is a link that leads out of its folder"
        : messageOf(cause);
  return new ToolkitError("INVALID_WORKFLOW", `${path}: It cannot be read: ${why}.`, { file: path }, { cause });
}
