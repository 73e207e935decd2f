/** Takes the pictures of the page in docs/images, each view of it with something to see. Needs Chromium. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { serveInspection } from "../src/inspect/inspect.ts";
import { assetsOf } from "../src/inspect/page-assets.ts";
import { openLink, startBrowser } from "../test/inspect/browser.ts";
import { openDemo } from "../test/inspect/demo.ts";
import { bundlePage } from "./support/page.ts";
import { project } from "./support/project.ts";
import { smallPng } from "./support/small-png.ts";

const folder = join(project, "docs", "images");
const viewport = { width: 940, height: 580 };
/** They are packed with the page that shows them. */
const maxBytes = 30 * 1024;
await mkdir(folder, { recursive: true });
await using demo = await openDemo();
const { toolkit, prompts } = demo;
await using inspection = await serveInspection(toolkit, { prompts: [prompts] }, assetsOf(await bundlePage()));
await toolkit.call("builtin.refund", { order: "A-17", amount: 12 }).catch(() => undefined);
const browser = await startBrowser();
try {
  const { page, context } = await openLink(browser, inspection.url, { viewport });
  const picture = (name: string) => take(page, name);
  const { origin } = new URL(inspection.url);
  const open = (place: string) => page.goto(`${origin}/#/${place}`);
  await page.getByRole("region", { name: "files" }).waitFor();
  await picture("namespaces");
  await open("catalogue/tool/builtin.order");
  await page.getByRole("button", { name: "Fill in an example" }).click();
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByText("Answered after").waitFor();
  await page.getByRole("region", { name: "Result" }).scrollIntoViewIfNeeded();
  await picture("call");
  await open("prompts/prompt/builtin.week_report");
  await page.getByRole("button", { name: "Fill in an example" }).click();
  await page.getByRole("button", { name: "Render" }).click();
  await page.getByRole("region", { name: "Rendered prompt" }).waitFor();
  await picture("prompts");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("26 pieces").waitFor();
  await open("runs");
  await page.getByRole("link", { name: /week_report/ }).click();
  await page.getByRole("img", { name: /Timeline/ }).waitFor();
  await picture("runs");
  await open("approvals");
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await picture("approvals");
  await open("contracts");
  await page.getByRole("button", { name: "Accept" }).first().waitFor();
  await picture("contracts");
  await context.close();
  const dark = await openLink(browser, inspection.link(), {
    viewport,
    colorScheme: "dark",
  });
  await dark.page.goto(`${origin}/#/events`);
  await dark.page.getByRole("cell", { name: "callFinished" }).first().waitFor();
  await take(dark.page, "events");
} finally {
  await browser.close();
}

async function take(page: Page, name: string): Promise<void> {
  const path = join(folder, `page-${name}.png`);
  const picture = smallPng(await page.screenshot());
  await writeFile(path, picture);
  console.log(`${path}: ${Math.round(picture.length / 1024)} KiB`);
  if (picture.length > maxBytes) throw new Error(`${path} is larger than ${maxBytes} bytes.`);
}
