import { expect, test } from "vitest";
import { located, messageOf, ToolkitError } from "../../src/core/error.ts";
import { type ErrorCode, type ErrorDetails, errorCatalog } from "../../src/core/error-catalog.ts";
import { verifies } from "../support/verifies.ts";

/** Every code with details it may have: the compiler wants them all. */
const examples: { readonly [C in ErrorCode]: ErrorDetails[C] } = {
  NOT_FOUND: { key: "x", suggestions: ["builtin.y"] },
  AMBIGUOUS_NAME: { name: "x", candidates: ["a.x", "b.x"] },
  INVALID_NAME: { name: "1", allowed: "a letter" },
  RESERVED_NAME: { name: "submit_output" },
  CONFLICT: { key: "builtin.x", owners: ["a", "b"] },
  INVALID_SCHEMA: { pointer: "/type" },
  INVALID_INPUT: { issues: [{ pointer: "/a", message: "is missing" }] },
  INVALID_OUTPUT: { issues: [] },
  INVALID_PROMPT: { file: "a.md", line: 1, column: 2, hint: "{{x}}" },
  INVALID_MANIFEST: { file: "a.yaml", line: 1 },
  INVALID_WORKFLOW: { file: "a.yaml", line: 1, column: 2 },
  INVALID_CONFIG: { path: "timeoutMs" },
  INVALID_TARGET: { target: "x", variable: "TOKEN" },
  DENIED: { rule: "maxTotalToolCalls" },
  QUARANTINED: {
    namespace: "bank",
    changes: [
      {
        kind: "tool",
        key: "pay",
        ref: "bank.pay",
        what: "description",
        pointer: "/description",
        message: "bank.pay: it changed.",
      },
    ],
  },
  PENDING: { id: "1", reason: "approval", message: "Asked.", tool: "bank.pay", arguments: {}, expiresAt: 0 },
  RATE_LIMITED: { retryAfterMs: 10 },
  TIMEOUT: { limit: "call", limitMs: 10, elapsedMs: 11 },
  UNAVAILABLE: { namespace: "a", retryInMs: 10 },
  UNAUTHORIZED: { target: "https://example.com" },
  OUTCOME_UNKNOWN: { namespace: "a" },
  LIMIT_EXCEEDED: { limit: "size", max: 1, actual: 2 },
  TOOL_FAILED: { content: { a: 1 } },
  UNSUPPORTED_PROTOCOL: { server: "a", supported: ["2027-01-01"] },
  REMOTE_ERROR: { server: "a", rpcCode: -32000 },
  MODEL_FAILED: { provider: "a", model: "b", status: 500 },
  STEP_LIMIT: { maxSteps: 20 },
  STEP_FAILED: { step: "a", input: {} },
  REPLAY_DIFFERS: { ref: "builtin.a", step: 0, part: "messages", diff: "- a\n+ b" },
  DEPTH_EXCEEDED: { maxDepth: 8, chain: ["a", "b"] },
  NO_DELEGATE: { prompt: "builtin.p" },
  NO_STORE: { operation: "put" },
  STORE_FAILED: { operation: "put" },
  MISSING_PEER: { package: "pg", install: "npm install pg" },
  CLOSED: { what: "toolkit" },
};

verifies("Z", "every code makes an error that says it all, and the same in JSON", () => {
  const codes = Object.keys(errorCatalog) as ErrorCode[];
  expect(codes.sort()).toEqual(Object.keys(examples).sort());
  for (const code of codes) {
    const cause = new Error("why");
    const error = new ToolkitError(code, "What happened.", examples[code], { cause, ref: "a.b", phase: "execute" });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: "ToolkitError",
      code,
      message: "What happened.",
      ref: "a.b",
      phase: "execute",
      cause,
    });
    expect(error.details).toBe(examples[code]);
    expect(ToolkitError.is(error)).toBe(true);
    expect(ToolkitError.is(error, code)).toBe(true);
    expect(ToolkitError.is(error, code === "CLOSED" ? "PENDING" : "CLOSED")).toBe(false);
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code,
      status: errorCatalog[code].status,
      message: "What happened.",
      details: examples[code],
      ref: "a.b",
      phase: "execute",
      remedy: errorCatalog[code].remedy,
    });
    expect(errorCatalog[code].summary).not.toBe("");
  }
});

verifies("Z", "an error of a second copy of the package is one", async () => {
  const path = "../../src/core/error.ts?second-copy";
  const second = (await import(/* @vite-ignore */ path)) as typeof import("../../src/core/error.ts");
  expect(second.ToolkitError).not.toBe(ToolkitError);
  const error = new second.ToolkitError("CLOSED", "Closed.", { what: "x" });
  expect(error).not.toBeInstanceOf(ToolkitError);
  expect(ToolkitError.is(error, "CLOSED")).toBe(true);
  expect(second.ToolkitError.is(new ToolkitError("CLOSED", "Closed.", { what: "x" }), "CLOSED")).toBe(true);
});

test("what is no such error is none, whatever it looks like", () => {
  for (const value of [undefined, null, "CLOSED", 1, new Error("x"), { code: "CLOSED" }, () => 1]) {
    expect(ToolkitError.is(value)).toBe(false);
  }
  expect(new ToolkitError("CLOSED", "x", { what: "x" }).toJSON()).not.toHaveProperty("ref");
  expect("cause" in new ToolkitError("CLOSED", "x", { what: "x" })).toBe(false);
});

test("a located error keeps what it says of itself, its cause and its stack", () => {
  const error = new ToolkitError("CLOSED", "x", { what: "x" }, { cause: 1 });
  const there = located(error, "a.b", "resolve");
  expect(there).toMatchObject({ code: "CLOSED", ref: "a.b", phase: "resolve", cause: 1, stack: error.stack });
  expect(located(there, "c.d", "result")).toBe(there);
  expect(located(new ToolkitError("CLOSED", "x", { what: "x" }, { phase: "connect" }), "a", "execute").phase).toBe(
    "connect",
  );
});

test("what was thrown has a message, whatever it is", () => {
  const cyclic: Record<string, unknown> = Object.create(null);
  cyclic.self = cyclic;
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const hostile = Object.defineProperty(new Error("x"), "message", {
    get() {
      throw new Error("no");
    },
  });
  for (const thrown of [
    undefined,
    null,
    0,
    1n,
    Symbol("s"),
    () => 1,
    cyclic,
    revoked.proxy,
    hostile,
    {
      toJSON() {
        throw 1;
      },
    },
  ]) {
    expect(typeof messageOf(thrown)).toBe("string");
  }
  expect(messageOf(new TypeError(""))).toBe("TypeError");
  expect(messageOf(Object.assign(new Error("x"), { message: { a: 1 } }))).toBe("[object Object]");
  expect(messageOf({ a: 1 })).toBe('{"a":1}');
});
