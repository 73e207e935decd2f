/** A server changes its tools from one start of the service to the next: it is refused until a person has looked at that. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Toolkit, ToolkitError } from "toolweave";
import { checkPins } from "toolweave/connector";

const folder = await mkdtemp(join(tmpdir(), "toolweave-example-"));
const versionFile = join(folder, "version");
const file = join(folder, "toolweave.lock");
const script = fileURLToPath(new URL("server.ts", import.meta.url));
const target = { command: process.execPath, args: [script, versionFile] };

/** A start of the service. */
function service(): Toolkit {
  // #region connect
  const toolkit = new Toolkit({ pins: { file } });
  toolkit.addConnector(target, { namespace: "mail", pins: { onChange: "quarantine" } });
  // #endregion
  return toolkit;
}

// The first start keeps what the server says in the lock file.
await writeFile(versionFile, "1");
const first = service();
await first.start();
assert.equal(await (await first.call("mail.send", { to: "ada@example.com" })).text(), "sent");
await first.close();

// CI compares it with the committed file.
// #region check
const checked = service();
const { ok, text } = await checkPins(checked, { file, exit: true });
console.log(text);
await checked.close();
// #endregion
assert.equal(ok, true);

// The server is updated.
await writeFile(versionFile, "2");
const inCi = service();
const outcome = await checkPins(inCi, { file });
await inCi.close();
assert.equal(outcome.ok, false);
console.log(outcome.text);

const second = service();
// #region event
second.on("contractChanged", ({ changes, quarantined }) => {
  for (const { message } of changes) console.log(quarantined ? "quarantined" : "changed", message);
});
// #endregion
await second.start();
assert.equal(await (await second.call("mail.folders")).text(), "inbox");
const refused = await second.call("mail.send", { to: "ada@example.com" }).catch((error: unknown) => error);
assert(ToolkitError.is(refused, "QUARANTINED"));
console.log(refused.message);

// #region accept
for (const pin of second.pins.list({ namespace: "mail", changed: true })) {
  // A person decides by the changes. The pin is what they looked at: what changed again since is not accepted.
  console.log(pin.ref, pin.state, pin.changes);
  await second.pins.accept(pin);
}
// #endregion
assert.equal(await (await second.call("mail.send", { to: "ada@example.com" })).text(), "sent");
await second.close();
await rm(folder, { recursive: true });
