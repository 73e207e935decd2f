import { expect } from "vitest";
import { agents } from "../a2a/support.ts";
import { serve } from "../support/serve.ts";
import { verifies } from "../support/verifies.ts";
import { commandFolder } from "./support.ts";

const folder = commandFolder();
const { agent } = agents();
const tool = (name: string, spec: string) =>
  `kind: Tool\nmetadata: { name: ${name} }\nspec: { description: d, ${spec} }\n`;

verifies(
  ["X1", "W1", "H5"],
  "egress of the configuration names what manifests reach by a URL of the caller, as the error advises",
  async () => {
    const inner = await serve((_, response) => response.end('{"inner":true}'));
    await folder.write("page.yaml", tool("page", 'mode: live, http: { url: "{{.url}}", method: GET }'));
    await folder.write("toolweave.yaml", "manifests: [page.yaml]\n");
    const call = () => folder.run(["call", "manifest.page", `url=${inner}/x`]);
    const refused = await call();
    expect(refused.stderr).toContain(`name it: egress: { allow: ["${inner}"] }.`);
    await folder.write("toolweave.yaml", `manifests: [page.yaml]\negress: { allow: ["${inner}"] }\n`);
    expect((await call()).stdout).toContain("inner");
    await folder.write("toolweave.yaml", 'manifests: [page.yaml]\negress: { allow: ["10.0.0.0/8", "inner/x"] }\n');
    for (const command of ["doctor", "list"]) {
      const { stdout, stderr } = await folder.run([command]);
      expect(stdout + stderr).toContain(
        "toolweave.yaml:2:33 egress.allow.1 is wrong: it must be an origin (http://10.0.0.5:8080) or a CIDR block",
      );
    }
  },
  60_000,
);

verifies(
  ["X1", "W1", "W4", "H5"],
  "egress of a connector, and of a manifest, names where the card of an agent leads",
  async () => {
    const { card, origin } = await agent();
    const cards = await serve(async (_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(await (await fetch(card)).text());
    });
    const written = async (egress: string) => {
      const url = `${cards}/card.json`;
      await folder.write("plan.yaml", tool("plan", `mode: a2a, a2a: { agent_url: "${url}", skill_id: plan${egress} }`));
      const connector = `{ type: a2a, url: "${url}"${egress} }`;
      await folder.write("toolweave.yaml", `connectors: { travel: ${connector} }\nmanifests: [plan.yaml]\n`);
    };
    await written("");
    const byManifest = () => folder.run(["call", "manifest.plan", "message=echo Bern"]);
    const byConnector = () => folder.run(["call", "travel.plan", "message=echo Bern"]);
    expect((await byManifest()).stderr).toContain(origin);
    expect((await byConnector()).code).not.toBe(0);
    await written(`, egress: { allow: ["${origin}"] }`);
    expect((await byManifest()).stdout).toContain("Bern");
    expect((await byConnector()).stdout).toContain("Bern");
  },
  60_000,
);
