import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";
import type { pageFiles } from "../../src/inspect/page-assets.ts";
import { project } from "./project.ts";

type PageTexts = Readonly<Record<keyof typeof pageFiles, string>>;

const folder = join(project, "src/inspect/page");

/** Makes the files of the page that shows a toolkit: one script with all that it needs, one style. */
export async function bundlePage(): Promise<PageTexts> {
  const bundled = await rolldown({
    input: join(folder, "main.tsx"),
    platform: "browser",
    tsconfig: join(folder, "tsconfig.json"),
    logLevel: "warn",
  });
  const { output } = await bundled.generate({ format: "esm", minify: true });
  await bundled.close();
  const [script, ...others] = output;
  if (others.length > 0) throw new Error(`The page is ${output.length} files, and must be one.`);
  const [html, css] = await Promise.all(["index.html", "page.css"].map((name) => readFile(join(folder, name), "utf8")));
  return { "index.html": html ?? "", "page.css": css ?? "", "page.js": script.code };
}

/** Writes them into the package. */
export async function writePage(target: string): Promise<void> {
  const texts = await bundlePage();
  await mkdir(target, { recursive: true });
  await Promise.all(Object.entries(texts).map(([name, text]) => writeFile(join(target, name), text)));
}
