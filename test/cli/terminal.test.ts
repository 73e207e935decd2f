import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { writePage } from "../../script/support/page.ts";
import { project } from "../../script/support/project.ts";
import { verifies } from "../support/verifies.ts";
import { commandArgs, commandFolder, handConfig, shapesConfig } from "./support.ts";

/** `script` of util-linux runs a command in a terminal of its own. */
const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
const limitMs = 60_000;

/** Makes sure that the package has its page, which the build makes. @returns what takes it away again, where it was not there */
async function packagePage(): Promise<() => Promise<void>> {
  const page = join(project, "dist", "inspect", "page");
  if (existsSync(page)) return async () => undefined;
  await writePage(page);
  return () => rm(page, { recursive: true });
}

describe.skipIf(!hasScript)("in a terminal (skipped where there is no `script` of util-linux)", () => {
  const folder = commandFolder();
  const running: ChildProcess[] = [];
  afterEach(() => {
    for (const child of running.splice(0)) child.kill("SIGKILL");
  });

  /** Starts the command in a terminal; `shows` waits until a text was shown. */
  function start(args: string, { columns = 80, env = {} }: { columns?: number; env?: NodeJS.ProcessEnv } = {}) {
    const command = [process.execPath, ...commandArgs].map((word) => `'${word}'`).join(" ");
    const { CI: _, NO_COLOR: __, FORCE_COLOR: ___, ...inherited } = process.env;
    const child = spawn("script", ["-qefc", `stty cols ${columns} rows 40; exec ${command} ${args}`, "/dev/null"], {
      cwd: folder.path,
      env: { ...inherited, TERM: "xterm-256color", ...env },
    });
    running.push(child);
    let shown = "";
    const waiting = new Set<() => void>();
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
      for (const check of waiting) check();
    });
    return {
      type: (text: string) => child.stdin.write(text),
      shows: (text: string) =>
        new Promise<void>((resolve) => {
          const check = () => {
            if (!stripVTControlCharacters(shown).includes(text)) return;
            waiting.delete(check);
            resolve();
          };
          waiting.add(check);
          check();
        }),
      shown: () => shown,
      ended: once(child, "close").then(([code]) => ({ code, shown })),
    };
  }

  test(
    "a person is asked for what is missing",
    async () => {
      await folder.write("toolweave.yaml", handConfig);
      const command = start("call greet times=2");
      await command.shows("name");
      command.type("Ada\r");
      const { code, shown } = await command.ended;
      expect([code, stripVTControlCharacters(shown)]).toEqual([0, expect.stringContaining("Hello, Ada! ! number")]);
    },
    limitMs,
  );

  verifies(
    ["X1", "Y1"],
    "serve --ui shows a page, prints another link after Enter, and asks for approvals there",
    async () => {
      const removePage = await packagePage();
      try {
        await folder.write("toolweave.yaml", `${handConfig}policy: { ask: ["hand.greet"] }\n`);
        const command = start("serve --ui", { columns: 200 });
        const link = async (after = "") => {
          await command.shows(`${after}http://127.0.0.1:`);
          const links = () => stripVTControlCharacters(command.shown()).match(/http:\S{60,}/g) ?? [];
          await expect.poll(() => links().length).toBeGreaterThan(opened);
          opened += 1;
          return links().at(-1) ?? "";
        };
        let opened = 0;
        const first = await fetch(await link("Look at it, once with this link: "));
        expect(first.status).toBe(200);
        await command.shows("Press Enter");
        command.type("\r");
        const url = await link();
        const headers = { cookie: (await fetch(url)).headers.get("set-cookie")?.split(";", 1)[0] ?? "" };
        const call = { ref: "hand.greet", input: { name: "Ada", times: 1 } };
        const { origin } = new URL(url);
        const post = { method: "POST", headers: { ...headers, "content-type": "application/json" } };
        const codeOf = async () => {
          const answer = await fetch(`${origin}/api/call`, { ...post, body: JSON.stringify(call) });
          return ((await answer.json()) as { readonly error?: { readonly code?: string } }).error?.code;
        };
        // The page is there before the server is connected.
        await expect.poll(codeOf).toBe("PENDING");
        command.type("\u0003");
        const { code, shown } = await command.ended;
        expect([code, shown.includes("Run it?")]).toEqual([0, false]);
      } finally {
        await removePage();
      }
    },
    limitMs,
  );

  test(
    "a person approves, or not",
    async () => {
      await folder.write("toolweave.yaml", `${handConfig}policy: { ask: ["hand.greet"] }\n`);
      const denied = start("call greet name=Ada");
      await denied.shows("Run it?");
      denied.type("n");
      expect(await denied.ended).toMatchObject({ code: 1, shown: expect.stringContaining("DENIED") });
      const approved = start("call greet name=Ada");
      await approved.shows("Run it?");
      approved.type("y");
      expect(await approved.ended).toMatchObject({ code: 0, shown: expect.stringContaining("Hello, Ada!") });
      const interrupted = start("call greet name=Ada");
      await interrupted.shows("Run it?");
      interrupted.type("\u0003");
      expect((await interrupted.ended).code).toBe(130);
      expect(interrupted.shown()).toContain("hand.greet needs your approval.");
    },
    limitMs,
  );

  test(
    "tables fit the width, with colours unless they are not wanted",
    async () => {
      await folder.write("toolweave.yaml", handConfig);
      const narrow = await start("list", { columns: 30 }).ended;
      const lines = stripVTControlCharacters(narrow.shown).split("\r\n");
      expect(Math.max(...lines.map((line) => line.length))).toBe(30);
      expect([narrow.shown.includes("\u001b[1m"), narrow.shown.includes("\u001b]0;")]).toEqual([true, false]);
      expect((await start("list", { env: { NO_COLOR: "1" } }).ended).shown).not.toContain("\u001b[1m");
      const table = await start("call rows").ended;
      expect(stripVTControlCharacters(table.shown)).toMatch(/ID {2}NAME\r\n1 {3}Ada\r\n2 {3}/);
      expect(table.shown).not.toContain("\u001b[2J");
    },
    limitMs,
  );

  test(
    "progress is shown, and Ctrl-C ends the command",
    async () => {
      await folder.write("toolweave.yaml", handConfig);
      const command = start("call hang");
      await command.shows("[#####...............] 25 % waiting");
      command.type("\u0003");
      expect((await command.ended).code).toBe(130);
    },
    limitMs,
  );

  test(
    "status --watch says nothing of the servers that end with it",
    async () => {
      await folder.write("toolweave.yaml", handConfig);
      const command = start("status --watch");
      await command.shows("connected");
      command.type("\u0003");
      const { code, shown } = await command.ended;
      expect([code, shown.includes("There are no servers")]).toEqual([0, false]);
    },
    limitMs,
  );

  test(
    "a text that a server wraps into an object is shown with its lines",
    async () => {
      await folder.write("toolweave.yaml", shapesConfig);
      const { shown } = await start("call wrapped").ended;
      expect(stripVTControlCharacters(shown)).toMatch(/^one\r\ntwo\r$/m);
    },
    limitMs,
  );
});
