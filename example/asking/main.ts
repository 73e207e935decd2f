/** What tools and servers ask back while they work, and resources that tell when they change. */
import assert from "node:assert/strict";
import { type Delegate, defineTool, type ElicitRequest, type Session, Toolkit } from "toolweave";
import { faultyServer } from "toolweave/testing";

// #region tool
const book = defineTool({
  name: "book",
  description: "Books a table.",
  run: async (_input, context) => {
    const seats = await context.elicit("How many will you be?", {
      type: "object",
      properties: { people: { type: "integer", minimum: 1, default: 2 } },
      required: ["people"],
    });
    if (seats.action !== "accept") return "Nothing was booked.";
    const wish = await context.sample({
      messages: [{ role: "user", content: { type: "text", text: "Name a fitting restaurant." } }],
      maxTokens: 20,
    });
    return { people: seats.content?.people, where: wish.content };
  },
});
// #endregion

// #region delegate
const delegate: Delegate = {
  // Who asks is context.requester: the namespace of a server, or the ref of a tool.
  elicit: async (request, { requester, session }) => {
    console.log(`${requester} asks ${session?.id ?? "no session"}: ${request.message}`);
    return { action: "accept", content: {} };
  },
  sample: async ({ messages }) => ({
    role: "assistant",
    model: "your-model",
    content: { type: "text", text: `An answer to ${messages.length} message(s).` },
  }),
};
const toolkit = new Toolkit({ items: [book], delegate });
const booked = await toolkit.call("book");
// #endregion
assert.deepEqual(await booked.json(), {
  people: 2,
  where: { type: "text", text: "An answer to 1 message(s)." },
});

// #region session
const showForm = async (request: ElicitRequest) => ({ people: request.message.length });
const session: Session = {
  id: "user-7",
  elicit: async (request, { signal }) => {
    const content = await showForm(request); // your form, in your window; take it away when the signal aborts
    return signal.aborted ? { action: "cancel" } : { action: "accept", content };
  },
};
const mine = await toolkit.call("book", {}, { session });
// #endregion
assert.deepEqual(await mine.json(), { people: 21, where: { type: "text", text: "An answer to 1 message(s)." } });

const server = faultyServer({ resources: { "memo://map": { text: "a map" } } });
toolkit.addConnector(server.connector(), { namespace: "far" });
await toolkit.start();

// #region subscribe
const changed = new Promise<string>((resolve) => {
  toolkit.on("resourceUpdated", ({ namespace, uri }) => resolve(`${uri} of ${namespace}`));
});
const unsubscribe = await toolkit.subscribe("memo://map");
// #endregion
assert.equal(server.touch("memo://map"), 1);
assert.equal(await changed, "memo://map of far");
await unsubscribe();
assert.equal(server.touch("memo://map"), 0);

await toolkit.close();
await server[Symbol.asyncDispose]();
console.log("Asked and answered.");
