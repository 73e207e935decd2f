import { basename, extname } from "node:path";
import { ToolkitError } from "../../core/error.ts";
import { assertItemName, isIdentifier } from "../../core/identifier.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { describePlace } from "../problem.ts";
import { FieldReader } from "./reader.ts";
import type { FrontMatter } from "./yaml.ts";

/** What the front matter of a prompt says. */
export interface PromptFields {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  /** A template. */
  readonly system: string | undefined;
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  readonly tools: readonly string[] | undefined;
  readonly thinking: boolean | undefined;
  readonly thinkingBudget: number | undefined;
  /** The fields that are not known. */
  readonly unknown: Readonly<Record<string, unknown>> | undefined;
}

const minTitleLength = 10;

/** @throws ToolkitError `INVALID_PROMPT`, `INVALID_NAME`, `RESERVED_NAME` */
export function readFields(frontMatter: FrontMatter): PromptFields {
  const reader = new FieldReader(frontMatter);
  const fields = {
    name: readName(reader, frontMatter),
    title: readTitle(reader),
    description: reader.text("description", "Summarises a text."),
    model: reader.text("model", "gpt-5"),
    provider: reader.text("provider", "openai"),
    system: reader.text("system_prompt", "You are a careful editor."),
    input: reader.schema("input"),
    output: readOutput(reader),
    tools: reader.texts("tools", "[weather.forecast, fs.*]"),
    thinking: reader.flag("thinking"),
    thinkingBudget: reader.count("thinking_budget", 2000),
  };
  return { ...fields, unknown: reader.rest() };
}

function readTitle(reader: FieldReader): string | undefined {
  const title = reader.text("title", "Summarise a text");
  if (title === undefined || [...title.trim()].length >= minTitleLength) return title;
  throw reader.problem(
    ["title"],
    `The title ${JSON.stringify(title)} has fewer than ${minTitleLength} characters.`,
    "Say in a few words what the prompt does, or remove the field: then the first `# heading` of the text is the title.",
  );
}

function readOutput(reader: FieldReader): JsonSchema | undefined {
  const output = reader.schema("output");
  const format = reader.schema("format");
  if (output === undefined || format === undefined) return output ?? format;
  throw reader.problem(["format"], "Both output and format are given, and they mean the same.", "Keep `output`.");
}

function readName(reader: FieldReader, frontMatter: FrontMatter): string {
  const { file } = frontMatter;
  const given = reader.text("name", "summarize");
  const place = describePlace(file, given === undefined ? { line: 1, column: 1 } : frontMatter.placeOf(["name"]));
  const name = given ?? (file === undefined ? undefined : basename(file, extname(file)));
  if (name === undefined) {
    throw new ToolkitError("INVALID_NAME", `${place}: The prompt has no name. Write \`name: summarize\`.`, {
      name: "",
      allowed: "an identifier",
    });
  }
  try {
    assertItemName(name, "prompt");
  } catch (error) {
    if (!ToolkitError.is(error)) throw error;
    const hint =
      given === undefined && !isIdentifier(name) ? " Rename the file, or write `name: ...` in its front matter." : "";
    throw new ToolkitError(error.code, `${place}: ${error.message}${hint}`, error.details, { cause: error });
  }
  return name;
}
