import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { verifies } from "../../support/verifies.ts";

verifies("S1", "without the package pg a PostgreSQL store says how to install it, and ends", async () => {
  const fixture = fileURLToPath(new URL("fixture/without-pg.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [fixture]);
  expect(JSON.parse(stdout)).toMatchObject({
    code: "MISSING_PEER",
    message: expect.stringContaining("npm install pg"),
    details: { package: "pg", install: "npm install pg" },
  });
  expect(stdout).not.toContain("secret");
});
