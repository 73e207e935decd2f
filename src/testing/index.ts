export { type TestContext, type TestContextOptions, testContext } from "./test-context.ts";
export { type VirtualClock, virtualClock } from "./virtual-clock.ts";
