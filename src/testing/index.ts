export { type TestContext, type TestContextOptions, testContext } from "./test-context.ts";
