import { outputToolName } from "../../src/core/output-tool.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { sampleOf } from "./sample.ts";

const usage = { inputTokens: 0, outputTokens: 0 };

type StandIn = ReturnType<typeof scriptedModel>;

/**
 * Stands in for a model where there is none: it calls no tool, answers in the form that is wanted with a value made of its schema, and else
 * with the text it was told.
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
      return { text: `(No model was asked. It would have been told:)\n\n${texts.join("\n")}`, usage };
    },
    { provider: "offline", modelId: "stand-in" },
  );
}
