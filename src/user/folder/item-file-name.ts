import { essenceOf } from "../../resource/media-type.ts";
import type { ResourceValue } from "../stored-resource.ts";
import { type FolderIndex, resourceFolder } from "./index-file.ts";

const extensions: Readonly<Record<string, string>> = {
  "application/json": "json",
  "application/pdf": "pdf",
  "application/xml": "xml",
  "application/yaml": "yaml",
  "audio/mpeg": "mp3",
  "image/gif": "gif",
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/svg+xml": "svg",
  "image/webp": "webp",
  "text/css": "css",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
  "text/plain": "txt",
};

/**
 * Gives each item a file of its own, also where upper and lower case are the same. What had a file keeps it, so that one more item
 * renames no other.
 */
export class ItemFileNames {
  readonly #taken = new Set(["readme.md"]);
  readonly #before: ReadonlyMap<string, string>;

  constructor({ prompts, resources }: FolderIndex) {
    this.#before = new Map([
      ...prompts.map(({ name, file }) => [`prompt ${name}`, file] as const),
      ...resources.map(({ uri, file }) => [`resource ${uri}`, file] as const),
    ]);
  }

  prompt(name: string): string {
    return this.#free(`prompt ${name}`, name, ".md");
  }

  resource(uri: string, { form, name, mediaType }: Pick<ResourceValue, "form" | "name" | "mediaType">): string {
    const base =
      name
        .replace(/[^A-Za-z0-9_-]+/g, "-")
        .replace(/^-+|-+$/g, "")
        .slice(0, 60) || "resource";
    const extension =
      form === "parts" ? "parts.json" : (extensions[essenceOf(mediaType)] ?? (form === "text" ? "txt" : "bin"));
    return this.#free(`resource ${uri}`, `${resourceFolder}/${base}`, `.${extension}`);
  }

  #free(item: string, base: string, extension: string): string {
    const before = this.#before.get(item);
    if (before?.endsWith(extension) && this.#take(before)) return before;
    for (let number = 1; ; number += 1) {
      const file = `${base}${number === 1 ? "" : `-${number}`}${extension}`;
      if (this.#take(file)) return file;
    }
  }

  #take(file: string): boolean {
    const folded = file.toLowerCase();
    if (this.#taken.has(folded)) return false;
    this.#taken.add(folded);
    return true;
  }
}
