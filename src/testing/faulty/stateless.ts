import { isRecord, jsonIn } from "../../lib/value.ts";
import { metaKeys, modernCodes, modernVersion } from "../../mcp/modern/revision.ts";
import type { JsonRpcId, MethodOutcome } from "./client-channel.ts";
import type { FaultyState } from "./faulty-state.ts";

type Fields = Readonly<Record<string, unknown>>;

const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

/** The field of a filter that asks for a notification. */
const filterFields: Readonly<Record<string, string>> = {
  "notifications/tools/list_changed": "toolsListChanged",
  "notifications/prompts/list_changed": "promptsListChanged",
  "notifications/resources/list_changed": "resourcesListChanged",
};

/** The requests for notifications of a client without a session. */
export class ListenRequests {
  readonly #filters = new Map<JsonRpcId, Fields>();

  get count(): number {
    return this.#filters.size;
  }

  /** The resources whose changes are asked for. */
  get uris(): ReadonlySet<string> {
    return new Set([...this.#filters.values()].flatMap(urisIn));
  }

  /** Begins one. Returns the notification that agrees to it. */
  open(id: JsonRpcId, { notifications }: Fields): object {
    const filter = isRecord(notifications) ? notifications : {};
    this.#filters.set(id, filter);
    return stamped("notifications/subscriptions/acknowledged", { notifications: filter }, id);
  }

  end(id: JsonRpcId): void {
    this.#filters.delete(id);
  }

  /** A notification as each request that asked for it gets it, by the id of the request. */
  copiesOf(method: string, params: Fields = {}): readonly (readonly [JsonRpcId, object])[] {
    const wants = (filter: Fields) =>
      method === "notifications/resources/updated"
        ? urisIn(filter).includes(String(params.uri))
        : filter[filterFields[method] ?? ""] === true;
    return [...this.#filters].flatMap(([id, filter]) => (wants(filter) ? [[id, stamped(method, params, id)]] : []));
  }
}

function urisIn({ resourceSubscriptions: uris }: Fields): readonly string[] {
  return Array.isArray(uris) ? uris.map(String) : [];
}

function stamped(method: string, params: Fields, id: JsonRpcId): object {
  return { jsonrpc: "2.0", method, params: { ...params, _meta: { [subscriptionKey]: id } } };
}

/**
 * The questions of a tool to a client without a session. The answers come with the next request of the call: then the tool runs again from
 * its beginning, with all answers that there are, as servers of that revision do it.
 */
export class InputQuestions {
  readonly #answers: Fields;
  readonly #open: Record<string, object> = {};
  #count = 0;

  constructor(earlier: Fields, { inputResponses }: Fields) {
    this.#answers = { ...earlier, ...(isRecord(inputResponses) && inputResponses) };
  }

  /** The answer to the next question. @throws Error where there is none yet */
  async ask(method: string, params: object = {}): Promise<unknown> {
    const key = `question-${++this.#count}`;
    if (key in this.#answers) return this.#answers[key];
    this.#open[key] = { method, params };
    throw new Error("The client has to answer first.");
  }

  /** The result of a call that has questions; undefined where all were answered. */
  get required(): MethodOutcome | undefined {
    if (Object.keys(this.#open).length === 0) return undefined;
    const requestState = JSON.stringify(this.#answers);
    return { result: { resultType: "input_required", inputRequests: this.#open, requestState } };
  }
}

/** The answers of earlier requests of a call; undefined for a state that is none of this server. */
export function earlierAnswers({ requestState = "{}" }: Fields): Fields | undefined {
  const answers = jsonIn(String(requestState));
  return isRecord(answers) ? answers : undefined;
}

/** The description of the server that has no handshake. */
export function discovered({ name, capabilities, faults }: FaultyState): object {
  const version = faults.take("unknown-version") === undefined ? modernVersion : "1999-12-31";
  const _meta = { [metaKeys.serverInfo]: { name, version: "1.0.0" } };
  return { supportedVersions: [version], capabilities, _meta };
}

/** The error for a request that does not say the revision without sessions; undefined for one that does. */
export function revisionError({ _meta }: Fields): MethodOutcome | undefined {
  const requested = isRecord(_meta) ? _meta[metaKeys.protocolVersion] : undefined;
  if (requested === modernVersion) return undefined;
  const data = { supported: [modernVersion], requested };
  return { error: { code: modernCodes.unsupportedVersion, message: "Unsupported protocol version", data } };
}

/** An outcome with the fields that the revision without sessions adds. */
export function completed(outcome: MethodOutcome, method: string): MethodOutcome {
  if (!("result" in outcome) || !isRecord(outcome.result) || "resultType" in outcome.result) return outcome;
  const isKept = method.endsWith("/list") || method === "resources/read" || method === "server/discover";
  const cache = isKept ? { ttlMs: 0, cacheScope: "private" } : {};
  return { result: { resultType: "complete", ...cache, ...outcome.result } };
}

/** True for a request that asks for log messages. */
export function wantsLogs({ _meta }: Fields): boolean {
  return isRecord(_meta) && _meta[metaKeys.logLevel] !== undefined;
}
