import type { ModelSettings } from "../../core/model-settings.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { readValues } from "./field-table.ts";
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
  readonly settings: ModelSettings | undefined;
  /** The fields that are not known. */
  readonly unknown: Readonly<Record<string, unknown>> | undefined;
}

/** @throws ToolkitError `INVALID_PROMPT`, `INVALID_NAME`, `RESERVED_NAME` */
export function readFields(frontMatter: FrontMatter): PromptFields {
  const reader = new FieldReader(frontMatter);
  const { system_prompt, thinking_budget, output, format, ...values } = readValues(reader);
  return {
    ...values,
    system: system_prompt,
    output: output ?? format,
    thinkingBudget: thinking_budget,
    unknown: reader.rest(),
  };
}
