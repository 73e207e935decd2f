import { type ModelRequest, type ScriptedStep, scriptedModel } from "toolweave/testing";

export const entities = { entities: [{ kind: "person", name: "Ada Lovelace", mentions: 1 }] };

/** Stands for a language model, so that no key is needed: what it is asked decides what it answers. */
export const model = scriptedModel(({ responseFormat, tools = [], prompt }: ModelRequest): ScriptedStep => {
  if (responseFormat?.type === "json") return { text: JSON.stringify(entities) };
  const last = prompt.at(-1);
  if (last?.role === "tool") return { text: `The tools say: ${JSON.stringify(last.content.map(outputOf))}` };
  if (tools.some(({ name }) => name === "remote__get-sum")) {
    const sum = { name: "remote__get-sum", input: { a: 40, b: 2 } };
    return { text: "I will add them. ", toolCalls: [sum, { name: "count_words", input: { text: "forty and two" } }] };
  }
  return { text: `A text of ${JSON.stringify(prompt).length > 400 ? "many" : "few"} words.` };
});

function outputOf(part: { readonly type: string; readonly output?: unknown }): unknown {
  return part.output;
}
