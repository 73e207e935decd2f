import type { Connector, ConnectorHost, ConnectorSession } from "../core/connector.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { CallContext } from "../core/item.ts";
import type { Content } from "../core/resource.ts";
import type { Clock } from "../lib/clock.ts";
import { abortable } from "../lib/promise.ts";
import { isRecord } from "../lib/value.ts";
import { headerFromEnv, headerNameFault } from "../manifest/http/request-message.ts";
import type { ManifestContext, ManifestExecutor, ManifestTool } from "../manifest/manifest-port.ts";
import { a2a } from "./agent-connector.ts";
import { inputSchema } from "./skills.ts";

const at = ["spec", "a2a"];
/** The longest time that a card is taken for current. */
const freshMs = 60_000;

/**
 * The mode `a2a` of manifests, for their `executors`: one skill of an agent is a tool. It connects with the first call and, after
 * a break, with the next one, and is not supervised: for an agent with many skills `a2a()` is the better way.
 *
 * Of the arguments `query` or `message` is the text, `contextId` and `taskId` are those ids, and all others are sent as data.
 *
 * @throws ToolkitError `INVALID_MANIFEST` for what cannot be an agent
 */
export const a2aExecutor: ManifestExecutor = (manifest, context) => {
  const { spec, problem } = manifest;
  const { agent_url: written, skill_id: skillId, timeout_ms: timeoutMs = 0 } = spec.a2a ?? {};
  if (written === undefined)
    throw problem(["spec"], "The mode a2a needs the agent.", "Write a2a: { agent_url: https://host }.");
  const given = context.expand([...at, "agent_url"], written);
  const url = URL.parse(given);
  if (url === null) throw problem([...at, "agent_url"], "The agent_url is no URL.", "Write one such as https://host.");
  const agent = new ManifestAgent(connectorOf(manifest, context, cardUrl(url)), skillId, context.clock);
  context.onClose(() => agent.close());
  return {
    input: inputSchema([]),
    annotations: { openWorldHint: true },
    options: timeoutMs > 0 ? { timeoutMs } : {},
    run: (input, call) => agent.call(input, call),
    check: { run: (signal) => agent.check(signal), path: [...at, "agent_url"] },
  };
};

/** PromptKit gives the URL of the agent, in front of the path of its card. */
function cardUrl(url: URL): URL {
  if (url.pathname.endsWith(".json")) return url;
  const path = `${url.pathname.replace(/\/$/, "")}/.well-known/agent-card.json`;
  return Object.assign(new URL(url), { pathname: path });
}

function connectorOf(manifest: ManifestTool, context: ManifestContext, url: URL): Connector {
  try {
    // A value that came from a variable is not expanded again.
    return a2a(url, { headers: headersOf(manifest, context), egress: manifest.spec.a2a?.egress });
  } catch (cause) {
    if (!ToolkitError.is(cause) || cause.code === "INVALID_MANIFEST") throw cause;
    throw manifest.problem(at, messageOf(cause), "", { cause });
  }
}

function headersOf({ spec, problem }: ManifestTool, context: ManifestContext): Record<string, string> {
  const { headers = {}, headers_from_env: variables = [], auth } = spec.a2a ?? { agent_url: "" };
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) all[name] = context.expand([...at, "headers", name], value);
  for (const [index, entry] of variables.entries()) {
    const path = [...at, "headers_from_env", index];
    const { name, value: written } = headerFromEnv(entry);
    const value = context.expand(path, written);
    const fault = name === undefined ? undefined : headerNameFault(name);
    if (fault !== undefined) throw problem(path, `${JSON.stringify(name)} ${fault}.`, "Write Header=VAR.");
    if (name !== undefined) all[name] = value;
  }
  if (!isRecord(auth)) return all;
  const { scheme = "Bearer", token, token_env: variable } = auth;
  const text = typeof variable === "string" ? `\${${variable}}` : token;
  if (typeof scheme !== "string" || typeof text !== "string")
    throw problem([...at, "auth"], "It has no token.", "Write auth: { scheme: Bearer, token_env: NAME }.");
  return { ...all, Authorization: `${scheme} ${context.expand([...at, "auth"], text)}` };
}

/** The agent of one manifest, connected while it is used. */
class ManifestAgent {
  readonly #connector: Connector;
  readonly #skillId: string | undefined;
  readonly #clock: Clock;
  readonly #ended = new AbortController();
  #opening: Promise<ConnectorSession> | undefined;
  #readAt = 0;

  constructor(connector: Connector, skillId: string | undefined, clock: Clock) {
    this.#connector = connector;
    this.#skillId = skillId;
    this.#clock = clock;
  }

  async call(input: Readonly<Record<string, unknown>>, context: CallContext): Promise<Content> {
    const session = await abortable(this.#session(), context.signal);
    const { message, query, contextId, taskId, data, ...others } = input;
    const own = Object.keys(others).length === 0 ? data : { ...others, ...(data === undefined ? {} : { data }) };
    const name = await this.#tool(session, context.signal);
    return session.call(name, { message: message ?? query, data: own, contextId, taskId }, context);
  }

  /** Connects, and finds the skill. @throws ToolkitError as a call does that cannot be made */
  async check(signal: AbortSignal): Promise<void> {
    await this.#tool(await abortable(this.#session(), signal), signal);
  }

  async close(): Promise<void> {
    this.#ended.abort(new Error("The manifest was replaced or removed."));
    const session = await this.#opening?.catch(() => undefined);
    await session?.[Symbol.asyncDispose]();
  }

  /** The session of all calls. One that failed, or has ended, is made anew. */
  #session(): Promise<ConnectorSession> {
    this.#ended.signal.throwIfAborted();
    if (this.#opening !== undefined) return this.#opening;
    const opening = this.#connector.connect({ signal: this.#ended.signal, host });
    const forget = () => {
      if (this.#opening === opening) this.#opening = undefined;
    };
    this.#opening = opening;
    opening.then(({ closed }) => closed.then(forget), forget);
    return opening;
  }

  /** The tool of the skill. The card is read again once it is old. */
  async #tool(session: ConnectorSession, signal: AbortSignal): Promise<string> {
    if (this.#clock.now() - this.#readAt > freshMs || this.#tools.length === 0) {
      this.#tools = (await session.list.tool?.({ signal }))?.items ?? [];
      this.#readAt = this.#clock.now();
    }
    const skillId = this.#skillId;
    const tool = this.#tools.find(({ meta = {} }) => {
      const { a2a: about } = meta;
      return skillId === undefined || skillId === "" || (isRecord(about) && about.skillId === skillId);
    });
    if (tool !== undefined) return tool.name;
    const suggestions = this.#tools.slice(0, 5).map(({ name }) => name);
    const message = `${session.server.name} has no skill ${skillId}. Correct a2a.skill_id of the manifest.`;
    throw new ToolkitError("NOT_FOUND", message, { key: skillId ?? "", suggestions });
  }

  #tools: readonly { readonly name: string; readonly meta?: Readonly<Record<string, unknown>> | undefined }[] = [];
}

/** Questions go to the caller whose call they belong to. */
const host: ConnectorHost = {
  changed: () => {},
  log: ({ level, data }, context) => {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    if (level === "warning" || level === "error") context?.logger.warn(text);
    else context?.logger.debug(text);
  },
  waits: () => false,
  elicit: async ({ message, schema, ...request }, { context, signal }) => {
    if (context === undefined) return { action: "decline" };
    if (schema !== undefined) return context.elicit(message, schema);
    const asked = context.session.elicit?.({ message, ...request }, { signal });
    return (await asked) ?? { action: "decline" };
  },
};
