import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { type Era, eras } from "./fixture/asking.ts";
import { initialize } from "./fixture/client.ts";
import { everyCapability, statelessBody } from "./fixture/stateless.ts";

type Fields = Readonly<Record<string, unknown>>;

const server = fileURLToPath(new URL("fixture/plain-program.ts", import.meta.url));
const gateway = fileURLToPath(new URL("fixture/gateway-program.ts", import.meta.url));
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

const answers: Readonly<Record<string, Fields>> = {
  "roots/list": { roots: [{ uri: "file:///r", name: "r", _meta: { "x/root": 1 } }] },
  "elicitation/create": {
    ...{ action: "accept", content: { mail: "a@b.example", count: 3, several: ["p"] } },
    _meta: { "x/answer": { deep: [1] } },
  },
  "sampling/createMessage": {
    ...{ role: "assistant", model: "m", stopReason: "odd", unknown: 1, _meta: { "x/sampled": 1 } },
    content: [{ type: "text", text: "a", _meta: { "x/out": 1 } }],
  },
};

/** The answer of the client, with a `_meta` of its own. A page is visited, or not: no form comes back. */
function answerTo({ method, params }: Fields): Fields | undefined {
  const answer = answers[String(method)];
  if (answer === undefined || (params as Fields | undefined)?.mode !== "url") return answer;
  const { content: _form, ...visited } = answer;
  return visited;
}

/** A client over stdio that reads and writes lines, and nothing in them. */
class LineClient {
  /** Questions and notifications, as they came. */
  readonly received: Fields[] = [];
  readonly #child: ChildProcess;
  readonly #era: Era;
  readonly #waiting = new Map<unknown, (message: Fields) => void>();
  #nextId = 1;

  constructor(args: readonly string[], era: Era) {
    this.#era = era;
    this.#child = spawn(process.execPath, [...args], { stdio: ["pipe", "pipe", "inherit"] });
    let rest = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#receive(JSON.parse(line) as Fields);
    });
  }

  async begin(): Promise<void> {
    if (this.#era === "2026-07-28") return;
    await this.#exchange({ ...initialize(everyCapability) });
    this.#send({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  /** The whole answer to a request, in as many rounds as it takes. */
  async request(method: string, params: Fields = {}): Promise<Fields> {
    const id = this.#nextId++;
    const _meta = { "x/given": { by: method }, traceparent, progressToken: `of ${method}` };
    if (this.#era === "2025-11-25") return this.#exchange({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
    const meta = { ..._meta, "io.modelcontextprotocol/logLevel": "debug" };
    const send = (more: Fields) =>
      this.#exchange(
        statelessBody({ id, method, params: { ...params, ...more }, capabilities: everyCapability, meta }),
      );
    const first = await send({});
    const { resultType, inputRequests, requestState } = (first.result ?? {}) as Fields;
    if (resultType !== "input_required") return first;
    const asked = Object.entries(inputRequests as Readonly<Record<string, Fields>>);
    this.received.push(...asked.map(([, question]) => question));
    const inputResponses = Object.fromEntries(asked.map(([key, question]) => [key, answerTo(question)]));
    return send({ inputResponses, requestState });
  }

  async close(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.stdin?.end();
    await exited;
  }

  #exchange(message: object): Promise<Fields> {
    return new Promise((resolve) => {
      this.#waiting.set((message as Fields).id, resolve);
      this.#send(message);
    });
  }

  #receive(message: Fields): void {
    const { id, method, params } = message;
    if (typeof method !== "string") {
      this.#waiting.get(id)?.(message);
      return;
    }
    this.received.push({ method, params });
    if (id !== undefined) this.#send({ jsonrpc: "2.0", id, result: answerTo(message) });
  }

  #send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
  }
}

/** Everything that is listed, called, rendered, read and completed, as it was on the wire. */
async function script(args: readonly string[], era: Era): Promise<object> {
  const client = new LineClient(args, era);
  try {
    await client.begin();
    const listed = async (method: string, key: string, by: "name" | "uri" | "uriTemplate") => {
      const { result } = (await client.request(method)) as { readonly result: Readonly<Record<string, Fields[]>> };
      return [...(result[key] ?? [])].sort((a, b) => (String(a[by]) < String(b[by]) ? -1 : 1));
    };
    const tools = await listed("tools/list", "tools", "name");
    const prompts = await listed("prompts/list", "prompts", "name");
    const resources = await listed("resources/list", "resources", "uri");
    const templates = await listed("resources/templates/list", "resourceTemplates", "uriTemplate");
    const said: Fields[] = [];
    const ask = async (method: string, params: Fields) => said.push(await client.request(method, params));
    const input = { list: [1, null, { deep: "\u0000\u2028é" }], big: 1e21, small: -0.5 };
    for (const { name } of tools) await ask("tools/call", { name, arguments: name === "echo" ? input : {} });
    for (const { name } of prompts) await ask("prompts/get", { name, arguments: { a: "1" } });
    for (const uri of [...resources.map((each) => each.uri), "plain://t/a%20b"]) await ask("resources/read", { uri });
    const context = { arguments: { b: "2" } };
    const completed = { ref: { type: "ref/prompt", name: "one" }, argument: { name: "a", value: "v" } };
    await ask("completion/complete", { ...completed, context });
    const variable = { ref: { type: "ref/resource", uri: "plain://t/{x}" }, argument: { name: "x", value: "v" } };
    await ask("completion/complete", variable);
    // Behind us the lists come together while the server connects.
    const received = client.received.filter(({ method }) => !String(method).endsWith("list_changed"));
    const shown = { tools, prompts, resources, templates, said, received };
    return JSON.parse(JSON.stringify(shown), comparable) as object;
  } finally {
    await client.close();
  }
}

/** Without what differs by its nature: the name of the server, the namespace before a logger, and the id of a visit, which 2026-07-28 has not. */
function comparable(key: string, value: unknown): unknown {
  if (key === "io.modelcontextprotocol/serverInfo" || key === "elicitationId") return undefined;
  if (key === "logger") return String(value).replace("upstream/", "");
  // Nothing else is in it where the server sent none.
  return key === "_meta" && Object.keys(value as object).length === 0 ? undefined : value;
}

for (const era of eras) {
  verifies(
    ["V1", "V2", "V6"],
    `a server of ${era} behind a served Toolkit says on the wire what it says directly, member for member`,
    async () => {
      const plain = [server, era];
      const [direct, behind] = await Promise.all([script(plain, era), script([gateway, ...plain], era)]);
      expect(behind).toEqual(direct);
      expect(Object.keys(direct)).toHaveLength(6);
    },
    60_000,
  );
}
