import { type Script, type ScriptedStep, scriptedModel } from "toolweave/testing";

/** The models of providers whose key may be in the environment, by the variable it is in. */
const byKey: Readonly<Record<string, string>> = {
  ANTHROPIC_API_KEY: "anthropic/claude-sonnet-5",
  OPENAI_API_KEY: "openai/gpt-5",
  GOOGLE_GENERATIVE_AI_API_KEY: "google/gemini-2.5-flash",
  MISTRAL_API_KEY: "mistral/mistral-large-latest",
};

/** The model of a provider whose key is there, if there is one. TOOLWEAVE_MODEL names another. */
export function modelWithKey(): string | undefined {
  const { TOOLWEAVE_MODEL: named } = process.env;
  if (named !== undefined && named !== "") return named;
  const variable = Object.keys(byKey).find((each) => process.env[each]);
  return variable === undefined ? undefined : byKey[variable];
}

/** What a model would do here, so that the example needs no key: it is as much a test as an example. */
export function researcher(folder: string) {
  const steps: readonly ScriptedStep[] = [
    {
      text: "Let me see which notes there are.",
      toolCalls: [{ name: "files__list_directory", input: { path: folder } }],
    },
    {
      text: "Two of them. I read both.",
      toolCalls: ["bern.md", "basel.md"].map((file) => ({
        name: "files__read_text_file",
        input: { path: `${folder}/${file}` },
      })),
    },
    {
      toolCalls: [
        // A number as a text, as models often write it: it is repaired.
        { name: "everything__get-sum", input: { a: "12", b: 30 } },
        { name: "gist", input: { text: "The mill in Basel has 30 looms, all of them new." } },
      ],
    },
    {
      toolCalls: [
        { name: "submit_output", input: { answer: "Together the mills have 42 looms.", files: ["bern.md"] } },
      ],
    },
    {
      toolCalls: [
        {
          name: "submit_output",
          input: { answer: "Together the mills have 42 looms.", total: 42, files: ["basel.md", "bern.md"] },
        },
      ],
    },
  ];
  let next = 0;
  const script: Script = ({ tools = [] }) =>
    tools.length === 0 ? "A mill in Basel and its thirty looms." : (steps[next++] ?? "I have nothing more to say.");
  return scriptedModel(script);
}
