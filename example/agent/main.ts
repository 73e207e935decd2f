// A research agent over two real MCP servers: it lists and reads files, adds numbers, asks another prompt, and submits an answer that is
// checked against a schema. With a key in the environment a real model does it; without one a scripted model does the same.
import { fileURLToPath } from "node:url";
import { readPrompts, Toolkit } from "toolweave";
import { type AgentEvent, agent } from "toolweave/agent";
import { everythingOverStdio, filesystem } from "../quickstart/servers.ts";
import { check, step } from "../quickstart/show.ts";
import { modelWithKey, researcher } from "./models.ts";

const notes = fileURLToPath(new URL("./notes", import.meta.url));
const named = modelWithKey();
const script = named === undefined ? researcher(notes) : undefined;

// #region toolkit
const assistant = agent({ defaultModel: named ?? script, maxSteps: 12, maxTokens: 200_000 });
const toolkit = new Toolkit({ delegate: assistant });
toolkit.add(...(await readPrompts(fileURLToPath(new URL("./prompts", import.meta.url)))));
toolkit.addConnector(everythingOverStdio, { namespace: "everything" });
toolkit.addConnector(filesystem(notes), { namespace: "files" });
// #endregion toolkit

try {
  await toolkit.start();
  step(`A run, as it happens (${named ?? "no key in the environment: a scripted model"})`);
  // #region stream
  const input = { question: "How many looms do the mills have together?", folder: notes };
  const stream = assistant.stream({ prompt: "research", input });
  for await (const event of stream) show(event);
  const answer = await stream.result;
  // #endregion stream

  step("The answer, and what it took");
  const { total, files } = (await answer.json()) as { total: number; files: string[] };
  check("total", total, (seen: number) => seen === 42);
  check("files", files, (seen: string[]) => seen.some((file) => file.includes("bern.md")));
  check("run", answer.meta, ({ steps, toolCalls }: { steps: number; toolCalls: unknown[] }) => {
    return steps >= 3 && toolCalls.length >= 4;
  });
  if (script !== undefined) {
    const statuses = (answer.meta as { toolCalls: { name: string; status: string }[] }).toolCalls;
    const failed = statuses.filter(({ status }) => status !== "ok").map(({ name }) => name);
    check("only the first answer did not fit", failed, (names: string[]) => names.join() === "submit_output");
  }
} finally {
  await toolkit.close();
}
console.log("\nEverything is as it should be.");

// #region show
function show(event: AgentEvent): void {
  const indent = "  ".repeat(event.depth + 1);
  switch (event.type) {
    case "textDelta":
      process.stdout.write(event.delta);
      break;
    case "toolCall":
      console.log(`\n${indent}-> ${event.name} ${JSON.stringify(event.input).slice(0, 100)}`);
      break;
    case "toolResult":
      console.log(`${indent}<- ${event.name}: ${event.status}, ${Math.round(event.durationMs)} ms`);
      break;
    case "finish":
      console.log(`\n${indent}${event.ref}: ${event.steps} steps, ${event.usage.inputTokens} tokens in`);
      break;
    default:
  }
}
// #endregion show
