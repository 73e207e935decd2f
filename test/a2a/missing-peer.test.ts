import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";

verifies(
  "W4",
  "without the package of A2A a connector says how to install it, and nothing else is harmed",
  async () => {
    const fixture = fileURLToPath(new URL("fixture/without-sdk.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [fixture]);
    expect(JSON.parse(stdout)).toMatchObject({
      code: "MISSING_PEER",
      details: { package: "@a2a-js/sdk", install: "npm install @a2a-js/sdk" },
    });
  },
);
