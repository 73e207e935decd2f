import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (file: string) => fileURLToPath(new URL(`src/${file}`, import.meta.url));

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "example/**/*.test.ts"],
    // What examples import is what is here, not what was built last.
    alias: [
      { find: /^toolweave\/connector$/, replacement: source("connection/index.ts") },
      { find: /^toolweave\/prompts$/, replacement: source("prompt/index.ts") },
      { find: /^toolweave$/, replacement: source("index.ts") },
      { find: /^toolweave\/(adapters|agent|mcp|store|testing)$/, replacement: source("$1/index.ts") },
      { find: /^toolweave\/stores\/(postgres|sqlite)$/, replacement: source("store/$1/index.ts") },
    ],
    typecheck: {
      enabled: true,
      include: ["test/types/**/*.test-d.ts"],
      tsconfig: "tsconfig.json",
      // Errors outside the type tests are those of `npm run check:types`; here they would be counted twice.
      ignoreSourceErrors: true,
    },
    setupFiles: ["test/support/steady-chance.ts"],
    pool: "forks",
    globals: false,
    // Real servers start in seconds on a slow machine; a test that hangs fails after this.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    // A rejection nobody handles is a bug of ours: it fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
    allowOnly: false,
  },
});
