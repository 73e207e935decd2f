import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { messageOf } from "../../core/error.ts";
import type { Issue } from "../../core/error-catalog.ts";
import { answerForm, type OutputTool, outputInstruction, outputTool } from "../../core/output-tool.ts";
import type { SchemaLike } from "../../core/schema/types.ts";
import { validatorOf } from "../../core/schema/validator.ts";
import { Violation } from "../../core/schema/violation.ts";

/** An answer that was read: its value, or what is wrong with it. */
export type ReadAnswer =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** The form in which a model is to answer. */
export interface StructuredForm {
  /** By the provider's JSON mode, where there are no tools. */
  readonly responseFormat: LanguageModelV4CallOptions["responseFormat"];
  /** By a tool, where there are others. */
  readonly tool: OutputTool | undefined;
  /** What the model is told of it. */
  readonly instruction: string | undefined;
  /** Reads an answer that came as text. */
  read(text: string): Promise<ReadAnswer>;
}

/**
 * How a structured answer is asked for and read: in the provider's JSON mode where the model has no tools, else by the tool `submit_output`,
 * because a JSON mode keeps some models from calling tools.
 *
 * @throws ToolkitError `INVALID_SCHEMA`
 */
export function structuredForm(output: SchemaLike, name: string, hasTools: boolean): StructuredForm {
  const { schema, unwrap } = answerForm(output);
  const validate = validatorOf(output);
  const read = async (text: string): Promise<ReadAnswer> => {
    const found = jsonIn(text);
    if ("issue" in found) return { issues: [{ pointer: "", message: found.issue }] };
    const value = unwrap(found.value);
    const valid = await validate(value);
    if (!(valid instanceof Violation)) return { value };
    // Without a JSON mode that holds it to the form, a model gives an answer that is no object bare.
    const isBare = value !== found.value && !((await validate(found.value)) instanceof Violation);
    return isBare ? { value: found.value } : { issues: valid.issues };
  };
  if (hasTools) return { responseFormat: undefined, tool: outputTool(output), instruction: outputInstruction, read };
  // As the JSON Schema of draft 7 that the port is typed with: providers take what both have.
  const responseFormat = { type: "json", schema: schema as never, name: toSchemaName(name) } as const;
  return { responseFormat, tool: undefined, instruction: undefined, read };
}

/** The JSON of a text: all of it, or what stands in its one fenced block. */
function jsonIn(text: string): { readonly value: unknown } | { readonly issue: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    const fenced = /^[^`]*```(?:json)?\s*\n(.*?)\n?```[^`]*$/s.exec(text)?.[1];
    if (fenced !== undefined && fenced !== text) return jsonIn(fenced);
    return { issue: text.trim() === "" ? "is empty" : `is no JSON: ${messageOf(error)}` };
  }
}

/** A name providers take for a schema. */
function toSchemaName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "answer";
}
