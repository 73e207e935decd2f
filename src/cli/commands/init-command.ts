import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { findConfig } from "../../config/read-config.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import type { GlobalOptions } from "../workspace.ts";

const config = `# yaml-language-server: $schema=./node_modules/toolweave/docs/reference/toolweave.schema.json
# The servers whose tools you want, by the name that their tools get: toolweave add NAME -- COMMAND
#   everything: npx -y @modelcontextprotocol/server-everything
#   github:
#     url: https://api.githubcopilot.com/mcp/
#     headers: { Authorization: "Bearer \${GITHUB_TOKEN}" }
connectors: {}

# Folders of prompt files. Each *.md in it is a prompt: toolweave run prompts.summarize text="..."
prompts:
  - ./prompts

# What may be called. A person is asked before calls of what stands under ask.
policy:
  ask: []

# Models that prompts may name. openai, anthropic, google and mistral need the key in the environment, and their
# package: npm install @ai-sdk/openai; ollama and servers under providers need none.
# models:
#   default: local/llama3.3
#   providers:
#     local: { url: "http://localhost:11434/v1" }
`;

const prompt = `---
description: Sums a text up in a few sentences.
input:
  type: object
  properties:
    text: { type: string, description: The text. }
    sentences: { type: integer, minimum: 1, default: 3 }
  required: [text]
---
# Summarize

Sum this text up in at most {{sentences}} sentences, in the language it is written in:

{{text}}
`;

/** Makes a working folder. Files that are there stay as they are. @returns the exit code */
export async function init(folder: string | undefined, _options: GlobalOptions, terminal: Terminal): Promise<number> {
  const root = resolve(terminal.streams.cwd, folder ?? ".");
  await mkdir(join(root, "prompts"), { recursive: true });
  const found = await findConfig(root);
  if (found?.startsWith(root) === true) throw new UsageMistake(`${found} is there already.`);
  await writeFile(join(root, "toolweave.yaml"), config, { flag: "wx" });
  await writeFile(join(root, "prompts", "summarize.md"), prompt, { flag: "wx" }).catch(keepExisting);
  await ignoreTokens(join(root, ".gitignore"));
  terminal.print(`Made ${join(root, "toolweave.yaml")} and ${join(root, "prompts", "summarize.md")}.`);
  const go = folder === undefined ? "" : `cd ${folder}, then `;
  terminal.note(
    `Next: ${go}toolweave import, or toolweave add everything -- npx -y @modelcontextprotocol/server-everything`,
  );
  return exitCodes.ok;
}

function keepExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

/** Tokens of logins lie in this folder. */
async function ignoreTokens(file: string): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => "");
  if (/^\.toolweave\/?$/m.test(text)) return;
  await writeFile(file, `${text === "" || text.endsWith("\n") ? text : `${text}\n`}.toolweave/\n`);
}
