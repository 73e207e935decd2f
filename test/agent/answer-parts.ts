import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { type ModelCall, type ModelQuestion, stream } from "../../src/agent/model/model-call.ts";
import type { ChosenModel } from "../../src/agent/model/models.ts";

/** The parts of a streamed answer, one by one. Reading no further ends it. */
export async function* streamedParts(
  chosen: ChosenModel,
  question: ModelQuestion,
  call: ModelCall,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const answer = stream(chosen, question, call);
  try {
    for (let parts = await answer.read(); parts !== undefined; parts = await answer.read()) yield* parts;
  } finally {
    answer.end();
  }
}
