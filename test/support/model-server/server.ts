import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropic } from "./anthropic.ts";
import { mistral, openaiChat } from "./chat.ts";
import type { Answer, Dialect, Fields, Refusal, Told, WireRequest } from "./dialect.ts";
import { google } from "./google.ts";
import { openaiResponses } from "./responses.ts";

/** An answer, or what goes wrong with it. */
export interface WireStep extends Answer {
  /** Refused with this status, in the API's own form. */
  readonly status?: number;
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * `garbage`: the body is nothing the API says. `cut`: the connection is destroyed halfway. `end`: a stream ends halfway, politely.
   * `hang`: halfway nothing comes any more.
   */
  readonly fault?: "garbage" | "cut" | "end" | "hang";
}

/** The answers of the server: in order, or by the request. A request beyond the list is refused with 500. */
export type WireScript = readonly WireStep[] | ((request: WireRequest) => WireStep);

/** A server on this machine that speaks the APIs of providers, as strictly as they document them. */
export interface ModelServer extends AsyncDisposable {
  /** A base URL goes on with `/anthropic/v1`, `/openai/v1`, `/google/v1beta` or `/mistral/v1`. */
  readonly url: string;
  /** The requests so far, refused ones too. */
  readonly requests: readonly WireRequest[];
  /** The requests that it refused, and why: empty where all were right. */
  readonly refused: readonly string[];
  /** The number of requests that are not over. */
  readonly open: number;
  /** Resolves when no request is open any more. */
  idle(): Promise<void>;
}

const dialects: readonly Dialect[] = [anthropic, openaiChat, openaiResponses, google, mistral];
const usage = { input: 100, cached: 40, output: 20, reasoning: 0 };

export async function modelServer(script: WireScript): Promise<ModelServer> {
  const running = new RunningServer(script);
  await running.listen();
  return running;
}

class RunningServer implements ModelServer {
  readonly requests: WireRequest[] = [];
  readonly refused: string[] = [];
  url = "";
  open = 0;
  #calls = 0;
  #idle = Promise.withResolvers<void>();
  readonly #script: WireScript;
  readonly #server = createServer((request, response) => {
    this.open++;
    response.once("close", () => {
      this.open--;
      if (this.open === 0) this.#idle.resolve();
    });
    this.#serve(request, response).catch((error) => response.destroy(error));
  });

  constructor(script: WireScript) {
    this.#script = script;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  idle(): Promise<void> {
    if (this.open === 0) return Promise.resolve();
    this.#idle = Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = "", headers } = message;
    const dialect = dialects.find((each) => each.path.test(path));
    let text = "";
    for await (const chunk of message.setEncoding("utf8")) text += chunk;
    if (dialect === undefined) return json(response, 404, { error: { message: `There is no ${path}` } });
    const request: WireRequest = { path, headers, body: JSON.parse(text) as Fields };
    const index = this.requests.push(request) - 1;
    try {
      dialect.check(request);
    } catch (error) {
      const { message: why, status = 400 } = error as Refusal;
      this.refused.push(why);
      return json(response, status, dialect.error(status, why));
    }
    const step = typeof this.#script === "function" ? this.#script(request) : this.#script[index];
    if (step === undefined)
      return json(response, 500, dialect.error(500, "The script has run out."), { "x-should-retry": "false" });
    if (step.status !== undefined) {
      return json(response, step.status, dialect.error(step.status, step.message ?? "No."), step.headers);
    }
    if (step.fault === "garbage") return void response.writeHead(200).end("<html>Some proxy</html>");
    const told = this.#told(step, index, dialect);
    if (dialect.isStream(request)) return streamed(response, step, told, dialect, request);
    await whole(response, step, JSON.stringify(dialect.whole(told, request)));
  }

  #told(
    { reasoning = "", text = "", toolCalls = [], finish, usage: used = usage }: WireStep,
    number: number,
    dialect: Dialect,
  ): Told {
    const calls = toolCalls.map((call) => ({ id: dialect.callId(++this.#calls), ...call }));
    return {
      number,
      reasoning,
      text,
      toolCalls: calls,
      finish: finish ?? (calls.length > 0 ? "tool" : "stop"),
      usage: used,
    };
  }
}

function json(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

async function whole(response: ServerResponse, { fault }: WireStep, text: string): Promise<void> {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  if (fault === undefined) response.end(text);
  else await written(response, text.slice(0, text.length / 2));
  if (fault === "cut" || fault === "end") response.destroy();
}

async function streamed(
  response: ServerResponse,
  { fault }: WireStep,
  told: Told,
  dialect: Dialect,
  request: WireRequest,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const frames = [...dialect.frames(told, request)];
  const said = fault === undefined ? frames : frames.slice(0, Math.ceil(frames.length / 2));
  for (const { event, data } of said) {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    await written(response, `${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`);
  }
  if (fault === undefined || fault === "end") response.end();
  // The written part must have gone out, or nothing was cut.
  else if (fault === "cut") setImmediate(() => response.destroy());
}

function written(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => response.write(text, () => resolve()));
}
