import { closedAfterEach } from "../support/closed-after-each.ts";
import { type AgentOptions, startAgent, type TestAgent } from "./fixture/agent.ts";

/** What a test file has open, and agents that it starts: all are closed at the end of each test. */
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
