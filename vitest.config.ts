import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const source = (file: string) => here(`src/${file}`);

// Tests that start processes and wait for them.
const e2e = ["test/{e2e,script}/**/*.test.ts", "test/**/durable/**/*.test.ts"];
const postgres = ["test/**/{postgres/*,postgres}.test.ts"];
// Those of `npm run test:long` alone.
const long = ["test/**/*.long.test.ts"];

// Examples import the sources that are here, not the last build.
const alias = [
  { find: /^toolweave\/connector$/, replacement: source("connection/index.ts") },
  { find: /^toolweave\/prompts$/, replacement: source("prompt/index.ts") },
  { find: /^toolweave$/, replacement: source("index.ts") },
  { find: /^toolweave\/(adapters|agent|inspect|mcp|store|tape|testing)$/, replacement: source("$1/index.ts") },
  { find: /^toolweave\/stores\/(postgres|sqlite)$/, replacement: source("store/$1/index.ts") },
];

export default defineConfig(({ mode }) => {
  const exclude = mode === "long" ? [] : long;
  return {
    test: {
      // Vitest begins with the first name, so that no long file is left for the end.
      projects: [
        { extends: true, test: { name: "e2e", include: e2e, exclude: [...exclude, ...postgres] } },
        {
          extends: true,
          test: { name: "postgres", include: postgres, exclude, globalSetup: ["test/support/postgres/shared.ts"] },
        },
        {
          extends: true,
          test: {
            name: "unit",
            include: ["{test,example}/**/*.test.ts"],
            exclude: [...exclude, ...e2e, ...postgres],
            typecheck: {
              enabled: true,
              checker: here("node_modules/typescript-7/bin/tsc"),
              include: ["test/types/**/*.test-d.ts"],
              tsconfig: "test/types/tsconfig.json",
              // Errors outside the type tests are those of `npm run check:types`; here they would be counted twice.
              ignoreSourceErrors: true,
            },
          },
        },
      ],
      alias,
      // Child processes that load `src` read what another one has compiled.
      env: { NODE_COMPILE_CACHE: here("node_modules/.cache/compiled") },
      setupFiles: ["test/support/steady-chance.ts", "test/support/clean-process.ts"],
      pool: "forks",
      // A file that leaves something behind in its process fails, so that the next one may have the process, and what it has loaded.
      isolate: false,
      // Much of the time is waited for servers.
      maxWorkers: availableParallelism() + 1,
      globals: false,
      // Real servers start in seconds on a slow machine; a test that hangs fails after this.
      testTimeout: 60_000,
      hookTimeout: 60_000,
      teardownTimeout: 10_000,
      // A condition that holds soon on a machine at rest may take seconds on a busy one.
      expect: { poll: { timeout: 20_000 } },
      // A rejection nobody handles is a bug of ours: it fails the run.
      dangerouslyIgnoreUnhandledErrors: false,
      allowOnly: false,
    },
  };
});
