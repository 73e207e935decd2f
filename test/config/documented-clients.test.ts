import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { project } from "../../script/support/project.ts";
import { clientFiles, findServers } from "../../src/config/other-clients.ts";
import { verifies } from "../support/verifies.ts";

const block = /<!-- file: (\S+) (\S+) -->\n\n```\w+\n(.*?)\n```/gs;
const url = "http://127.0.0.1:8808/mcp";
const command = { command: "npx", args: ["-y", "toolweave", "serve", "--config", "/home/ada/toolweave.yaml"] };

verifies("X1", "what the page of the clients tells each of them to write is what import reads from it", async () => {
  const home = await mkdtemp(join(tmpdir(), "toolweave-documented-"));
  try {
    const blocks = [...(await readFile(join(project, "docs/clients.md"), "utf8")).matchAll(block)];
    const cwd = join(home, "work");
    for (const [, client = "", name = "", text = ""] of blocks) {
      // A project's file of Claude Code is in the working folder.
      const file = join(client === "claude-code" ? cwd : home, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    const { servers, problems } = await findServers(clientFiles({ home, cwd, platform: "linux" }), cwd);
    expect(problems).toEqual([]);
    const of = (wanted: string) =>
      Object.fromEntries(
        servers.flatMap(({ client, name, connector }) => (client === wanted ? [[name, connector]] : [])),
      );
    const withToken = (variable: string) => ({ url, headers: { Authorization: `Bearer \${${variable}}` } });
    expect(of("claude-desktop")).toEqual({ toolweave: command });
    for (const client of ["claude-code", "cursor", "codex", "windsurf"])
      expect([client, of(client)]).toEqual([client, { toolweave: command, office: withToken("TOOLWEAVE_TOKEN") }]);
    expect(of("vscode")).toEqual({ toolweave: command, office: withToken("TOOLWEAVE_TOKEN") });
    // A token that is written out is not copied.
    expect(of("zed")).toEqual({ toolweave: command, office: withToken("AUTHORIZATION") });
    expect(blocks.map(([, client]) => client)).toEqual([
      "claude-code",
      "claude-desktop",
      "cursor",
      "vscode",
      "codex",
      "zed",
      "windsurf",
    ]);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
