/**
 * The web page of the repository, such as `https://github.com/owner/toolweave`. While it is empty the package names no page: set it before
 * the first publish, and run `npm run docs`, which writes the fields of package.json.
 */
export const home: string = "";

/** The fields of package.json that follow from a page; none for an empty one. */
function homeFields(page: string): Readonly<Record<string, unknown>> {
  if (page === "") return {};
  return {
    homepage: `${page}#readme`,
    bugs: { url: `${page}/issues` },
    repository: { type: "git", url: `git+${page}.git` },
  };
}

/** The text of a package.json whose fields are those of the page, behind `license`. */
export function withHome(manifest: string, page: string): string {
  const entries = Object.entries(JSON.parse(manifest)).filter(([name]) => !(name in homeFields("https://x")));
  const at = entries.findIndex(([name]) => name === "license") + 1;
  const filled = [...entries.slice(0, at), ...Object.entries(homeFields(page)), ...entries.slice(at)];
  return `${JSON.stringify(Object.fromEntries(filled), undefined, 2)}\n`;
}
