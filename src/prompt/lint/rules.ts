/** How much a problem matters: an error keeps the prompt from working, a warning probably does, a hint makes it better. */
export type LintSeverity = "error" | "warning" | "hint";

interface Rule {
  readonly severity: LintSeverity;
  /** What it finds, for the docs. */
  readonly summary: string;
}

const error = (summary: string): Rule => ({ severity: "error", summary });
const warning = (summary: string): Rule => ({ severity: "warning", summary });
const hint = (summary: string): Rule => ({ severity: "hint", summary });

/** Every rule of lint by its name, which stays what it is: programs may go by it. */
export const lintRules = {
  file: error(
    "The file is no prompt: it cannot be read, its front matter is missing or not closed, or it has no text.",
  ),
  yaml: error("The front matter is no YAML."),
  field: error("A field has a value it cannot have, or its name is misspelt."),
  "unknown-field": warning("A field that means nothing to Toolweave. One whose name starts with `x-` is your own."),
  name: error("The name of the prompt is none, or is reserved."),
  "duplicate-name": error("Two prompts have one name."),
  schema: error("A schema is none, refers to what is not there, or has a default that it refuses."),
  "misspelt-keyword": error("A word of a schema that is nearly one of JSON Schema, such as `propertis`."),
  "unknown-keyword": warning("A word of a schema that JSON Schema does not have: it changes nothing."),
  contradiction: warning("A schema no value fits, such as a `minimum` above its `maximum`."),
  "unfit-example": warning("An example of a schema that the schema refuses."),
  "unused-default": warning("A default of a property that is required: it is never used."),
  template: error("A tag of the text cannot be read, or names a helper there is not."),
  partial: error("A partial is missing, or uses itself."),
  "unused-partial": hint("A partial of the folder that no prompt uses."),
  "unknown-variable": error("The text uses a name that the input does not have: it would stay empty."),
  "no-list": warning("`{{#each}}` goes through a value that has no entries."),
  "unused-required": warning("Callers must give a value that the text does not use."),
  "unused-optional": hint("Callers may give a value that the text does not use."),
  "unknown-tool": error("`tools` names a tool there is not."),
  "no-match": warning("Nothing fits a pattern of `tools`."),
  "unchecked-tool": warning("Whether there is the tool cannot be told: its namespace is not connected."),
  "unknown-model": error("The model, or the provider, is not among the given ones."),
  "missing-title": hint("There is neither a title nor a `# heading`: people see the name."),
  "missing-description": hint(
    "There is no description: a model that may use the prompt as a tool knows its name alone.",
  ),
} as const satisfies Readonly<Record<string, Rule>>;

/** The name of a rule. */
export type LintCode = keyof typeof lintRules;
