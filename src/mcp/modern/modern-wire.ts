import type { Kind } from "../../core/item.ts";
import { type LogLevel, logLevels } from "../../core/session.ts";
import { isRecord } from "../../lib/value.ts";
import type { ClientInfo } from "../handshake.ts";
import type { Peer } from "../rpc/peer.ts";
import type { RequestOptions } from "../rpc/request-options.ts";
import { RpcError } from "../rpc/rpc-error.ts";
import type { SessionWire } from "../session-wire.ts";
import type { InputRounds } from "./input-rounds.ts";
import type { ListenStream } from "./listen-stream.ts";
import type { ParameterHeaders } from "./parameter-headers.ts";
import { metaKeys, modernCodes, modernVersion } from "./revision.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The facts of the client in each request, in place of a handshake. */
export function envelopeOf(clientInfo: ClientInfo, capabilities: Fields): Fields {
  return {
    [metaKeys.protocolVersion]: modernVersion,
    [metaKeys.clientInfo]: clientInfo,
    [metaKeys.clientCapabilities]: capabilities,
  };
}

/** The parts of the wire. */
export interface ModernWireParts {
  readonly peer: Peer;
  readonly envelope: Fields;
  /** The least level of the log messages of a request; undefined where the server logs nothing. */
  readonly logLevel: LogLevel | undefined;
  readonly rounds: InputRounds;
  readonly listen: ListenStream;
  /** Over HTTP: the parameters of tools that are headers too. */
  readonly parameters: ParameterHeaders | undefined;
  /** The tools that were listed are not those that the server has. */
  outdated(): void;
}

/** So many pages are looked through for a tool whose headers are not known. */
const maxPages = 100;

/**
 * The wire of the revision without sessions: each request says who asks, in what revision and with what capabilities, and may come back
 * with questions, which are answered before its result is given.
 */
export class ModernWire implements SessionWire {
  readonly isModern = true;
  readonly #parts: ModernWireParts;

  constructor(parts: ModernWireParts) {
    this.#parts = parts;
    const { peer, rounds, listen } = parts;
    void peer.closed.then(() => {
      rounds.end();
      listen.end();
    });
  }

  async request(method: string, params: Fields | undefined, options: RequestOptions): Promise<unknown> {
    const { rounds } = this.#parts;
    const { context, cancellation } = options;
    const own = { ...params, _meta: this.#metaOf(params, options) };
    const send = (current: Fields) => this.#send(method, current, options);
    const result = await send(own);
    // Most answers are complete: they take no more steps than one of a server with sessions.
    if (isRecord(result) && result.resultType === "complete") return result;
    return rounds.completed(result, { method, params: own, context, cancellation, send });
  }

  /** There is no ping: to say what it speaks is what every server can do, and changes nothing. */
  ping(options: RequestOptions): Promise<unknown> {
    return this.#send("server/discover", { _meta: this.#parts.envelope }, options);
  }

  follow(uri: string, isWanted: boolean): Promise<void> {
    return this.#parts.listen.follow(uri, isWanted);
  }

  announces(kind: Kind): boolean {
    return this.#parts.listen.announces(kind);
  }

  entryFault(kind: Kind, entry: Fields): string | undefined {
    return kind === "tool" ? this.#parts.parameters?.learn(entry) : undefined;
  }

  end(): void {
    this.#parts.rounds.end();
    this.#parts.listen.end();
  }

  async #send(method: string, params: Fields, options: RequestOptions): Promise<unknown> {
    const { peer, parameters } = this.#parts;
    try {
      return await peer.request(method, params, options);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      // It is not the server that it was: what it speaks now is to be found out.
      if (error.code === modernCodes.unsupportedVersion)
        void peer.abandon(new Error(`it does not speak ${modernVersion} any more`));
      if (error.code !== modernCodes.headerMismatch || method !== "tools/call" || parameters === undefined) throw error;
      await this.#relearn(String(params.name), parameters);
      return peer.request(method, params, options);
    }
  }

  /** The parameters of a tool are not those that were listed: nothing ran, and it is asked again what they are. */
  async #relearn(name: string, parameters: ParameterHeaders): Promise<void> {
    const { peer, envelope, outdated } = this.#parts;
    outdated();
    let cursor: unknown;
    for (let page = 0; page < maxPages; page += 1) {
      const params = { ...(cursor === undefined ? {} : { cursor }), _meta: envelope };
      const result = await peer.request("tools/list", params, {});
      const { tools, nextCursor } = isRecord(result) ? result : {};
      const found = Array.isArray(tools) ? tools.find((tool) => isRecord(tool) && tool.name === name) : undefined;
      if (found !== undefined) parameters.learn(found);
      cursor = nextCursor;
      if (found !== undefined || typeof cursor !== "string" || cursor === "") return;
    }
  }

  /** The fields that the caller gives, and over them those of the protocol. */
  #metaOf(params: Fields | undefined, { context }: RequestOptions): Fields {
    const given = isRecord(params?._meta) ? params._meta : undefined;
    const { envelope, logLevel } = this.#parts;
    if (context === undefined || logLevel === undefined)
      return given === undefined ? envelope : { ...given, ...envelope };
    const asked = given?.[metaKeys.logLevel];
    const level = logLevels.find((each) => each === asked) ?? logLevel;
    return { ...given, ...envelope, [metaKeys.logLevel]: level };
  }
}
