import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { serveOverHttp } from "../server/fixture/client.ts";
import { servedToolkit } from "../server/fixture/toolkit.ts";
import { verifies } from "../support/verifies.ts";
import { expectedOutcome } from "./expected.ts";
import { firstSdk, useSdk } from "./javascript.ts";

const token = "ada-3f1c9a7d5e20";
const program = fileURLToPath(new URL("../server/fixture/stdio-program.ts", import.meta.url));

verifies(
  ["V1", "V2", "V3"],
  "a client of the first SDK lists, calls, gets and reads the same over stdio, and over HTTP with a token",
  async () => {
    const target = { command: process.execPath, args: [program] };
    expect(await useSdk(firstSdk, target)).toEqual(expectedOutcome);
    await using toolkit = servedToolkit();
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit, { tokens: { ada: token } });
    expect(await useSdk(firstSdk, { url: endpoint.url.href, token })).toEqual(expectedOutcome);
    await expect(useSdk(firstSdk, { url: endpoint.url.href, token: "another-0123456789" })).rejects.toThrow();
  },
  60_000,
);
