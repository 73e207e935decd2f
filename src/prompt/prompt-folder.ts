import type { Prompt } from "../core/item.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import { type PromptLimits, type ReadPromptLimits, readPromptLimits } from "../core/prompt-limits.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Source } from "../core/source.ts";
import type { WantedFiles } from "../lib/folder-scan.ts";
import { type FolderContents, FollowedFolder } from "../resource/followed-folder.ts";
import { PromptCollection } from "./prompt-collection.ts";
import {
  assertRecursive,
  fileRole,
  foldersWithPrompts,
  mayHoldPrompts,
  pathOf,
  readTexts,
  unreadableFolder,
} from "./prompt-files.ts";

/** Options of `promptFolder`. */
export interface PromptFolderOptions {
  /**
   * Read the folders inside it too: `letters/greet.md` is the prompt `letters-greet`, with the partials of its own folder. Folders whose
   * names start with `.` or `_`, `node_modules`, and links to folders are left out. Default: they are not read, and those that hold
   * prompts are reported; `false` leaves them out silently.
   */
  readonly recursive?: boolean | undefined;
  /** Follow changes of its files. Default: false, it is read once. */
  readonly watch?: boolean | undefined;
  /**
   * Interval of looks in addition to the events of the file system, in milliseconds, from 100: network disks have no events, and
   * neither have links to files in other folders, of which none may lead out of this one. Each looks at the folders, which change as files
   * come, go and take the place of others, and where there are no events at 1,000 of the files. Default: 5 s.
   */
  readonly pollMs?: number | undefined;
  /** The size of each file, and the work of a rendering. */
  readonly limits?: PromptLimits | undefined;
}

const optionNames: OptionNames<PromptFolderOptions> = { recursive: true, watch: true, pollMs: true, limits: true };
const defaultPollMs = 5_000;
const leastPollMs = 100;

/**
 * The prompts of a folder as a source, for a namespace of its own: each `*.md` and `*.prompt` except `README.md` and
 * files whose names start with `_` (partials) or `.`. Folders inside it are read with `recursive` alone, and a link that leads out of it is a problem.
 *
 * With `watch`, a file that is new, changed or removed takes effect within a tenth of a second on local disks of Linux, and half a second elsewhere, and many at once are one
 * `promptListChanged`. A changed partial changes the prompts that use it. The folder may be created later, removed, and created again.
 *
 * A broken file stops no other: it keeps its last good version, is among the `failures` of `list()`, and is logged once, with line,
 * column and what to write instead; its repair is logged too. Of two files with one name the first keeps it. A folder that cannot be
 * read keeps the prompts that were known.
 *
 * @param folder - a path or a `file:` URL
 * @throws ToolkitError `INVALID_INPUT` for another folder; `INVALID_CONFIG` for an option that is unknown or out of its range
 *
 * @example
 * ```ts
 * toolkit.addSource("prompts", promptFolder("prompts", { watch: true }));
 * ```
 */
export function promptFolder(folder: string | URL, options: PromptFolderOptions = {}): Source {
  const path = pathOf(folder);
  assertOptionNames(options, optionNames, "of a prompt folder");
  const { watch = false, pollMs = defaultPollMs, recursive } = options;
  assertRecursive(recursive, "of a prompt folder");
  if (typeof watch !== "boolean") throw invalidOption("watch", "true or false", watch, "of a prompt folder");
  if (typeof pollMs !== "number" || !(pollMs >= leastPollMs)) {
    throw invalidOption("pollMs", `a number of milliseconds from ${leastPollMs}`, pollMs, "of a prompt folder");
  }
  const contents = new PromptFolder(path, { recursive, limits: readPromptLimits(options.limits, "limits") });
  const followed = new FollowedFolder(path, contents, { pollMs });
  return {
    async prompt(reading) {
      await followed.read(reading);
      return contents.prompts;
    },
    problems: () => [...followed.problems, ...contents.remarks],
    immutable: true,
    ...(watch ? { watch: (listener) => followed.watch(() => listener({ kind: "prompt" })) } : {}),
  };
}

/** The most folders that a message names. */
const maxNamed = 5;

/** The options of a folder with their defaults. */
interface FolderSettings {
  readonly recursive: boolean | undefined;
  readonly limits: ReadPromptLimits;
}

/** The prompts of a folder. */
class PromptFolder implements FolderContents {
  readonly files: WantedFiles;
  readonly #path: string;
  readonly #settings: FolderSettings;
  readonly #collection: PromptCollection;
  #unreadFolders: Error | undefined;
  #wasRead = false;

  constructor(path: string, settings: FolderSettings) {
    this.#path = path;
    this.#settings = settings;
    this.files = settings.recursive === true ? { wanted: isWanted, entered: mayHoldPrompts } : { wanted: isWanted };
    this.#collection = new PromptCollection(path, settings.limits);
  }

  get prompts(): readonly Prompt[] {
    return this.#collection.prompts;
  }

  get problems(): readonly Error[] {
    return this.#collection.problems;
  }

  /** Those that are no problem of a file. */
  get remarks(): readonly Error[] {
    return this.#unreadFolders === undefined ? [] : [this.#unreadFolders];
  }

  async update(names: readonly string[], changed: readonly string[], options: ReadOptions) {
    const read = await readTexts(this.#path, changed, { ...options, limits: this.#settings.limits });
    await this.#collection.update(names, read);
    if (!this.#wasRead && this.#settings.recursive === undefined) await this.#findUnreadFolders();
    this.#wasRead = true;
    return (name: string) => read.errors.has(name) || this.#collection.isBroken(name);
  }

  unreadable(cause: unknown): Promise<Error> {
    return unreadableFolder(this.#path, cause);
  }

  /** Looks once for prompts in folders that are not read: the author of one would search long for it. */
  async #findUnreadFolders(): Promise<void> {
    const names = await foldersWithPrompts(this.#path);
    if (names.length === 0) return;
    const what = `These folders in it hold prompts and are not read: ${names.slice(0, maxNamed).join(", ")}${names.length > maxNamed ? " and others" : ""}.`;
    const hint = "Set recursive: true to read them, as `folder-name`, or recursive: false to leave them out.";
    this.#unreadFolders = new Error(`${this.#path}: ${what} ${hint}`);
  }
}

function isWanted(name: string): boolean {
  return fileRole(name) !== undefined;
}
