import { basename, extname } from "node:path";
import { ToolkitError } from "../../core/error.ts";
import { assertItemName, isIdentifier } from "../../core/identifier.ts";
import { isDotprompt } from "../file-name.ts";
import { describePlace } from "../problem.ts";
import type { FieldReader } from "./reader.ts";

/** The name of a prompt, its own or that of its file. Empty where there is none that can be used. */
export function readName(reader: FieldReader): string {
  const { file, placeOf } = reader.frontMatter;
  const given = reader.text("name", "summarize");
  const place = describePlace(file, given === undefined ? { line: 1, column: 1 } : placeOf(["name"]));
  const name = given ?? (file === undefined ? undefined : nameOfFile(file));
  if (name === undefined) {
    const message = `${place}: The prompt has no name. Write \`name: summarize\`.`;
    reader.refuse(new ToolkitError("INVALID_NAME", message, { name: "", allowed: "an identifier" }), "name");
    return "";
  }
  try {
    assertItemName(name, "prompt");
    return name;
  } catch (error) {
    if (!ToolkitError.is(error)) throw error;
    const hint =
      given === undefined && !isIdentifier(name) ? " Rename the file, or write `name: ...` in its front matter." : "";
    const message = `${place}: ${error.message}${hint}`;
    reader.refuse(new ToolkitError(error.code, message, error.details, { cause: error }), "name");
    return "";
  }
}

/** `greet.formal.prompt`, the variant "formal" of "greet" in dotprompt, is `greet_formal`: a name has no dots. */
function nameOfFile(file: string): string {
  const name = basename(file, extname(file));
  return isDotprompt(file) ? name.replaceAll(".", "_") : name;
}
