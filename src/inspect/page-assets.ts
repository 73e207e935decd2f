import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ToolkitError } from "../core/error.ts";
import { packageRoot } from "../lib/package.ts";

/** A file of the page. */
export interface PageAsset {
  readonly type: string;
  readonly text: string;
}

/** The files of the page by path. */
export type PageAssets = ReadonlyMap<string, PageAsset>;

/** The files that the build makes, with their media types. */
export const pageFiles = {
  "index.html": "text/html; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
} as const;

/** The media type of the page's icon. */
const iconType = "image/svg+xml";

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="none" stroke="#3b6fd4" stroke-width="2" d="M2 5h12M2 11h12M5 2v12M11 2v12"/></svg>';

/** Puts the files of the page under the paths at which they are served. */
export function assetsOf(texts: Readonly<Record<keyof typeof pageFiles, string>>): PageAssets {
  const files = Object.entries(pageFiles).map(([name, type]) => [
    name === "index.html" ? "/" : `/${name}`,
    { type, text: texts[name as keyof typeof pageFiles] },
  ]);
  return new Map([...files, ["/icon.svg", { type: iconType, text: icon }]] as [string, PageAsset][]);
}

/** Reads the page that was built into the package. @throws ToolkitError `NOT_FOUND` where it was left out, as bundlers of services do */
export async function packagedPage(): Promise<PageAssets> {
  let folder = "the package toolweave";
  try {
    folder = join(packageRoot(), "dist", "inspect", "page");
    const texts = Object.keys(pageFiles).map(async (name) => [name, await readFile(join(folder, name), "utf8")]);
    return assetsOf(Object.fromEntries(await Promise.all(texts)));
  } catch (error) {
    const message = `The files of the page are not in ${folder}. Leave the package toolweave out of the bundle, or build it (npm run build).`;
    throw new ToolkitError("NOT_FOUND", message, { key: folder, suggestions: [] }, { cause: error });
  }
}
