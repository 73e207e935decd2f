/** Names in rules: rules that refuse, rules that choose, and the reports of misspelt names in both. */
import assert from "node:assert/strict";
import { defineTemplate, defineTool, type Source, Toolkit, ToolkitError } from "toolweave";

const tool = (name: string) => defineTool({ name, description: `Does ${name}.`, run: () => name });
const source = (...names: string[]): Source => ({ tool: () => names.map(tool) });
const files = defineTemplate({ name: "files", uriTemplate: "file:///{+path}", read: (uri) => `the content of ${uri}` });
const warnings: string[] = [];
const quiet = () => undefined;
const logger = { debug: quiet, info: quiet, warn: (message: string) => warnings.push(message), error: quiet };

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return "ok";
  } catch (error) {
    if (ToolkitError.is(error)) return error.code;
    throw error;
  }
};

{
  // #region refuse
  const toolkit = new Toolkit({
    items: [tool("wipe"), tool("backup")],
    policy: { block: ["wipe"] }, // builtin.wipe, and the tool `wipe` of every connector and source
    settings: { backup: { needsApproval: true } },
  });
  toolkit.addSource("disk", source("wipe", "backup", "list"));
  // #endregion
  await toolkit.start();
  const keys = ["wipe", "disk.wipe", "disk.backup", "disk.list"];
  const codes = await Promise.all(keys.map((key) => codeOf(toolkit.call(key))));
  assert.deepEqual(codes, ["DENIED", "DENIED", "PENDING", "ok"]);
  await toolkit.close();
}

{
  // #region choose
  const toolkit = new Toolkit({ policy: { allow: ["list", "disk.backup", "mail.*"] } });
  toolkit.addSource("disk", source("list", "backup"));
  toolkit.addSource("mail", source("list", "send"));
  toolkit.addSource("other", source("backup", "list"));
  await toolkit.start();
  // `list` is disk.list, as for toolkit.lookup("list"); no rule allows other.list.
  const keys = ["disk.list", "disk.backup", "mail.list", "mail.send", "other.list", "other.backup"];
  const codes = await Promise.all(keys.map((key) => codeOf(toolkit.call(key))));
  // #endregion
  assert.deepEqual(codes, ["ok", "ok", "ok", "ok", "DENIED", "DENIED"]);
  await toolkit.close();
}

{
  // #region uris
  const toolkit = new Toolkit({ items: [files], policy: { block: ["file:///etc/*"] } });
  const read = async (uri: string) => codeOf(toolkit.read(uri));
  const codes = await Promise.all(
    ["file:///pub/a", "file:///etc/passwd", "FILE:///pub/../etc/passwd", "file:////%65tc/passwd"].map(read),
  );
  const content = await (await toolkit.read("FILE:///pub/./a")).text(); // the content of file:///pub/a
  // #endregion
  assert.deepEqual(codes, ["ok", "DENIED", "DENIED", "DENIED"]);
  assert.equal(content, "the content of file:///pub/a");
  await toolkit.close();
}

{
  // #region slip
  const toolkit = new Toolkit({ items: [tool("wipe")], logger, policy: { block: ["wpie", "disk.*"] } });
  await toolkit.start(); // warns: policy.block names "wpie", and no item has that name now: it does nothing. Did you mean "builtin.wipe"?
  const code = await codeOf(toolkit.toolset({ exclude: ["wpie"] })); // NOT_FOUND
  // #endregion
  assert.equal(code, "NOT_FOUND");
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /"wpie".*"builtin\.wipe"/);
  await toolkit.close();
}
console.log("Every rule did what it says.");
