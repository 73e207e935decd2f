// An authorization server and a server that wants its tokens, on free ports of this machine: stand-ins for the service of another company.
import { protect, service, startAuthority } from "../../test/mcp/fixture/authority.ts";
import { listen, streamableFixture } from "../../test/mcp/fixture/http.ts";

export { browse } from "../../test/mcp/fixture/authority.ts";

/** The servers of the example. */
export interface Servers extends AsyncDisposable {
  /** Wants a token of the authorization server. */
  readonly url: string;
  /** The client that was registered there beforehand. */
  readonly client: typeof service & { readonly issuer: string };
  /** What tokens were asked for with. */
  readonly grants: readonly string[];
}

export async function startServers(): Promise<Servers> {
  const authority = await startAuthority();
  const server = await listen(protect(streamableFixture({ json: true }).handler, authority).handler);
  return {
    url: `${server.origin}/mcp`,
    client: { ...service, issuer: authority.issuer },
    grants: authority.grants,
    async [Symbol.asyncDispose]() {
      await server.close();
      await authority.close();
    },
  };
}

/** A server that greets every caller who has a token of its own. */
export async function startGreeter(): Promise<{ readonly url: string; readonly seen: Set<string> } & AsyncDisposable> {
  const seen = new Set<string>();
  const { handler } = streamableFixture({ json: true });
  const server = await listen((request, response) => {
    seen.add(request.headers.authorization ?? "none");
    void handler(request, response);
  });
  return { url: `${server.origin}/mcp`, seen, [Symbol.asyncDispose]: () => server.close() };
}
