import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";

verifies(
  ["V1", "V2", "E1"],
  "under load, with upstream servers that fail and are killed, no answer and no notification is lost or doubled",
  async () => {
    const program = fileURLToPath(new URL("main.ts", import.meta.url));
    const child = spawn(process.execPath, [program, "10", "--seed", "7", "--clients", "100"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect(said).toContain("nothing was lost");
    expect(code).toBe(0);
  },
  180_000,
);
