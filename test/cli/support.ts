import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach } from "vitest";
import { server } from "../support/hand-server.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** The arguments of Node that run the command from its source. */
export const commandArgs: readonly string[] = ["--no-warnings", main];

/** The outcome of a command. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder of its own for each test, and the command in it. */
export function commandFolder() {
  const at = { path: "" };
  beforeEach(async () => {
    at.path = await mkdtemp(join(tmpdir(), "toolweave-cli-"));
  });
  afterEach(() => rm(at.path, { recursive: true, force: true }));
  return {
    get path() {
      return at.path;
    },
    write: (file: string, text: string) => writeFile(join(at.path, file), text),
    /** Runs the command, without a terminal. */
    run: (args: readonly string[], options: { readonly input?: string; readonly env?: NodeJS.ProcessEnv } = {}) =>
      runIn(at.path, args, options),
  };
}

async function runIn(
  cwd: string,
  args: readonly string[],
  { input = "", env = {} }: { readonly input?: string; readonly env?: NodeJS.ProcessEnv },
): Promise<Ran> {
  const { HOME: _, ...inherited } = process.env;
  // Sockets of services go into the folder of the test too.
  const own = { HOME: cwd, XDG_RUNTIME_DIR: cwd };
  const child = spawn(process.execPath, [...commandArgs, ...args], { cwd, env: { ...inherited, ...own, ...env } });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  }
  child.stdin.on("error", () => undefined).end(input);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...printed };
}

const tools = [
  {
    name: "greet",
    description: "Greets a person.",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string" }, times: { type: "integer" } },
      required: ["name"],
    },
  },
  { name: "rows", description: "Gives rows. \u001b]0;title\u0007\u001b[31mred", inputSchema: { type: "object" } },
  { name: "fail", inputSchema: { type: "object" } },
  { name: "hang", inputSchema: { type: "object" } },
];

const script = server(`
if (m.method === "tools/list") send({ id: m.id, result: { tools: ${JSON.stringify(tools)} } });
if (m.method === "tools/call") {
  const { name, arguments: input, _meta } = m.params;
  const text = (value) => ({ content: [{ type: "text", text: value }] });
  const answers = {
    greet: () => text("Hello, " + input.name + "! ".repeat(input.times ?? 1) + typeof input.times),
    rows: () => text(JSON.stringify([{ id: 1, name: "Ada" }, { id: 2, name: "\\u001b[2JBob" }])),
    fail: () => ({ ...text("It broke."), isError: true }),
  };
  if (answers[name]) send({ id: m.id, result: answers[name]() });
  else send({ method: "notifications/progress", params: { progressToken: _meta.progressToken, progress: 1, total: 4, message: "waiting" } });
}`);

/** The text of a configuration with one server of its own, `hand`. */
export const handConfig = `connectors:\n  hand: ${JSON.stringify({ command: process.execPath, args: ["-e", script] })}\n`;
/** The same server as the value of `--server`. */
export const handCommand = `${process.execPath} -e '${script.replaceAll("'", `'\\''`)}'`;

const shapes = ["wrapped", "picture"].map((name) => ({ name, inputSchema: { type: "object" } }));
const shapesScript = server(`
if (m.method === "tools/list") send({ id: m.id, result: { tools: ${JSON.stringify(shapes)} } });
if (m.method === "tools/call") {
  const text = (value) => ({ type: "text", text: value });
  const image = (value) => ({ type: "image", mimeType: "image/png", data: Buffer.from(value).toString("base64") });
  const answers = {
    wrapped: [text(JSON.stringify({ content: "one\\ntwo" }))],
    picture: [text("Here it is:"), image("first"), image("second")],
  };
  send({ id: m.id, result: { content: answers[m.params.name] } });
}`);

/** The text of a configuration with a server whose tools answer with a text in an object, and with pictures between texts. */
export const shapesConfig = `connectors:\n  shapes: ${JSON.stringify({ command: process.execPath, args: ["-e", shapesScript] })}\n`;
