import { present } from "../../lib/value.ts";
import { authorityFetch } from "./authority.ts";
import { knownClient } from "./client.ts";
import { type Flow, tokensOf } from "./flow.ts";
import type { OAuthClient } from "./options.ts";

/** The service is a client of its own: nobody has to be asked. @see https://www.rfc-editor.org/rfc/rfc6749#section-4.4 */
export function clientCredentialsFlow(client: OAuthClient, scope: string | undefined): Flow {
  return {
    clientId: client.id,
    isService: true,
    remedy: "its authorization server takes these client credentials back: check the client there",
    scope,
    async renew({ server, authority, scope: wanted }) {
      const { fetchToken } = await import("@modelcontextprotocol/sdk/client/auth.js");
      const { issuer, metadata, resource } = authority;
      const { information, authenticate } = await knownClient(client, server);
      const provider = {
        redirectUrl: undefined,
        clientMetadata: { redirect_uris: [] },
        clientInformation: () => information,
        prepareTokenRequest: () =>
          new URLSearchParams({ grant_type: "client_credentials", ...present({ scope: wanted }) }),
        ...present({ addClientAuthentication: authenticate }),
        tokens: () => undefined,
        saveTokens: () => {},
        redirectToAuthorization: () => {},
        saveCodeVerifier: () => {},
        codeVerifier: () => "",
      };
      const fetchFn = authorityFetch(server.fetch, undefined);
      const given = await fetchToken(provider, issuer, { fetchFn, ...present({ metadata, resource }) });
      return { issuer, tokens: tokensOf(given, wanted) };
    },
  };
}
