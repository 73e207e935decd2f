import { afterEach } from "vitest";
import { type AgentOptions, startAgent, type TestAgent } from "./fixture/agent.ts";

/** Closes what is open at the end of each test, the last first. */
export const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** Starts an agent, until the end of the test. */
export async function agent(options: AgentOptions = {}): Promise<TestAgent> {
  const started = await startAgent(options);
  open.push(() => started.close());
  return started;
}
