/** An A2A agent, made with the SDK: it plans journeys, step by step, and asks where to when it is not told. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type AgentCard, Role, TaskState } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";

class Planner implements AgentExecutor {
  async execute({ userMessage, task, taskId, contextId }: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const ids = { taskId, contextId };
    const [part] = userMessage.parts;
    const said = part?.content?.$case === "text" ? part.content.value : "";
    const city = task === undefined ? /\bin (\w+)/.exec(said)?.[1] : said;
    const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: undefined };
    const begun = { id: taskId, contextId, status, artifacts: [], history: [], metadata: undefined };
    bus.publish(AgentEvent.task(task ?? begun));
    if (city === undefined) say(bus, ids, TaskState.TASK_STATE_INPUT_REQUIRED, "Where to?");
    else {
      say(bus, ids, TaskState.TASK_STATE_WORKING, `Looking for trains to ${city}`);
      say(bus, ids, TaskState.TASK_STATE_WORKING, "Looking for a room");
      const parts = [text(`Three days in ${city}: the 10:02, and a room with a view.`)];
      const artifact = {
        artifactId: "plan",
        name: "plan",
        description: "",
        parts,
        metadata: undefined,
        extensions: [],
      };
      bus.publish(AgentEvent.artifactUpdate({ ...ids, artifact, append: false, lastChunk: true, metadata: undefined }));
      say(bus, ids, TaskState.TASK_STATE_COMPLETED);
    }
    bus.finished();
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    say(bus, { taskId, contextId: "" }, TaskState.TASK_STATE_CANCELED);
    bus.finished();
  }
}

function text(value: string) {
  return { content: { $case: "text" as const, value }, metadata: undefined, filename: "", mediaType: "" };
}

function say(
  bus: ExecutionEventBus,
  ids: { taskId: string; contextId: string },
  state: TaskState,
  words?: string,
): void {
  const message = {
    ...ids,
    messageId: randomUUID(),
    role: Role.ROLE_AGENT,
    parts: words === undefined ? [] : [text(words)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  const status = { state, message: words === undefined ? undefined : message, timestamp: new Date().toISOString() };
  bus.publish(AgentEvent.statusUpdate({ ...ids, status, metadata: undefined }));
}

/** Starts the agent, and gives the URL of its card. */
export async function startAgent(): Promise<{ readonly card: string } & AsyncDisposable> {
  const app = express();
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const card: AgentCard = {
    name: "Planner",
    description: "Plans journeys.",
    version: "1.0.0",
    provider: undefined,
    supportedInterfaces: [{ url: `${origin}/rpc`, protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" }],
    capabilities: { streaming: true, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [
      {
        id: "plan",
        name: "Plan a journey",
        description: "Plans a journey to a city.",
        tags: ["travel"],
        examples: ["Three days in Bern"],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Planner());
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  return {
    card: `${origin}/.well-known/agent-card.json`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
