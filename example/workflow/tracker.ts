import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const issues = ["Lists lose their order", "Docs lack an example", "Older than the others"];

/** A tracker of issues: a real HTTP server, which may be away. */
export async function tracker() {
  const state = { isAway: false };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    response.statusCode = state.isAway ? 503 : pathname === "/issues" ? 200 : 404;
    response.setHeader("content-type", "application/json");
    const limit = Number(searchParams.get("limit") ?? 10);
    const found = issues.slice(0, limit).map((title, at) => ({ number: issues.length - at, title, state: "open" }));
    response.end(JSON.stringify(response.statusCode === 200 ? found : { message: "not now" }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}
