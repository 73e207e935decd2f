import { fileURLToPath } from "node:url";
import type { Toolkit } from "toolweave";
import { a2a } from "toolweave/a2a";
import { registerWith as withManifests } from "toolweave/manifest";
import { registerWith as withCode } from "toolweave/tool-packs/code";
import { workflowFiles, workflows } from "toolweave/workflow";
import { startAgent } from "../a2a/server.ts";
import { check } from "./show.ts";

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** To be a delegate too: its runs are kept in the store of the toolkit then. */
export const flows = workflows(workflowFiles(folder("../workflow/flows")));

/** Adds one of each way in which tools come in without code, and calls it. */
export async function useToolsWithoutCode(toolkit: Toolkit): Promise<void> {
  await using agent = await startAgent();
  await using _ = withManifests(toolkit, {
    paths: [folder("../workflow/tools")],
    env: { TRACKER_URL: "http://127.0.0.1:1" },
  });
  withCode(toolkit, { root: folder("../..") });
  toolkit.addSource("workflow", flows);
  const travel = toolkit.addConnector(a2a(agent.card), { namespace: "travel" });
  await travel.ready();

  const health = await (await toolkit.call("manifest.check_health", { service: "database" })).json();
  check("a manifest", health, ({ status }: { status: string }) => status === "down");
  const outline = await (await toolkit.call("code.outline", { path: "example/hello/main.ts" })).json();
  check("a pack", outline, ({ symbols }: { symbols: { name: string }[] }) => symbols[0]?.name === "greet");
  const triage = await (await toolkit.call("workflow.incident_triage", { service: "shop" })).json();
  check("a workflow, with a step of the model", triage, ({ severity }: { severity: string }) => severity === "high");
  const plan = await toolkit.call("travel.plan", { message: "Three days in Bern" });
  check("an agent over A2A", await plan.text(), (text: string) => text.includes("Three days in Bern"));
  await toolkit.removeConnector("travel");
}
