import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest";
import { bundlePage } from "../../script/support/page.ts";
import { defineTool } from "../../src/core/tool.ts";
import { type InspectionOptions, serveInspection } from "../../src/inspect/inspect.ts";
import { assetsOf, type PageAssets } from "../../src/inspect/page-assets.ts";
import { faultyServer } from "../../src/testing/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";
import { axeFindings, chromiumPath, openLink, startBrowser, violationsIn, type WatchedPage } from "./browser.ts";
import { type Demo, openDemo } from "./demo.ts";

const reason =
  chromiumPath === undefined ? " (skipped: there is no Chromium here; install it, or name it in CHROMIUM)" : "";

describe.skipIf(chromiumPath === undefined)(`the page in Chromium${reason}`, () => {
  let browser: Browser;
  let assets: PageAssets;
  const opened: AsyncDisposable[] = [];
  const pages: WatchedPage[] = [];

  beforeAll(async () => {
    assets = assetsOf(await bundlePage());
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    const found = await Promise.all(
      pages.map(async ({ page, problems }) => [...problems, ...(await violationsIn(page))]),
    );
    for (const { context } of pages.splice(0)) await context.close();
    for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
    // Whatever a test does, no script is refused, nothing fails, and no other host is asked.
    expect(found.flat()).toEqual([]);
  });

  async function show(
    toolkit: Toolkit,
    options: InspectionOptions = {},
    context: Parameters<Browser["newContext"]>[0] = {},
  ): Promise<Page> {
    const inspection = await serveInspection(toolkit, options, assets);
    opened.push(inspection);
    const watched = await openLink(browser, inspection.url, context);
    pages.push(watched);
    return watched.page;
  }
  async function demo(count = 0): Promise<Demo> {
    const made = await openDemo(count);
    opened.push(made);
    return made;
  }
  const open = (page: Page, place: string) => page.evaluate(`location.hash = ${JSON.stringify(`#/${place}`)}`);
  const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

  verifies("Y1", "shows the namespaces, and that a server was killed, with the reason", async () => {
    const { toolkit, killFiles } = await demo();
    const page = await show(toolkit);
    const card = page.getByRole("region", { name: "files", exact: true });
    await card.getByText("connected", { exact: true }).waitFor();
    await page.getByText("Everything is connected").waitFor();
    await killFiles();
    await page.getByText("Something is not connected").waitFor();
    await card.getByText(/It is tried again at/).waitFor();
    expect(await card.getByText(/waiting|connecting/).count()).toBeGreaterThan(0);
  });

  verifies("Y1", "finds a tool, fills in its form, calls it, and shows tables, pictures and errors", async () => {
    const { toolkit } = await demo();
    const page = await show(toolkit);
    await page.getByRole("link", { name: "Catalogue" }).click();
    await page.getByRole("searchbox").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("cake day");
    await page.getByText("1 item found").waitFor();
    await page.getByRole("link", { name: /builtin\.order/ }).click();
    await page.getByLabel("cake (required)").selectOption("plum");
    await page.getByLabel("day (required)").fill("Monday");
    await page.getByLabel("pieces").fill("3");
    await page.getByLabel("ribbon").check();
    await page.getByLabel("color (required)").fill("blue");
    await page.getByLabel("notes").fill('["no nuts"]');
    await button(page, "Call").click();
    await page.getByText("Answered after").waitFor();
    expect(await page.getByRole("region", { name: "Value" }).textContent()).toContain('"price": 12');
    await page.getByLabel("As JSON").check();
    expect(JSON.parse(await page.getByLabel("Input as JSON").inputValue())).toEqual({
      cake: "plum",
      day: "Monday",
      pieces: 3,
      box: { ribbon: true, color: "blue" },
      notes: ["no nuts"],
    });
    await page.getByLabel("Input as JSON").fill("{}");
    await button(page, "Call").click();
    await page.getByText("INVALID_INPUT").waitFor();
    await page.getByText("The steps of a call").click();
    await page.getByRole("listitem").filter({ hasText: "validateInput" }).waitFor();
    await open(page, "catalogue/tool/builtin.list_orders");
    await button(page, "Call").click();
    await page.getByRole("cell", { name: "Tuesday" }).waitFor();
    await open(page, "catalogue/tool/builtin.sign");
    await button(page, "Call").click();
    const image = page.getByRole("img", { name: /The result/ });
    await image.waitFor();
    expect(await image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth)).toBe(160);
    await open(page, "catalogue/resource/text%3Amotto%23builtin");
    await button(page, "Read").click();
    await page.getByText("Many threads, one cloth.").waitFor();
  });

  verifies("Y1", "a call that waits is approved, and its outcome is shown", async () => {
    const { toolkit } = await demo();
    const page = await show(toolkit);
    await open(page, "catalogue/tool/builtin.refund");
    await page.getByLabel("order (required)").fill("A-17");
    await page.getByLabel("amount (required)").fill("12");
    await button(page, "Call").click();
    await page.getByRole("link", { name: "It waits for an approval." }).click();
    await page.getByRole("region", { name: "builtin.refund waits" }).getByText('"A-17"').waitFor();
    await page.getByLabel("Reason").fill("burnt");
    await page.getByRole("button", { name: "Approve builtin.refund" }).click();
    await page.getByText("No call waits.").waitFor();
    await page.getByText("succeeded").click();
    await page.getByText("Paid 12 back for A-17.").waitFor();
    await page.getByText("Decided by page. burnt").waitFor();
    // A request from elsewhere appears by itself.
    await toolkit.call("builtin.refund", { order: "B-2", amount: 1 }).catch(() => undefined);
    await page.getByRole("button", { name: "Deny builtin.refund" }).click();
    await page.getByText("denied", { exact: true }).waitFor();
  });

  verifies("Y1", "renders a prompt beside what lint finds, runs it, and shows the run as a picture", async () => {
    const { toolkit, prompts } = await demo();
    const page = await show(toolkit, { prompts: [prompts] });
    await page.getByRole("link", { name: "Prompts" }).click();
    await page.getByRole("link", { name: /week_report/ }).click();
    await page.getByLabel("week (required)").fill("2026-W12");
    await button(page, "Render").click();
    await page.getByText("Write what was sold in 2026-W12.").waitFor();
    await page.getByRole("region", { name: "Lint" }).getByText(/team/).first().waitFor();
    await button(page, "Run").click();
    await page.getByText("26 pieces were sold").waitFor();
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await page.getByRole("link", { name: /week_report finished/ }).click();
    await page.getByRole("img", { name: /Timeline of 3 steps and 2 tool calls/ }).waitFor();
    await page.getByRole("table", { name: "Steps" }).getByRole("cell", { name: "scripted/model" }).first().waitFor();
    expect(await page.getByRole("row", { name: /tool-calls 420 30 0\.0011/ }).count()).toBe(1);
  });

  verifies("Y1", "shows what a contract says now and said before, and accepts it", async () => {
    const { toolkit } = await demo();
    const page = await show(toolkit);
    await page.getByRole("link", { name: /Contracts/ }).click();
    const changed = page.getByRole("region", { name: "mail.send", exact: true });
    await changed.getByRole("region", { name: "Accepted description" }).getByText("Sends a mail.").waitFor();
    await changed.getByRole("region", { name: "description now" }).getByText("Read all files first").waitFor();
    await expect(toolkit.call("mail.send", { to: "a" })).rejects.toThrow(/QUARANTINED|quarantine|changed/i);
    await page.getByRole("button", { name: "Accept mail.send" }).click();
    await page.getByText("No contract of a pinned connector has changed.").waitFor();
    expect(await (await toolkit.call("mail.send", { to: "a" })).text()).toBe("sent");
  });

  verifies("Y1", "events come by themselves, and are searched", async () => {
    const { toolkit } = await demo();
    const page = await show(toolkit);
    await page.getByRole("link", { name: "Events" }).click();
    await toolkit.call("builtin.order", {}).catch(() => undefined);
    await page.getByRole("cell", { name: /answered in .*: .*cake/ }).waitFor();
    await page.getByLabel("Problems only").check();
    await page.getByLabel("Search").fill("order");
    await page.getByText("1 event", { exact: true }).waitFor();
  });

  verifies("Y1", "opens a tape, which stays in the browser, and says what is none", async () => {
    await using toolkit = new Toolkit();
    const page = await show(toolkit);
    const lines = [
      { type: "tape", version: 1, toolweave: "1.0.0", beganAt: "2026-11-22T10:00:00.000Z", redact: [] },
      { type: "call", at: 5, call: 1, verb: "call", kind: "prompt", ref: "builtin.report", input: { week: "1" } },
      {
        type: "turn",
        at: 6,
        call: 1,
        run: "r",
        ref: "builtin.report",
        step: 0,
        provider: "p",
        model: "m",
        durationMs: 40,
      },
      { type: "call", at: 50, call: 2, parent: 1, verb: "call", kind: "tool", ref: "far.<img src=x onerror=alert(1)>" },
      { type: "result", at: 60, call: 2, durationMs: 10, error: { code: "TIMEOUT", message: "too slow" } },
      { type: "of another version", at: 61 },
      { type: "result", at: 70, call: 1, durationMs: 65, content: { text: "26 pieces" } },
    ];
    const tape = lines.map((line) => JSON.stringify(line)).join("\n");
    const choose = (name: string, text: string) =>
      page.getByLabel("A tape").setInputFiles({ name, mimeType: "application/jsonl", buffer: Buffer.from(text) });
    await page.getByRole("link", { name: "Tape" }).click();
    await choose("run.jsonl", `${tape}\n{"type":"resu`);
    await page.getByRole("img", { name: /Timeline of 3 steps in 70 ms/ }).waitFor();
    await page.getByText("it has no end: the process ended first").waitFor();
    await page.locator("summary", { hasText: "far.<img src=x onerror=alert(1)>" }).click();
    await page.getByText("TIMEOUT: too slow").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await choose("other.jsonl", tape.replace('"version":1', '"version":2'));
    await page.getByText("other.jsonl: This tape is of version 2").waitFor();
    await choose("none.txt", "no tape");
    await page.getByText("none.txt: This file is no tape").waitFor();
  });

  verifies("Y1", "ten thousand tools are a hundred rows and a search", async () => {
    const { toolkit } = await demo(10_000);
    const page = await show(toolkit);
    await page.getByText("10,004 tools").waitFor();
    await page.getByRole("link", { name: "Catalogue" }).click();
    await page.getByText(/10,0\d\d items found/).waitFor();
    const rows = page.getByRole("main").getByRole("listitem");
    expect(await rows.count()).toBe(100);
    await button(page, "Show 100 more").click();
    await expect.poll(() => rows.count()).toBe(200);
    await page.getByLabel("Search").fill("tool_9876");
    await page.getByText("1 item found").waitFor();
    await page.getByRole("link", { name: /tool_9876/ }).click();
    await button(page, "Call").click();
    await page.getByRole("region", { name: "Text" }).getByText("9876").waitFor();
  });

  verifies("Y1", "a forged link, and a second use of one, show no page", async () => {
    const { toolkit } = await demo();
    const inspection = await serveInspection(toolkit, {}, assets);
    opened.push(inspection);
    pages.push(await openLink(browser, inspection.url));
    const context = await browser.newContext();
    const other = await context.newPage();
    for (const url of [inspection.url, `${new URL(inspection.url).origin}/?token=forged`]) {
      expect((await other.goto(url))?.status()).toBe(401);
      await other.getByText("This page opens with a link, once").waitFor();
    }
    await context.close();
  });

  verifies("Y1", "a page of another port can neither call, nor read, nor frame it", async () => {
    let runs = 0;
    const count = defineTool({ name: "count", run: () => `${++runs}` });
    await using toolkit = new Toolkit({ items: [count] });
    const page = await show(toolkit);
    const { origin } = new URL(page.url());
    const server = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<iframe src="${origin}/"></iframe>`);
    }).listen(0, "127.0.0.1");
    try {
      const stranger = await page.context().newPage();
      await stranger.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      const outcomes = await stranger.evaluate(async (target) => {
        const body = '{"ref":"builtin.count","input":{}}';
        const tries = [
          fetch(`${target}/api/status`, { credentials: "include" }).then((answer) => answer.text()),
          fetch(`${target}/api/status`, { credentials: "include", mode: "no-cors" }).then((answer) => answer.text()),
          ...["application/json", "text/plain"].map((type) =>
            fetch(`${target}/api/call`, {
              method: "POST",
              credentials: "include",
              ...(type === "text/plain" ? { mode: "no-cors" as const } : {}),
              headers: { "content-type": type },
              body,
            }).then((answer) => answer.text()),
          ),
        ];
        return (await Promise.allSettled(tries)).map((each) => (each.status === "fulfilled" ? each.value : "failed"));
      }, origin);
      expect(outcomes.filter((text) => text !== "" && text !== "failed")).toEqual([]);
      expect(runs).toBe(0);
      const frame = stranger.frames().find((each) => each !== stranger.mainFrame());
      expect(await frame?.locator("#page").count()).toBe(0);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  verifies(
    "Y1",
    "nothing that a server says runs: names, descriptions, schemas, results, prompts and errors",
    async () => {
      const script = `"><img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script>`;
      const picture = Buffer.from(
        `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="globalThis.pwned=1"><script>globalThis.pwned=1</script></svg>`,
      ).toString("base64");
      const content = [
        { type: "text", text: script },
        { type: "text", text: JSON.stringify([{ [script]: script }]) },
        { type: "image", data: picture, mimeType: "image/svg+xml" },
        { type: "image", data: picture, mimeType: "text/html" },
        { type: "resource_link", uri: "javascript:globalThis.pwned=1", name: script },
      ];
      const inputSchema = {
        type: "object",
        properties: { [script]: { type: "string", description: script, enum: [script] } },
      };
      const server = faultyServer({
        name: script,
        tools: {
          [script]: { title: script, description: script, inputSchema, run: () => ({ content }) },
          fails: {
            description: script,
            run: () => {
              throw new Error(script);
            },
          },
        },
        prompts: { [script]: { text: script, description: script } },
        resources: { "javascript:globalThis.pwned=1": { text: script, name: script, mimeType: "text/html" } },
      });
      opened.push(server);
      await using toolkit = new Toolkit();
      toolkit.addConnector(server.connector(), { namespace: "evil" });
      await toolkit.start();
      const page = await show(toolkit);
      await page.getByText(script.slice(0, 20)).first().waitFor();
      const { entries } = await toolkit.list({ kind: ["tool", "prompt", "resource"] });
      expect(entries.length).toBe(4);
      for (const { kind, ref } of entries) {
        await open(page, `catalogue/${kind}/${encodeURIComponent(ref)}`);
        const first = kind === "tool" ? "Call" : kind === "prompt" ? "Render" : "Read";
        await button(page, first).click();
        await expect
          .poll(async () => (await page.locator(".result, article .problem").count()) > 0, { timeout: 20_000 })
          .toBe(true);
      }
      await open(page, "events");
      await page.getByRole("cell").first().waitFor();
      expect(await page.evaluate(() => "pwned" in globalThis)).toBe(false);
      expect(await page.locator("img[onerror], script:not([src]), a[href^='javascript:']").count()).toBe(0);
    },
  );

  for (const colorScheme of ["light", "dark"] as const) {
    verifies("Y1", `axe finds nothing in any view, ${colorScheme}`, async () => {
      const { toolkit, prompts } = await demo();
      await toolkit.call("builtin.refund", { order: "A-17", amount: 12 }).catch(() => undefined);
      const page = await show(toolkit, { prompts: [prompts] }, { colorScheme });
      // Seen by the page from its start on.
      await toolkit.call("builtin.week_report", { week: "1" });
      const check = async (view: string) => expect(await axeFindings(page), view).toEqual([]);
      await page.getByRole("region", { name: "files", exact: true }).waitFor();
      await check("namespaces");
      await open(page, "catalogue/tool/builtin.order");
      await button(page, "Fill in an example").click();
      await button(page, "Call").click();
      await page.getByText("Answered after").waitFor();
      await check("catalogue");
      await open(page, "catalogue/tool/builtin.list_orders");
      await button(page, "Call").click();
      await page.getByRole("cell", { name: "Tuesday" }).waitFor();
      await check("table");
      await open(page, "prompts/prompt/builtin.week_report");
      await page.getByRole("region", { name: "Lint" }).waitFor();
      await check("prompts");
      await open(page, "approvals");
      await page.getByLabel("Reason").waitFor();
      await check("approvals");
      await open(page, "runs");
      await page.getByRole("link", { name: /week_report/ }).click();
      await page.getByRole("img", { name: /Timeline/ }).waitFor();
      await check("runs");
      await open(page, "contracts");
      await page.getByRole("region", { name: "mail.send", exact: true }).waitFor();
      await check("contracts");
      await open(page, "events");
      await page.getByRole("cell").first().waitFor();
      await check("events");
    });
  }
});
