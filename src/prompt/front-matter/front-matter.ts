import type { Scalar } from "yaml";
import { loadYaml } from "../../lib/lazy-libraries.ts";
import type { FieldPath } from "../../lib/value.ts";
import { type Place, placeFinder, promptProblem } from "../prompt-problem.ts";
import type { TemplateSource } from "../template/template-source.ts";
import type { SplitFile } from "./split-front-matter.ts";
import { fieldsOf, follow, offsetOf, parseYamlDocument, type YamlDocument, type YamlProblem } from "./yaml-document.ts";

/** The values of front matter, and their places in the file. */
export interface FrontMatter {
  readonly file: string | undefined;
  readonly values: Readonly<Record<string, unknown>>;
  /** The place of a value; of its name where the value is a list, an object or empty. */
  placeOf(path: FieldPath): Place;
  /** The place of the name of a field. */
  placeOfName(field: string): Place;
  /** The text of a field as a template. Its places are those of the field itself where YAML folds the text. */
  templateOf(field: string, text: string): TemplateSource;
}

/** Parses the front matter of a prompt file. @throws ToolkitError `INVALID_PROMPT` */
export function parseFrontMatter({ text, yaml, yamlStart, values }: SplitFile, file: string | undefined): FrontMatter {
  const find = placeFinder(text);
  const placeAt = (offset: number) => find(yamlStart + Math.min(offset, Math.max(0, yaml.length - 1)));
  const problem: YamlProblem = (offset, what, hint, cause) => promptProblem(file, placeAt(offset), what, hint, cause);
  // Parsed by the library when it is first needed: for values that are not written plainly, and for places.
  let parsed: YamlDocument | undefined;
  const document = () => {
    parsed ??= parseYamlDocument(yaml, problem);
    return parsed;
  };
  return {
    file,
    values: values ?? fieldsOf(document(), yaml, problem),
    placeOf: (path) => placeAt(offsetOf(document(), path)),
    placeOfName: (field) => placeAt(follow(document(), [field]).key?.range?.[0] ?? 0),
    templateOf(field, template) {
      // Split once: a template asks for the place of each of its tags.
      const lines = { template: template.split("\n"), file: undefined as readonly string[] | undefined };
      return {
        text: template,
        file,
        placeAt(line, column) {
          const { value } = follow(document(), [field]);
          const [start] = (loadYaml().isScalar(value) && value.range) || [];
          lines.file ??= text.split("\n");
          const at = { wanted: lines.template[line - 1] ?? "", line, column };
          const place =
            start === undefined ? undefined : placeInScalar(value as Scalar, lines.file, find(yamlStart + start), at);
          return place ?? placeAt(offsetOf(document(), [field]));
        },
      };
    },
  };
}

/** The place in the file of a place in the text of a scalar; undefined where YAML folds the text. */
function placeInScalar(
  scalar: Scalar,
  fileLines: readonly string[],
  start: Place,
  { wanted, line, column }: Place & { readonly wanted: string },
): Place | undefined {
  // A block literal keeps its lines, and a value of one line is where it is written.
  if (scalar.type === "BLOCK_LITERAL") {
    const source = fileLines[start.line + line - 1] ?? "";
    if (!source.endsWith(wanted)) return undefined;
    return { line: start.line + line, column: source.length - wanted.length + column };
  }
  const source = fileLines[start.line - 1] ?? "";
  const index = line === 1 ? source.indexOf(wanted, start.column - 1) : -1;
  return index === -1 ? undefined : { line: start.line, column: index + column };
}
