import type { z } from "zod";
import { ToolkitError } from "../core/error.ts";
import type { FieldPath } from "../lib/value.ts";
import { mistakeLines, mistakesOf } from "../lib/written-mistakes.ts";
import { parsePlacedYaml } from "../prompt/front-matter/placed-yaml.ts";
import { describePlace, fileStart } from "../prompt/prompt-problem.ts";
import type { ParsedManifest } from "./manifest-port.ts";
import { manifestProblem } from "./manifest-problem.ts";
import { manifestSchema } from "./manifest-schema.ts";

/** The text of a manifest. */
export interface ManifestText {
  readonly text: string;
  /** For messages; undefined for one that came from no file. */
  readonly file: string | undefined;
}

/** The largest manifest, in bytes. A document of OpenAPI is a file of its own, with a limit of its own. */
export const maxManifestBytes = 256 * 1024;

const subject = "The manifest";

/** A value with the places of its parts. */
interface PlacedValue {
  readonly value: Readonly<Record<string, unknown>>;
  readonly problem: ParsedManifest["problem"];
  readonly placeOf: ParsedManifest["placeOf"];
}

/**
 * Parses a manifest: YAML, of which JSON is a part. One without `kind` that has a name and a description is the `spec` of a tool alone, as
 * PromptKit reads JSON.
 *
 * @returns its parts; the `spec` is to be checked by its kind
 * @throws ToolkitError `INVALID_MANIFEST` with file, line and column
 */
export function parseManifest(written: ManifestText): ParsedManifest {
  const { value, problem, placeOf } = placedValue(written);
  const { kind, metadata = {}, spec } = checked(manifestSchema, value, problem, []);
  const { name, namespace } = metadata;
  const own = typeof spec.name === "string" && spec.name !== "" ? spec.name : undefined;
  return {
    kind,
    name: own ?? name,
    namespace: namespace === "" ? undefined : namespace,
    spec,
    file: written.file,
    problem,
    placeOf,
  };
}

/** The `spec` of a manifest as its kind has it. @throws ToolkitError `INVALID_MANIFEST` that names each mistake */
export function checkedSpec<S extends z.ZodType>(manifest: ParsedManifest, schema: S): ParsedManifest<z.output<S>> {
  return { ...manifest, spec: checked(schema, manifest.spec, manifest.problem, ["spec"]) };
}

function checked<S extends z.ZodType>(
  schema: S,
  value: unknown,
  problem: ParsedManifest["problem"],
  at: FieldPath,
): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const mistakes = mistakesOf(schema, value, result.error.issues);
  const [first, ...others] = mistakes.map(({ path, message }) => problem([...at, ...path], message, ""));
  if (first === undefined) throw problem(at, `${subject} cannot be read.`, "Compare it with the schema.");
  if (others.length === 0) throw first;
  const lines = [first, ...others].map(({ message }) => message);
  const cause = new AggregateError([first, ...others], "The manifest has several mistakes.");
  throw new ToolkitError("INVALID_MANIFEST", mistakeLines(lines), first.details, { cause });
}

function placedValue({ text, file }: ManifestText): PlacedValue {
  if (text.length > maxManifestBytes) {
    const hint = "Move data to files of their own, such as mock_result_file.";
    throw manifestProblem({ file, ...fileStart }, `${subject} is larger than ${maxManifestBytes} bytes.`, hint);
  }
  const { value: fields, placeOf } = parsePlacedYaml(text, subject, (place, what, hint, cause) =>
    manifestProblem({ file, ...place }, what, hint, { cause }),
  );
  const isBare = fields.kind === undefined && fields.spec === undefined && "name" in fields && "description" in fields;
  const placeAt = (path: FieldPath) => placeOf(isBare ? path.slice(1) : path);
  return {
    value: isBare ? { kind: "Tool", spec: fields } : fields,
    problem: (path, what, hint, options) => manifestProblem({ file, ...placeAt(path) }, what, hint, options),
    placeOf: (path) => describePlace(file ?? "manifest", placeAt(path)),
  };
}
