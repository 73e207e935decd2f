import type { ServerInfo } from "../../core/connection.ts";
import { ownClientInfo } from "../handshake.ts";
import { type Agreed, type Handshake, missed, notified, type Opening } from "../open-session.ts";
import { clientCapabilities, serverRequests } from "../server-request.ts";
import { discover } from "./discover.ts";
import { InputRounds } from "./input-rounds.ts";
import { ListenStream } from "./listen-stream.ts";
import { envelopeOf, ModernWire } from "./modern-wire.ts";
import type { ParameterHeaders } from "./parameter-headers.ts";

/**
 * The beginning of a connection to a server without sessions, in place of a handshake.
 *
 * @param parameters - over HTTP: the parameters of tools that are headers too
 */
export function shakeByDiscovery(parameters?: ParameterHeaders): Handshake {
  return async (opening) => speakStateless(opening, await discovered(opening), parameters);
}

/** Asks the server what it speaks. @throws as `discover` */
export function discovered({ peer, attempt, host }: Opening): Promise<ServerInfo> {
  const { label, redactor } = attempt;
  const request = peer.request.bind(peer);
  return discover({ label, redactor, meta: envelope(attempt, host), request });
}

/** Goes on with a server that speaks without sessions: from now on each request is complete in itself. */
export async function speakStateless(
  { peer, attempt, host }: Opening,
  server: ServerInfo,
  parameters: ParameterHeaders | undefined,
): Promise<Agreed> {
  const { label, options } = attempt;
  const { capabilities } = server;
  const meta = envelope(attempt, host);
  peer.serveNothing();
  const listen = new ListenStream({
    capabilities,
    request: (params, given) => peer.request("subscriptions/listen", { ...params, _meta: meta }, given),
    notified: (method, params) => notified(host, { method, params, label }),
    gap: () => missed(host),
  });
  const wire = new ModernWire({
    peer,
    envelope: meta,
    // Without a level the server sends no log message at all.
    logLevel: capabilities.logging === undefined ? undefined : (options.logLevel ?? "info"),
    rounds: new InputRounds(serverRequests(host, options.roots), server.name),
    listen,
    parameters,
    outdated: () => host.changed({ kind: "tool" }),
  });
  await listen.open();
  return { server, wire };
}

function envelope({ options }: Opening["attempt"], host: Opening["host"]): Readonly<Record<string, unknown>> {
  return envelopeOf(options.clientInfo ?? ownClientInfo(), clientCapabilities(host, options.roots));
}
