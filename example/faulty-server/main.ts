// What a service goes through when a server fails: a child that dies in the middle of a call, a port that is closed, an answer that never
// comes. It needs no network, checks every step, and exits non-zero when one is wrong.
import { deepStrictEqual, strictEqual } from "node:assert";
import { Toolkit, ToolkitError } from "toolweave";
import { faultyServer } from "toolweave/testing";

/** The code something fails with. */
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "none",
    (error: unknown) => (ToolkitError.is(error) ? error.code : error),
  );

// #region die
const server = faultyServer();
const toolkit = new Toolkit();
const connection = toolkit.addConnector(await server.stdio(), { namespace: "faulty" }); // a real child process
await connection.ready();

const death = await server.fault("die-after", { times: 1 }); // the tool runs, then the child is killed
strictEqual(await codeOf(toolkit.call("faulty.record", { id: "order-7" })), "OUTCOME_UNKNOWN");
await connection.ready(); // another child
strictEqual(connection.state, "connected");
strictEqual(death.happened, 1);
strictEqual(server.runs("order-7"), 1); // not lost, and not made twice
// #endregion

// #region down
const web = faultyServer({ name: "web" });
const { url } = await web.listen();
const online = toolkit.addConnector(url, { retryMs: 50 });
await online.ready();
{
  const noticed = new Promise((resolve) => toolkit.on("connectorDisconnected", resolve));
  await using _down = await web.fault("down"); // the port is closed, until the block ends
  await noticed;
  const { failures } = await toolkit.list({ namespace: "web" });
  strictEqual(failures[0]?.error.code, "UNAVAILABLE"); // its entries stay, and are stale
}
await online.ready();
strictEqual(await (await toolkit.call("web.echo", { message: "back" })).text(), "Echo: back");
// #endregion

// #region offer
const shop = faultyServer({
  name: "shop",
  tools: {
    buy: {
      description: "Buys something.",
      inputSchema: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
      run: ({ what }, { progress }) => {
        progress(1, 2, "asked the warehouse");
        return `Bought ${what}.`;
      },
    },
  },
});
const shopConnection = toolkit.addConnector(shop.connector()); // in this process
await shopConnection.ready();
await using hang = await shop.fault("hang", { tool: "buy" });
const controller = new AbortController();
const buying = toolkit.call("shop.buy", { what: "bread" }, { signal: controller.signal }).catch((error) => error);
await hang.happens(); // the call has arrived
controller.abort("closing time");
strictEqual(await buying, "closing time");
await hang.off();
strictEqual(await (await toolkit.call("shop.buy", { what: "bread" })).text(), "Bought bread.");
// #endregion

await toolkit.close();
for (const each of [server, web, shop]) {
  await each[Symbol.asyncDispose]();
  deepStrictEqual(each.running(), []);
}
console.log("Lost nothing, and made nothing twice.");
