import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { messageOf } from "../../src/core/error.ts";

/** Thrown for wrong arguments of a command, before it does anything. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The text of `--help`. */
export const usage = `Checks and runs prompts.

npm run prompt -- lint PATH...           finds what is wrong with prompts, files or folders
npm run prompt -- run FILE [name=value...]   runs a prompt and prints its result

lint
  --recursive             the folders in a folder too: their prompts are named folder-name
  --model PROVIDER/NAME   a model prompts may name; * for all of a provider. Several may be given.
  --mcp FILE              a configuration of MCP servers: entries of tools are looked up in them
  --json                  the problems as JSON

run
  name=value              an input of the prompt, such as language=French
  --input JSON|FILE       the whole input, as JSON or a file of it
  --model PROVIDER/NAME   the model to ask, such as openai/gpt-5. Else the one the prompt names
  --attach FILE           a file to go with the text. Several may be given.
  --mcp FILE              a configuration of MCP servers whose tools the prompt may name
  --json                  the result and what it took, as JSON

Without a model and without a key in the environment no model is asked: the result is made up, in the form the prompt wants.
Exit code: 0 where all is well, 1 where there is a problem, 2 where the command was called wrongly.
`;

/** `lint`. */
export interface LintCommand {
  readonly name: "lint";
  readonly paths: readonly string[];
  readonly models: readonly string[];
  readonly recursive: boolean;
  readonly mcp: string | undefined;
  readonly json: boolean;
}

/** `run`. */
export interface RunCommand {
  readonly name: "run";
  readonly file: string;
  /** The value of `--input`. */
  readonly input: unknown;
  /** `name=value`, as text. */
  readonly values: Readonly<Record<string, string>>;
  readonly model: string | undefined;
  readonly attachments: readonly string[];
  readonly mcp: string | undefined;
  readonly json: boolean;
}

/** Reads the arguments of the command. @throws UsageError */
export function parseCommand(args: readonly string[]): LintCommand | RunCommand | { readonly name: "help" } {
  const { values, positionals } = parsed(args);
  const [name, ...rest] = positionals;
  if (values.help === true || (name === "help" && rest.length === 0)) return { name: "help" };
  const { mcp, json = false, recursive = false, model = [], input, attach = [] } = values;
  if (name === "lint") {
    if (rest.length === 0) throw new UsageError("lint needs the path of a file or a folder.");
    if (input !== undefined || attach.length > 0) throw new UsageError("lint takes neither --input nor --attach.");
    return { name, paths: rest, models: model, recursive, mcp, json };
  }
  if (name !== "run") {
    throw new UsageError(name === undefined ? "Say what to do: lint or run." : `There is no ${name}: lint or run.`);
  }
  if (recursive) throw new UsageError("run takes no --recursive.");
  const [file, ...pairs] = rest;
  if (file === undefined) throw new UsageError("run needs the path of a prompt.");
  if (model.length > 1) throw new UsageError("run asks one model: give --model once.");
  const given = input === undefined ? undefined : readInput(input);
  return { name, file, input: given, values: readPairs(pairs), model: model[0], attachments: attach, mcp, json };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: "boolean", short: "h" },
        json: { type: "boolean" },
        input: { type: "string" },
        model: { type: "string", multiple: true },
        attach: { type: "string", multiple: true },
        mcp: { type: "string" },
        recursive: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/** JSON, or the path of a file that holds it. */
function readInput(given: string): unknown {
  const isJson = /^\s*(?:[[{"]|-?\d|true\b|false\b|null\b)/.test(given);
  return isJson ? parseJson(given, "--input") : readJson(given);
}

/** The JSON in a file. @throws UsageError */
export function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${messageOf(error)}.`);
  }
  return parseJson(text, file);
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${what} is no JSON: ${messageOf(error)}.`);
  }
}

function readPairs(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new UsageError(`An input is written name=value, and this is ${JSON.stringify(pair)}.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
