// Two workflows without code: the audit of this repository, and the triage of an incident. No model is there, so their fallbacks write the texts.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Toolkit } from "toolweave";
import { registerWith as withManifests } from "toolweave/manifest";
import { registerWith as withCode } from "toolweave/tool-packs/code";
import { registerWith as withFiles } from "toolweave/tool-packs/fs";
import { workflowFiles, workflows } from "toolweave/workflow";
import { tracker } from "./tracker.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = (name: string) => fileURLToPath(new URL(name, import.meta.url));
await using issues = await tracker();

// #region use
const flows = workflows(workflowFiles(folder("flows"), { watch: true }));
await using toolkit = new Toolkit({ delegate: [flows] });
toolkit.addSource("workflow", flows);
withFiles(toolkit, { root });
withCode(toolkit, { root });
withManifests(toolkit, { paths: [folder("tools")], env: { TRACKER_URL: issues.url } });

const audited = await toolkit.call("workflow.project_audit", { path: "src" });
// #endregion
assert.match(await audited.text(), /"from":\s*"the tracker"/);

const { failures } = await toolkit.list();
assert.deepEqual(failures, []);

// The tracker is away: what is open is found in the code.
issues.isAway = true;
const audit = await result("workflow.project_audit", { path: "src" });
assert.equal(audit.issues.from, "TODO markers");
assert.match(audit.report, /# Audit\n\n\d+ files with \d+ lines/);
console.log(audit.report);

issues.isAway = false;
const again = await result("workflow.project_audit", { path: "src", issues: 2 });
assert.deepEqual(again.issues, { from: "the tracker", list: ["Lists lose their order", "Docs lack an example"] });

const triage = await result("workflow.incident_triage", { service: "shop" });
assert.deepEqual(triage, {
  service: "shop",
  severity: "high",
  begin: "Begin with database: 12:04 database: disk full",
  health: [
    { service: "shop", status: "up" },
    { service: "database", status: "down" },
    { service: "mail", status: "up" },
  ],
});
console.log(`${triage.severity}: ${triage.begin}`);

// biome-ignore lint/suspicious/noExplicitAny: the shape is looked at by the assertions
async function result(ref: string, input: object): Promise<any> {
  return await (await toolkit.call(ref, input)).json();
}
