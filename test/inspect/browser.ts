import { existsSync } from "node:fs";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Chromium on this machine; undefined where it is not installed. CI sets `CHROMIUM`, and the tests fail where that is not there. */
export const chromiumPath = process.env.CHROMIUM ?? usual.find((path) => existsSync(path));

/** Starts the browser. The page is of this machine, and what runs in it are our own tests: root has no sandbox in a container. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}

/** A page of its own context, with all that went wrong in it. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors, violations of the policy of the page, and requests to other hosts. */
  readonly problems: string[];
}

/** Opens the link in a context of its own. */
export async function openLink(
  browser: Browser,
  url: string,
  options: Parameters<Browser["newContext"]>[0] = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1180, height: 760 }, ...options });
  const problems: string[] = [];
  const page = await context.newPage();
  const { origin } = new URL(url);
  page.on("pageerror", (error) => void problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const target = request.url();
    if (!target.startsWith(origin) && !target.startsWith("data:")) problems.push(`request: ${target}`);
  });
  await page.addInitScript({
    content:
      'globalThis.seenViolations = []; document.addEventListener("securitypolicyviolation", (event) => seenViolations.push(event.violatedDirective + " " + event.blockedURI));',
  });
  await page.goto(url);
  await page.waitForURL((at) => at.search === "");
  await page.getByRole("heading", { level: 1 }).waitFor();
  return { page, context, problems };
}

/** The violations of the policy of the page so far. */
export function violationsIn(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => (globalThis as unknown as { seenViolations: string[] }).seenViolations);
}

/** Findings of axe in the page: rules with the elements. It is evaluated by the debugger, to which the policy of the page does not apply. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { passes, violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  if (passes.length < 5) throw new Error(`axe has looked at nothing: ${passes.length} rules passed.`);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
}
