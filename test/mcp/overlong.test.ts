import { expect } from "vitest";
import { keptBytes } from "../../src/lib/child/child-output.ts";
import { answeredBy } from "../../src/mcp/transport/stdio/answered-by.ts";
import { verifies } from "../support/verifies.ts";

function of(text: string) {
  return answeredBy({ head: text.slice(0, keptBytes), tail: text.slice(-keptBytes), size: text.length });
}

const long = "x".repeat(2_000);

verifies("M12", "the id of an answer is found at either end, as every server writes it", () => {
  const result = { content: [{ type: "text", text: long }] };
  expect(of(JSON.stringify({ jsonrpc: "2.0", id: 7, result }))).toBe(7);
  expect(of(JSON.stringify({ id: 7, jsonrpc: "2.0", result }))).toBe(7);
  expect(of(JSON.stringify({ jsonrpc: "2.0", id: "7", error: { code: 1, message: long } }, null, 1))).toBe("7");
  expect(of(JSON.stringify({ result, jsonrpc: "2.0", id: 7 }))).toBe(7);
  expect(of(`${JSON.stringify({ jsonrpc: "2.0", result, id: 7 })}\r`)).toBe(7);
  expect(of(JSON.stringify({ result, id: 7, jsonrpc: "2.0" }))).toBe(7);
});

verifies("M12", "what is no answer, or does not tell at its ends, is nobody's", () => {
  const params = { text: long };
  expect(of(JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping", params }))).toBeUndefined();
  expect(of(JSON.stringify({ method: "ping", params, jsonrpc: "2.0", id: 7 }))).toBeUndefined();
  expect(of(JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params }))).toBeUndefined();
  expect(of(JSON.stringify({ jsonrpc: "2.0", result: { text: long, id: 7 } }))).toBeUndefined();
  expect(of(JSON.stringify({ jsonrpc: "2.0", result: `${long},"id":7}` }))).toBeUndefined();
  expect(of(long)).toBeUndefined();
});
