import type { AgentCard, AgentInterface, Message, StreamResponse, Task } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { ToolkitError } from "../core/error.ts";

/** The modules of the SDK, which is an optional peer. */
export interface AgentSdk {
  readonly core: typeof import("@a2a-js/sdk");
  readonly client: typeof import("@a2a-js/sdk/client");
}

let loaded: Promise<AgentSdk> | undefined;

/** Loads the SDK, once. @throws ToolkitError `MISSING_PEER` */
export function loadSdk(): Promise<AgentSdk> {
  loaded ??= importSdk();
  // It may be installed meanwhile.
  loaded.catch(() => {
    loaded = undefined;
  });
  return loaded;
}

async function importSdk(): Promise<AgentSdk> {
  try {
    const [core, client] = await Promise.all([import("@a2a-js/sdk"), import("@a2a-js/sdk/client")]);
    return { core, client };
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const install = "npm install @a2a-js/sdk";
    const message = `a2a needs the package @a2a-js/sdk, which is not installed: ${install}.`;
    throw new ToolkitError("MISSING_PEER", message, { package: "@a2a-js/sdk", install }, { cause: error });
  }
}

/** One event about a task, or the message that answers at once. */
export type AgentUpdate = NonNullable<StreamResponse["payload"]>;

/** The requests to an agent, on behalf of one caller. Each rejects with an error of the transport, of the SDK, or of a limit. */
export interface AgentClient {
  /** Sends a message, and gives what comes of it: as a stream where the agent has streams, else the first answer alone. */
  send(message: Message, outputModes: readonly string[], signal: AbortSignal): AsyncIterable<AgentUpdate>;
  /** The updates about a task from now on. */
  subscribe(taskId: string, signal: AbortSignal): AsyncIterable<AgentUpdate>;
  task(taskId: string, signal: AbortSignal): Promise<Task>;
  cancel(taskId: string, signal: AbortSignal): Promise<Task>;
  /** The card for those who have credentials. */
  extendedCard(signal: AbortSignal): Promise<AgentCard>;
}

/** A client of one interface of an agent, which sends with a `fetch` of its own. */
export async function agentClient(
  { client: sdk }: AgentSdk,
  card: AgentCard,
  chosen: AgentInterface,
  fetch: typeof globalThis.fetch,
): Promise<AgentClient> {
  const options = { fetchImpl: fetch, legacyCompat: { enabled: true } };
  const isRest = chosen.protocolBinding.toUpperCase() === "HTTP+JSON";
  const factory = isRest ? new sdk.RestTransportFactory(options) : new sdk.JsonRpcTransportFactory(options);
  const own = { ...card, supportedInterfaces: [chosen] };
  const bare = await factory.create(chosen.url, own);
  const transport = chosen.tenant === "" ? bare : new sdk.TenantTransportDecorator(bare, chosen.tenant);
  const client = new sdk.Client(transport, own);
  return {
    send: (message, outputModes, signal) => updatesOf(sendWith(client, own, message, outputModes, signal)),
    subscribe: (id, signal) => updatesOf(client.resubscribeTask({ tenant: "", id }, { signal })),
    task: (id, signal) => client.getTask({ tenant: "", id, historyLength: 0 }, { signal }),
    cancel: (id, signal) => client.cancelTask({ tenant: "", id, metadata: undefined }, { signal }),
    extendedCard: (signal) => client.getAgentCard({ signal }),
  };
}

function sendWith(
  client: Client,
  card: AgentCard,
  message: Message,
  outputModes: readonly string[],
  signal: AbortSignal,
): AsyncIterable<StreamResponse> {
  const streams = card.capabilities?.streaming === true;
  const configuration = {
    acceptedOutputModes: [...outputModes],
    taskPushNotificationConfig: undefined,
    // Without a stream the task is polled: a request that is open for hours breaks on the way.
    returnImmediately: !streams,
    historyLength: 0,
  };
  return client.sendMessageStream({ tenant: "", message, configuration, metadata: undefined }, { signal });
}

async function* updatesOf(responses: AsyncIterable<StreamResponse>): AsyncGenerator<AgentUpdate> {
  for await (const { payload } of responses) if (payload !== undefined) yield payload;
}
