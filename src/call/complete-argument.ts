import { type ArgumentValues, boundedValues } from "../core/argument-values.ts";
import { type CompletionRequest, itemCompleterOf } from "../core/completion.ts";
import { definitionOf, templateOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import type { CallContext, Entry } from "../core/item.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import { didYouMean, nearest } from "../lib/similar.ts";
import { isRecord, typeName } from "../lib/value.ts";
import { argumentChoices, promptArguments } from "../prompt/prompt-arguments.ts";

/** A request whose fields were checked. */
export interface ReadCompletionRequest {
  readonly ref: CompletionRequest["ref"];
  readonly argument: string;
  readonly value: string;
  readonly arguments: Readonly<Record<string, string>>;
}

const requestNames: OptionNames<CompletionRequest> = { ref: true, argument: true, value: true, arguments: true };

/** Checks a request. @throws ToolkitError `INVALID_INPUT`, `INVALID_CONFIG` for a field that there is not */
export function readCompletionRequest(given: CompletionRequest): ReadCompletionRequest {
  if (!isRecord(given)) throw refused("", `must be { ref, argument, value }, and is ${typeName(given)}`);
  assertOptionNames(given as unknown as CompletionRequest, requestNames, "of complete");
  const { ref, argument, value = "", arguments: others = {} } = given as unknown as CompletionRequest;
  if (typeof argument !== "string" || argument === "") throw refused("/argument", "must be the name of an argument");
  if (typeof value !== "string") throw refused("/value", `must be text, and is ${typeName(value)}`);
  if (!isRecord(others) || !Object.values(others).every((each) => typeof each === "string")) {
    throw refused("/arguments", "must be texts by the names of the arguments");
  }
  return { ref, argument, value, arguments: { ...others } };
}

function refused(pointer: string, message: string): ToolkitError<"INVALID_INPUT"> {
  const what = pointer === "" ? "The request" : `The field ${pointer.slice(1)}`;
  return new ToolkitError("INVALID_INPUT", `${what} of complete ${message}.`, { issues: [{ pointer, message }] });
}

/**
 * The values of an argument: those of the item's own completer, of its server, or the choices of its schema.
 *
 * @throws ToolkitError `INVALID_INPUT` for an argument that there is not, `INVALID_OUTPUT` for a completer that gives something else
 */
export async function completeArgument(
  found: Entry<"prompt" | "resource">,
  request: ReadCompletionRequest,
  context: CallContext,
): Promise<ArgumentValues> {
  const { argument, value, arguments: others } = request;
  const entry = (found.kind === "resource" ? templateOf(found) : found) as Entry<"prompt" | "template">;
  const { item } = entry;
  assertArgument(entry, argument);
  const options = { arguments: others, context };
  const whole = itemCompleterOf(item);
  if (whole !== undefined) return whole(argument, value, options);
  const own = item.complete;
  if (own === undefined || !Object.hasOwn(own, argument)) return boundedValues(choicesOf(entry, argument, value));
  return valuesOf(await own[argument]?.(value, options), entry.ref, argument);
}

/** The names of the arguments of a prompt or the variables of a template. Empty where any name is one. */
function namesOf(entry: Entry<"prompt" | "template">): readonly string[] {
  if (entry.kind === "prompt") return promptArguments(definitionOf(entry as Entry).input).map(({ name }) => name);
  const expressions = [...entry.item.uriTemplate.matchAll(/\{[+#./;?&]?([^{}]+)\}/g)];
  return expressions.flatMap(([, names = ""]) => names.split(",").map((name) => name.replace(/\*$|:\d+$/, "").trim()));
}

function assertArgument(entry: Entry<"prompt" | "template">, argument: string): void {
  const names = namesOf(entry);
  if (names.length === 0 || names.includes(argument)) return;
  const hint = didYouMean(nearest(argument, names), `There are ${names.join(", ")}.`);
  const what = entry.kind === "prompt" ? "argument" : "variable";
  const message = `${entry.ref} has no ${what} ${JSON.stringify(argument)}. ${hint}`;
  throw new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "/argument", message: hint }] });
}

/** The choices of the schema that begin with the value, in any case of letters. */
function choicesOf(entry: Entry<"prompt" | "template">, argument: string, value: string): readonly string[] {
  const { input } = definitionOf(entry as Entry);
  const typed = value.toLowerCase();
  return argumentChoices(input, argument).filter((choice) => choice.toLowerCase().startsWith(typed));
}

function valuesOf(given: unknown, ref: string, argument: string): ArgumentValues {
  const { values, total, hasMore } = Array.isArray(given)
    ? { values: given }
    : ((given as Partial<ArgumentValues>) ?? {});
  if (Array.isArray(values) && values.every((value) => typeof value === "string")) {
    return boundedValues(values, typeof total === "number" ? total : undefined, hasMore === true);
  }
  const message = `must give a list of texts, or { values, total, hasMore }, and gave ${typeName(given)}`;
  throw new ToolkitError("INVALID_OUTPUT", `The completer of ${argument} of ${ref} ${message}.`, {
    issues: [{ pointer: "", message }],
  });
}
