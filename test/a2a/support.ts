import { closedAfterEach } from "../support/closed-after-each.ts";
import { type AgentOptions, startAgent, type TestAgent } from "./fixture/agent.ts";

/** Starts agents for a test file, and closes them and all else that it has open at the end of each test. */
export function agents() {
  const open = closedAfterEach();
  return {
    open,
    async agent(options: AgentOptions = {}): Promise<TestAgent> {
      const started = await startAgent(options);
      open.push(() => started.close());
      return started;
    },
  };
}
