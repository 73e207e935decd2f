import { ToolkitError } from "../core/error.ts";
import { jsonFault } from "../lib/nesting.ts";
import { type Mistake, mistakeLines, mistakesOf } from "../lib/written-mistakes.ts";
import { parsePlacedYaml } from "../prompt/front-matter/placed-yaml.ts";
import { describePlace, fileStart, type Place } from "../prompt/prompt-problem.ts";
import { type CheckedTemplates, checkTemplates } from "./check-workflow.ts";
import { type Workflow, workflowSchema } from "./workflow-definition.ts";

/** The text of a workflow file. */
export interface WorkflowText {
  readonly text: string;
  /** For messages; undefined for one that came from no file. */
  readonly file?: string | undefined;
}

/** Makes the error of mistakes in a workflow, in the words of the one who wrote it. */
export type WorkflowProblem = (mistakes: readonly Mistake[]) => ToolkitError;

/** A workflow that can be run, as far as that is known without the tools it calls. */
export interface ParsedWorkflow {
  readonly workflow: Workflow;
  readonly templates: CheckedTemplates["uses"];
  /** The error of mistakes that are found later, such as a tool that is not there. */
  readonly problem: WorkflowProblem;
  /** The file with the line and column of its name; undefined for one in code. */
  readonly place?: string | undefined;
}

/** The largest workflow file, in bytes. */
export const maxWorkflowBytes = 256 * 1024;

/** The most objects and lists inside each other. */
const maxDepth = 100;

const subject = "The workflow";

/**
 * Parses a workflow file: YAML, of which JSON is a part.
 *
 * @throws ToolkitError `INVALID_WORKFLOW` naming file, line and column of each mistake
 */
export async function parseWorkflow({ text, file }: WorkflowText): Promise<ParsedWorkflow> {
  if (text.length > maxWorkflowBytes)
    throw problemAt(file, [
      { ...fileStart, message: `${subject} is larger than ${maxWorkflowBytes} bytes: use workflows of their own.` },
    ]);
  const { value, placeOf } = parsePlacedYaml(text, subject, (place, what, hint, cause) =>
    problemAt(file, [{ ...place, message: `${what} ${hint}` }], cause),
  );
  const problem: WorkflowProblem = (mistakes) =>
    problemAt(
      file,
      mistakes.map(({ path, message }) => ({ ...placeOf(path), message })),
    );
  const place = file === undefined ? undefined : describePlace(file, placeOf(["name"]));
  return await readWorkflow(value, { problem, place });
}

/**
 * Reads a workflow that was parsed already, such as one in code or in a configuration.
 *
 * @param from - `problem` makes the error, by default one that names the fields
 * @throws ToolkitError `INVALID_WORKFLOW`, or what `problem` makes
 */
export async function readWorkflow(
  value: unknown,
  { problem = problemOfFields, place }: Partial<Pick<ParsedWorkflow, "problem" | "place">> = {},
): Promise<ParsedWorkflow> {
  if (jsonFault(value, maxDepth) !== undefined)
    throw problem([
      {
        path: [],
        message: `${subject} is nested deeper than ${maxDepth} levels, or has a number that JSON cannot hold.`,
      },
    ]);
  const result = workflowSchema.safeParse(value);
  if (!result.success) throw problem(mistakesOf(workflowSchema, value, result.error.issues));
  const { $schema: _, ...workflow } = result.data;
  const { uses, mistakes } = await checkTemplates(workflow);
  if (mistakes.length > 0) throw problem(mistakes);
  const read = { workflow, templates: uses, problem, place };
  known.set(workflow, read);
  return read;
}

const known = new WeakMap<Workflow, ParsedWorkflow>();

/** The place of a workflow that was read from a file or a configuration. */
export function placeOfWorkflow(workflow: Workflow): string | undefined {
  return known.get(workflow)?.place;
}

/** A workflow as it was read, or as it is read now, once. @throws ToolkitError `INVALID_WORKFLOW` */
export async function parsedOf(workflow: Workflow): Promise<ParsedWorkflow> {
  const read = known.get(workflow) ?? (await readWorkflow(workflow));
  known.set(workflow, read);
  return read;
}

/** For a workflow without a file: its fields are named in place of lines. */
function problemOfFields(mistakes: readonly Mistake[]): ToolkitError<"INVALID_WORKFLOW"> {
  const lines = mistakes.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`));
  return new ToolkitError("INVALID_WORKFLOW", mistakeLines(lines), {});
}

/** A mistake and its place in the file. */
export interface PlacedMistake extends Place {
  readonly message: string;
}

/** The error of mistakes in a file, in its order, each on a line. */
export function problemAt(
  file: string | undefined,
  mistakes: readonly PlacedMistake[],
  cause?: unknown,
): ToolkitError<"INVALID_WORKFLOW"> {
  const sorted = [...mistakes].sort((a, b) => a.line - b.line || a.column - b.column);
  const lines = sorted.map(({ message, ...place }) => `${describePlace(file ?? "workflow", place)}: ${message}`);
  const { line, column } = sorted[0] ?? fileStart;
  const error = new ToolkitError("INVALID_WORKFLOW", mistakeLines(lines), { file, line, column }, { cause });
  placed.set(error, sorted);
  return error;
}

const placed = new WeakMap<Error, readonly PlacedMistake[]>();

/** The mistakes of an error of a workflow file, each with its place; none for another error. */
export function mistakesIn(error: Error): readonly PlacedMistake[] {
  return placed.get(error) ?? [];
}
