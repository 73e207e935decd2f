import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { server } from "../support/hand-server.ts";
import { verifies } from "../support/verifies.ts";
import { commandArgs, commandFolder, handCommand, handConfig } from "./support.ts";

const folder = commandFolder();
const limitMs = 60_000;

describe("a folder with a configuration", () => {
  verifies(
    "X1",
    "is made, gets a server, is listed and called, and nothing of a server steers the terminal",
    async () => {
      expect((await folder.run(["init"])).code).toBe(0);
      const added = await folder.run(["add", "hand", "--", "node", "server.js", "--flag"]);
      expect([added.code, added.stdout]).toEqual([0, expect.stringMatching(/^Added hand to .*toolweave\.yaml\.\n$/)]);
      const written = await readFile(join(folder.path, "toolweave.yaml"), "utf8");
      expect(written).toContain("- --flag");
      expect(written).toContain("\n# Folders of prompt files.");
      expect((await folder.run(["add", "hand", "https://host/mcp"])).code).toBe(2);
      expect((await folder.run(["remove", "hnd"])).stderr).toContain('Did you mean "hand"?');
      expect((await folder.run(["remove", "hand"])).code).toBe(0);
      await folder.write("toolweave.yaml", handConfig);
      const listed = await folder.run(["list"]);
      expect([listed.code, listed.stderr]).toEqual([0, ""]);
      expect(listed.stdout).toContain("tool  hand.greet  Greets a person.");
      expect(listed.stdout).not.toContain("\u001b");
      const greeted = await folder.run(["call", "hand.greet", "name=Ada", "times=2"]);
      expect([greeted.code, greeted.stdout]).toEqual([0, "Hello, Ada! ! number\n"]);
      const piped = await folder.run(["call", "greet", "-", "--json"], { input: '{ "name": "Bob" }' });
      expect(JSON.parse(piped.stdout)).toMatchObject({ kind: "resource", text: "Hello, Bob! undefined" });
      const rows = await folder.run(["call", "rows"]);
      expect(JSON.parse(rows.stdout)).toMatchObject([{ id: 1, name: "Ada" }, { id: 2 }]);
      expect(rows.stdout).not.toContain("\u001b");
    },
    limitMs,
  );

  verifies(
    "X1",
    "ends with the code of what went wrong",
    async () => {
      await folder.write("toolweave.yaml", handConfig);
      const codes = async (...commands: readonly string[][]) =>
        Promise.all(commands.map(async (args) => (await folder.run(args)).code));
      expect(
        await codes(["call", "fail"], ["call", "hand.nothing"], ["read", "file:///nothing"], ["call", "greet"]),
      ).toEqual([5, 3, 3, 2]);
      expect(await codes(["cal"], ["call"], ["list", "--kind", "tol"], ["call", "greet", "nonsense"])).toEqual([
        2, 2, 2, 2,
      ]);
      expect(await codes(["list", "-s", "node no-such-file.js"], ["explain", "nothing"], ["--version"])).toEqual([
        4, 3, 0,
      ]);
      const misspelt = await folder.run(["call", "greet", "nam=Ada"]);
      expect([misspelt.code, misspelt.stderr]).toEqual([2, 'greet has no field nam. Did you mean "name"?\n']);
      const partly = await folder.run(["call", "greet", "name=Ada", "times=often"]);
      expect([partly.code, partly.stderr]).toEqual([2, expect.stringMatching(/\/times must be integer/)]);
      const failed = await folder.run(["call", "fail", "--json"]);
      expect([failed.stdout, JSON.parse(failed.stderr).error.code]).toEqual(["", "TOOL_FAILED"]);
    },
    limitMs,
  );

  verifies(
    "X1",
    "is shown with the prompts that its server lists late",
    async () => {
      const late = server(
        `const prompts = [{ name: "brief" }];
        if (m.method === "tools/list") send({ id: m.id, result: { tools: [] } });
        if (m.method === "prompts/list") setTimeout(() => send({ id: m.id, result: { prompts } }), 500);`,
        undefined,
        "{ tools: {}, prompts: {} }",
      );
      const config = { connectors: { late: { command: process.execPath, args: ["-e", late] } } };
      await folder.write("toolweave.yaml", JSON.stringify(config));
      const [status, listed, explained] = await Promise.all([
        folder.run(["status", "--json"]),
        folder.run(["list"]),
        folder.run(["explain", "brief"]),
      ]);
      expect(JSON.parse(status.stdout)).toEqual([
        expect.objectContaining({ counts: { tool: 0, prompt: 1, resource: 0, template: 0 }, warnings: [] }),
      ]);
      expect(listed.stdout).toContain("late.brief");
      expect(explained.stdout).toContain("prompt late.brief");
    },
    limitMs,
  );

  verifies(
    "X1",
    "is explained, checked and shown",
    async () => {
      await mkdir(join(folder.path, "prompts"));
      await folder.write(
        "prompts/good.md",
        "---\ntitle: Says a word\ndescription: Good.\ninput: { type: object, properties: { a: { type: string } } }\n---\nSay {{a}}.",
      );
      await folder.write(
        "toolweave.yaml",
        `${handConfig}prompts: [./prompts]\nsettings: { "hand.*": { timeoutMs: 1234 } }\n`,
      );
      expect((await folder.run(["explain", "greet"])).stdout).toContain("timeoutMs (toolkit)");
      expect((await folder.run(["lint"])).stdout).toBe("1 prompt: no problem.\n");
      const status = await folder.run(["status", "--json"]);
      expect([status.code, JSON.parse(status.stdout)]).toEqual([
        0,
        [expect.objectContaining({ namespace: "hand", state: "connected" })],
      ]);
      expect((await folder.run(["doctor"])).stdout).toMatch(/ok {4}hand \(.*\): 4 tools\nNothing is wrong\.\n$/);
      await folder.write(
        "toolweave.yaml",
        `${handConfig}  gone: { command: no-such-command-here }\nprompts: [./missing]\n`,
      );
      const wrong = await folder.run(["doctor"]);
      expect(wrong.code).toBe(1);
      expect(wrong.stdout).toContain(
        "wrong gone: the command no-such-command-here is not found\n      install no-such-command-here",
      );
      expect(wrong.stdout).toContain("wrong ./missing: there is no such folder\n      mkdir -p ./missing");
    },
    limitMs,
  );

  verifies(
    "X1",
    "has its prompts checked as it reads them, with the folders inside a folder",
    async () => {
      await mkdir(join(folder.path, "prompts", "letters"), { recursive: true });
      await folder.write("prompts/letters/reply.md", "# Reply to a customer\n\n{{> tone}}");
      await folder.write("toolweave.yaml", "prompts: [{ folder: ./prompts, recursive: true }]\n");
      const whole = await folder.run(["lint"]);
      expect([whole.code, whole.stdout]).toEqual([1, expect.stringContaining('There is no partial "tone"')]);
      expect((await folder.run(["doctor"])).stdout).toContain(
        "wrong ./prompts (1 prompt): 1 mistake\n      toolweave lint --recursive ./prompts",
      );
      const narrow = await folder.run(["lint", "prompts"]);
      expect([narrow.code, narrow.stdout]).toEqual([0, "0 prompts: no problem.\n"]);
      expect(narrow.stderr).toContain("not checked are the folders letters; --recursive checks them.");
      expect((await folder.run(["lint", "--recursive", "prompts"])).code).toBe(1);
      await folder.write("toolweave.yaml", "prompts: [{ folder: ./prompts, recursive: false }]\n");
      expect((await folder.run(["lint"])).stderr).toBe("");
    },
    limitMs,
  );

  verifies(
    "X1",
    "says of each thing once why it is wrong, and what to do next",
    async () => {
      await folder.write("toolweave.yaml", "connector: {}\ntimeout: 5\n");
      const twice = await folder.run(["doctor"]);
      expect(twice.stdout).toMatch(/Did you mean "connectors"\?\n {6}toolweave\.yaml:2:1 .*\n1 thing is wrong/);
      await folder.write("toolweave.yaml", 'connectors: { every: { command: "no-program server.js" } }\n');
      const spaced = await folder.run(["doctor"]);
      expect(spaced.stdout).toContain(
        "write the program alone under command, and its arguments under args\n1 thing is",
      );
      await folder.write("toolweave.yaml", `${handConfig}store: ./state.sqlite\npolicy: { ask: ["hand.greet"] }\n`);
      expect((await folder.run(["call", "greet", "name=Ada"])).stderr).toContain("`toolweave approve ID` runs it");
      expect((await folder.run(["approve", "nothing"])).stderr).toContain("See what waits with: toolweave approvals");
      expect((await folder.run(["status"])).stdout).toMatch(/\(hand [^)]+\)/);
      expect((await folder.run(["list", "--namespace", "hnd"])).stderr).toBe(
        "There is nothing in hnd. The servers are hand.\n",
      );
    },
    limitMs,
  );

  verifies(
    "X1",
    "is pinned, and a change fails the check",
    async () => {
      await folder.write("toolweave.yaml", handConfig.replace('{"command"', '{"pins": true, "command"'));
      expect((await folder.run(["lock", "--check"])).code).toBe(1);
      expect((await folder.run(["lock"])).stdout).toContain("toolweave.lock is up to date.");
      expect((await folder.run(["lock", "--check"])).stdout).toBe("Nothing changed.\n");
      const text = await readFile(join(folder.path, "toolweave.yaml"), "utf8");
      await folder.write("toolweave.yaml", text.replace("Greets a person.", "Sends a person a letter."));
      const changed = await folder.run(["lock", "--check"]);
      expect([changed.code, changed.stdout]).toEqual([1, expect.stringContaining('+ "Sends a person a letter."')]);
    },
    limitMs,
  );

  verifies(
    "X1",
    "gives the types of all that can be called",
    async () => {
      await folder.write("toolweave.yaml", handConfig);
      const typed = await folder.run(["types", "--output", "catalog.ts"]);
      expect([typed.code, typed.stderr]).toEqual([
        0,
        expect.stringContaining("Wrote the types of 4 tools and prompts"),
      ]);
      const text = await readFile(join(folder.path, "catalog.ts"), "utf8");
      expect(text).toContain('"hand.greet": {\n    input: {\n      name: string;\n      times?: number;\n    };');
    },
    limitMs,
  );
});

verifies(
  "X1",
  "a server is looked at without a configuration, over stdio and HTTP",
  async () => {
    const listed = await folder.run(["list", "greet", "--server", handCommand]);
    expect([listed.code, listed.stderr, listed.stdout]).toEqual([0, "", expect.stringContaining("hand.greet")]);
    expect((await folder.run(["call", "greet", "name=Ada", "-s", handCommand])).stdout).toBe("Hello, Ada! undefined\n");
    const asked: (string | undefined)[] = [];
    const http = createServer((request, response) => {
      asked.push(request.headers.authorization);
      response.writeHead(403).end();
    });
    await once(http.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
    const refused = await folder.run(["list", "-s", url, "--header", "Authorization: Bearer abc"]);
    http.close();
    expect(refused.code).toBe(4);
    expect(asked).toContain("Bearer abc");
    expect(refused.stderr + refused.stdout).not.toContain("abc");
  },
  limitMs,
);

verifies(
  "X1",
  "approvals of a store are listed and decided in another process",
  async () => {
    await folder.write("toolweave.yaml", `${handConfig}store: ./state.sqlite\npolicy: { ask: ["hand.greet"] }\n`);
    const called = await folder.run(["call", "greet", "name=Ada", "--json"]);
    expect([called.code, JSON.parse(called.stderr).error.code]).toEqual([1, "PENDING"]);
    const listed = JSON.parse((await folder.run(["approvals", "--json"])).stdout);
    expect(listed).toEqual([expect.objectContaining({ tool: "hand.greet", status: "pending" })]);
    const approved = await folder.run(["approve", listed[0].id]);
    expect([approved.code, approved.stdout]).toEqual([0, expect.stringContaining("hand.greet succeeded")]);
    expect((await folder.run(["approve", "nothing"])).code).toBe(3);
  },
  limitMs,
);

verifies(
  "X1",
  "servers of other clients are imported",
  async () => {
    await folder.write(
      ".claude.json",
      JSON.stringify({ mcpServers: { a: { command: "npx", args: ["a"], env: { A_TOKEN: "secret-1" } } } }),
    );
    const shown = await folder.run(["import", "--dry-run"]);
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringMatching(/a +claude-code +npx a/)]);
    await expect(stat(join(folder.path, "toolweave.yaml"))).rejects.toThrow();
    const imported = await folder.run(["import"]);
    expect([imported.code, imported.stderr]).toEqual([
      0,
      expect.stringContaining("Set these variables first: A_TOKEN"),
    ]);
    const text = await readFile(join(folder.path, "toolweave.yaml"), "utf8");
    expect(text).toContain("A_TOKEN: ${A_TOKEN}");
    expect(text).not.toContain("secret-1");
    expect((await folder.run(["import"])).stderr).toContain(
      "No client has servers that are not in the configuration already.",
    );
  },
  limitMs,
);

verifies(
  "X1",
  "a URL is added to the file of another client in the form of that client",
  async () => {
    await folder.write(".mcp.json", '{ "mcpServers": {} }');
    expect((await folder.run(["add", "web", "http://127.0.0.1:9/mcp"])).code).toBe(0);
    const text = await readFile(join(folder.path, ".mcp.json"), "utf8");
    expect(JSON.parse(text)).toEqual({ mcpServers: { web: { url: "http://127.0.0.1:9/mcp" } } });
    expect((await folder.run(["remove", "web"])).code).toBe(0);
    const missing = await folder.run(["import", "--from", "./no-such-file.json"]);
    expect([missing.code, missing.stderr]).toEqual([
      2,
      expect.stringMatching(/^There is no file .*no-such-file\.json/),
    ]);
  },
  limitMs,
);

verifies(
  "X1",
  "a shell completes commands, options and names",
  async () => {
    await folder.write("toolweave.yaml", handConfig);
    expect((await folder.run(["complete", "--", "st"])).stdout.split("\n")).toContain("status");
    expect((await folder.run(["complete", "--", "call", "g"])).stdout.split("\n")).toContain("hand.greet");
    expect((await folder.run(["completion", "bash"])).stdout).toContain("complete -o default -F _toolweave toolweave");
  },
  limitMs,
);

verifies(
  "X1",
  "an interrupted command ends its servers and itself",
  async () => {
    await folder.write("toolweave.yaml", handConfig);
    const child = spawn(process.execPath, [...commandArgs, "call", "hang", "--verbose"], { cwd: folder.path });
    let printed = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      if (printed.includes("hand: connected")) child.kill("SIGINT");
    });
    expect(await once(child, "close")).toEqual([130, null]);
  },
  limitMs,
);

test.skipIf(process.platform === "win32")(
  "a reader that has had enough ends the command without a word (there is no shell pipe on Windows)",
  async () => {
    await folder.write("toolweave.yaml", handConfig);
    const command = [process.execPath, ...commandArgs, "list", "--schema"].map((word) => `'${word}'`).join(" ");
    const child = spawn("/bin/sh", ["-c", `${command} | head -c 1`], { cwd: folder.path });
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      errors += text;
    });
    await once(child, "close");
    expect(errors).toBe("");
  },
  limitMs,
);
