import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * The names, sources and licences of packages, as those licences ask of who passes the packages on.
 *
 * @param folders - one for each package
 * @throws Error for a package whose licence is not in its folder
 */
export async function noticesOf(folders: readonly string[]): Promise<string> {
  const notices = await Promise.all(folders.map(noticeOf));
  return [
    "This package contains parts of the following packages, unchanged but for their bundling.\n",
    ...notices,
  ].join(`\n${"-".repeat(80)}\n\n`);
}

async function noticeOf(folder: string): Promise<string> {
  const { name, version, license, repository } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((each) => /^licen[cs]e(?:\.\w+)?$/i.test(each));
  if (file === undefined) throw new Error(`${name} has no file with its licence: leave it out of the bundle.`);
  const text = await readFile(join(folder, file), "utf8");
  return `${name} ${version} (${license}), whose source is at ${addressOf(repository)}\n\n${text.trim()}\n`;
}

/** The page of a repository that package.json gives in one of its forms, such as `github:owner/name`. */
function addressOf(repository: string | { readonly url: string }): string {
  const given = typeof repository === "string" ? repository : repository.url;
  const path = given.replace(/^(?:git\+)?(?:\w+:\/\/)?(?:github:)?/, "").replace(/\.git$/, "");
  return `https://${path.includes("github.com/") ? path : `github.com/${path}`}`;
}
