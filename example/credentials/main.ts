// The code that docs/authentication.md shows, in its order. It checks what the page says.
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Toolkit } from "toolweave";
// #region import
import { clientCredentials, fileTokenStore, oauth } from "toolweave/mcp";
// #endregion
import { browse, startGreeter, startServers } from "./servers.ts";

const servers = await startServers();
const greeter = await startGreeter();
const folder = await mkdtemp(join(tmpdir(), "toolweave-example-"));
const { url, client } = servers;
const store = fileTokenStore(join(folder, "tokens.json"));
const tokens: Readonly<Record<string, string>> = { anna: "token-of-anna", bert: "token-of-bert" };
const serviceToken = "token-of-the-service";
const vault = { tokenFor: async (principal: string) => tokens[principal] ?? "none" };
// The authorization server of the example is on this machine.
const egress = { allow: [client.issuer] };
const showPage = (page: URL) => void browse(page);

{
  const toolkit = new Toolkit();
  // #region headers
  toolkit.addConnector(greeter.url, {
    namespace: "greeter",
    headers: async ({ session }) => ({
      Authorization: `Bearer ${session?.principal === undefined ? serviceToken : await vault.tokenFor(session.principal)}`,
    }),
  });
  // #endregion
  await toolkit.start();
  // #region session
  const session = { id: "s1", principal: "anna" };
  await toolkit.call("greeter.echo", { message: "hello" }, { session });
  // #endregion
  await toolkit.close();
  deepStrictEqual([...greeter.seen].sort(), ["Bearer token-of-anna", "Bearer token-of-the-service"]);
}

{
  const toolkit = new Toolkit({ egress });
  // #region oauth
  const connection = toolkit.addConnector(url, {
    namespace: "files",
    auth: oauth({
      clientName: "My service",
      open: (page) => showPage(page), // open a browser, or print the URL
      store,
    }),
  });
  await toolkit.start();
  // #endregion
  // #region waiting
  console.log(connection.state, connection.lastError?.message);
  // connecting https://... waits for a person to authorize it: open the URL that was given to `open`.
  await connection.ready(); // when the person has
  // #endregion
  const answer = await toolkit.call("files.echo", { message: "hello" });
  strictEqual(await answer.text(), "Echo: hello");
  strictEqual(connection.lastError, undefined);
  await toolkit.close();
}

{
  // After a restart no person is asked.
  const toolkit = new Toolkit({ egress });
  // #region restart
  toolkit.addConnector(url, { namespace: "files", auth: oauth({ store }) });
  // #endregion
  await toolkit.start();
  strictEqual(await (await toolkit.call("files.echo", { message: "again" })).text(), "Echo: again");
  await toolkit.close();
  deepStrictEqual(servers.grants, ["authorization_code ok"]);
}

{
  const { issuer } = client;
  // #region egress
  const toolkit = new Toolkit({ egress: { allow: [issuer, "10.20.0.0/16"] } });
  // #endregion
  // #region client
  toolkit.addConnector(url, {
    namespace: "files",
    auth: clientCredentials({ client: { id: client.id, issuer: client.issuer, secret: client.secret } }),
  });
  // #endregion
  await toolkit.start();
  ok((await toolkit.list({ kind: "tool" })).entries.length > 0);
  await toolkit.close();
}

await greeter[Symbol.asyncDispose]();
await servers[Symbol.asyncDispose]();
await rm(folder, { recursive: true });
