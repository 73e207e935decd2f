import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { json } from "node:stream/consumers";
import { isRecord } from "../../lib/value.ts";
import type { ClientConversation, Endpoint } from "./client-conversation.ts";
import type { FaultName } from "./faults.ts";
import type { FaultyState } from "./faulty-state.ts";
import { HttpPost } from "./http-post.ts";
import { HttpSession } from "./http-session.ts";

/** Options of listening. */
export interface ListenOptions {
  /** Default: a free one. */
  readonly port?: number | undefined;
  /** The form of responses: a stream of events, or one JSON message. Default: `sse`. */
  readonly answers?: "sse" | "json" | undefined;
}

/** The port on which a faulty server listens. Disposing of it closes the port. */
export interface Listening extends AsyncDisposable {
  /** Of the MCP endpoint. */
  readonly url: string;
  readonly port: number;
  /** Stops listening: connections break, sessions are forgotten, and the port is closed. */
  stop(): Promise<void>;
  /** Listens again, on the same port. @throws Error when the port is taken */
  start(): Promise<void>;
}

/** Serves Streamable HTTP on a port of this machine. */
export class HttpEndpoint implements Endpoint, Listening {
  readonly transport = "http";
  readonly #state: FaultyState;
  readonly #answers: "sse" | "json";
  readonly #sessions = new Map<string, HttpSession>();
  /** The requests that are under way, of clients without sessions. */
  readonly #posts = new Set<HttpPost>();
  /** The open responses, each in words. */
  readonly #responses = new Map<ServerResponse, string>();
  readonly #sockets = new Set<Socket>();
  /** Those of which a black hole swallowed something. */
  readonly #swallowed = new WeakSet<Socket>();
  #server: Server | undefined;
  #port: number;
  #down = false;

  private constructor(state: FaultyState, { port = 0, answers = "sse" }: ListenOptions) {
    this.#state = state;
    this.#answers = answers;
    this.#port = port;
  }

  static async open(state: FaultyState, options: ListenOptions): Promise<HttpEndpoint> {
    const endpoint = new HttpEndpoint(state, options);
    await endpoint.start();
    await endpoint.faultChanged("down");
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  get port(): number {
    return this.#port;
  }

  get conversations(): Iterable<ClientConversation> {
    return [...this.#sessions.values(), ...this.#posts].map(({ conversation }) => conversation);
  }

  running(): readonly string[] {
    return [...this.#responses.values()];
  }

  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer((request, response) => void this.#handle(request, response));
    this.#server = server;
    server.on("connection", (socket) => this.#connected(socket));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.#port, "127.0.0.1", resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.#crash(server);
    await closed;
  }

  async faultChanged(name: FaultName): Promise<void> {
    const on = this.#state.faults.find(name) !== undefined;
    if (name === "down" && on !== this.#down) {
      this.#down = on;
      await (on ? this.stop() : this.start());
    }
    // Without sessions a client is its connections.
    const isFrozen = name === "black-hole" || (name === "half-open" && this.#state.isStateless);
    if (isFrozen && on) for (const socket of this.#sockets) this.#swallowed.add(socket);
    if (name !== "close-stream" || !on) return;
    for (const each of [...this.#sessions.values(), ...this.#posts]) each.streamFault();
  }

  close(): Promise<void> {
    this.#down = false;
    return this.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #connected(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    if (this.#state.faults.find("black-hole") !== undefined) this.#swallowed.add(socket);
  }

  /** Breaks all connections, and forgets all sessions. */
  #crash(server: Server): void {
    const conversations = [...this.conversations];
    this.#sessions.clear();
    this.#posts.clear();
    for (const conversation of conversations) conversation.end();
    server.closeAllConnections();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#responses.set(response, `an HTTP ${request.method} that is under way`);
    response.on("error", () => undefined);
    response.on("close", () => this.#responses.delete(response));
    try {
      await this.#answer(request, response);
    } catch {
      // The client went away, or sent no JSON.
      if (!response.headersSent) response.writeHead(400).end("Bad request");
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#swallowed.has(request.socket)) return;
    if (this.#state.isStateless) return this.#request(request, response);
    const id = request.headers["mcp-session-id"];
    const session = typeof id === "string" ? this.#sessions.get(id) : undefined;
    // Unread data fills the buffers in between, as with a machine that is gone.
    if (session?.conversation.frozen) return;
    if (id !== undefined && this.#refuse(session, response)) return;
    if (request.method === "GET" && session !== undefined) session.openStream(response);
    else if (request.method === "DELETE") this.#forget(session, response);
    else if (request.method === "POST") await this.#post(session, await json(request), response);
    else response.writeHead(405).end();
  }

  /** Answers a client without a session. */
  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const message = await json(request);
    const freeze = () => this.#swallowed.add(request.socket);
    const post = new HttpPost({ state: this.#state, answers: this.#answers, kill: this.#kill, response, freeze });
    this.#posts.add(post);
    response.on("close", () => this.#posts.delete(post));
    post.receive(message);
  }

  readonly #kill = (): void => {
    if (this.#server !== undefined) this.#crash(this.#server);
  };

  /** Answers for an unknown session, or one that a fault drops now. */
  #refuse(session: HttpSession | undefined, response: ServerResponse): boolean {
    const { faults } = this.#state;
    const drop =
      session === undefined
        ? 404
        : faults.take("drop-session-404") !== undefined
          ? 404
          : faults.take("drop-session-400") !== undefined
            ? 400
            : undefined;
    if (drop === undefined) return false;
    if (session !== undefined) this.#end(session);
    response.writeHead(drop).end("Session not found");
    return true;
  }

  #forget(session: HttpSession | undefined, response: ServerResponse): void {
    if (session !== undefined) this.#end(session);
    response.writeHead(200).end();
  }

  #end(session: HttpSession): void {
    this.#sessions.delete(session.id);
    session.end();
  }

  async #post(known: HttpSession | undefined, body: unknown, response: ServerResponse): Promise<void> {
    const messages = Array.isArray(body) ? body : [body];
    const requests = messages.filter(
      (message) => isRecord(message) && message.id !== undefined && message.method !== undefined,
    );
    const [first] = requests;
    const session = known ?? (isRecord(first) && first.method === "initialize" ? this.#open() : undefined);
    if (session === undefined) response.writeHead(400).end("No session, and no initialize");
    else if (!session.conversation.frozen) session.receive(messages, requests, response);
  }

  #open(): HttpSession {
    const session = new HttpSession({ state: this.#state, answers: this.#answers, kill: this.#kill });
    this.#sessions.set(session.id, session);
    return session;
  }
}
