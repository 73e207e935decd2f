// One of several services that share a PostgreSQL. It follows commands of its parent process, and reports the changes it receives.
import { defineTool, Toolkit, ToolkitError } from "toolweave";
import { postgresStore } from "toolweave/stores/postgres";

const connectionString = process.env.DATABASE_URL;

// #region service
const transfer = defineTool({
  name: "transfer",
  description: "Sends money.",
  options: { needsApproval: true },
  run: () => `sent by ${process.pid}`,
});

const toolkit = new Toolkit({ items: [transfer], store: postgresStore({ connectionString }) });
toolkit.on("promptListChanged", () => say({ changed: "prompts" }));
await toolkit.start();
// #endregion

const orders: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
  put: (markdown) => toolkit.user.putPrompt(markdown),
  list: async () => (await toolkit.list({ namespace: "user" })).entries.map(({ ref }) => ref),
  ask: async () => {
    const error = await toolkit.call("transfer", {}).catch((thrown: unknown) => thrown);
    if (ToolkitError.is(error, "PENDING")) return error.details.id;
    throw error;
  },
  resolve: async (id) => (await toolkit.approvals.resolve(id, { approved: true, by: "ops" })).status,
  wait: async (id) => (await toolkit.approvals.wait(id)).text(),
};

process.on("message", ({ order, text = "" }: { order: string; text?: string }) => {
  orders[order]?.(text).then(
    (answer) => say({ answer }),
    (error: unknown) => say({ error: String(error) }),
  );
});
process.on("disconnect", () => void toolkit.close());
say({ answer: "ready" });

function say(message: object): void {
  process.send?.(message);
}
