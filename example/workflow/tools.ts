import { defineTool, type Toolkit } from "toolweave";

/** The tools of the workflows. */
export function withTools(toolkit: Toolkit, { TRACKER_URL }: { readonly TRACKER_URL: string }): void {
  const tools = [
    defineTool({
      name: "open_issues",
      run: async ({ limit }: { readonly limit: number }) => {
        const answer = await fetch(`${TRACKER_URL}/issues?limit=${limit}`);
        if (!answer.ok) throw new Error(`The tracker answers ${answer.status}.`);
        return { issues: await answer.json() };
      },
    }),
    defineTool({
      name: "describe_service",
      run: ({ service }: { readonly service: string }) => ({
        owner: `team-${service}`,
        depends_on: ["database", "mail"],
      }),
    }),
    defineTool({
      name: "search_logs",
      run: ({ service }: { readonly service: string }) => ({
        count: 2,
        lines: [`12:01 ${service}: connection reset`, `12:04 ${service}: disk full`],
      }),
    }),
    defineTool({
      name: "check_health",
      run: ({ service }: { readonly service: string }) => ({ status: service === "database" ? "down" : "up" }),
    }),
  ];
  toolkit.addSource("manifest", { tool: () => tools });
}
