import { outputToolName } from "../core/output-tool.ts";
import { scriptedModel } from "../testing/scripted-model/scripted-model.ts";
import { sampleOf } from "./sample-value.ts";

const usage = { inputTokens: 0, outputTokens: 0 };

type StandIn = ReturnType<typeof scriptedModel>;

/**
 * A model for runs without one: it calls no tool, and answers with a value that is made up from the output schema, or else with the text
 * of the messages.
 */
export function standIn(): StandIn {
  return scriptedModel(
    ({ prompt, tools = [], responseFormat }) => {
      const submit = tools.find((tool) => tool.name === outputToolName);
      if (submit?.type === "function") {
        return { toolCalls: [{ name: outputToolName, input: sampleOf(submit.inputSchema) }], usage };
      }
      if (responseFormat?.type === "json") return { text: JSON.stringify(sampleOf(responseFormat.schema)), usage };
      const texts = prompt.flatMap((message) =>
        message.role === "user" ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
      );
      return { text: `(No model was asked. These are its messages:)\n\n${texts.join("\n")}`, usage };
    },
    { provider: "offline", modelId: "stand-in" },
  );
}
