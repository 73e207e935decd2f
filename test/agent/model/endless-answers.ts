import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import type { ChatModel, MessagesModel } from "../../../src/agent/model/server-models.ts";
import { answerLimits } from "../../../src/agent/model/wire/answer-reader.ts";
import { rejection } from "../../support/failure.ts";
import { hello, json, type WireAnswer, type WireServer } from "./support.ts";

const mebibyte = 2 ** 20;

/** Bounds that an answer without end reaches soon. */
export const smallLimits = {
  ...answerLimits,
  maxAnswerBytes: 2 * mebibyte,
  maxEventBytes: mebibyte,
  maxArguments: mebibyte / 2,
};

/** 64 KiB, to repeat. */
export const filler = "x".repeat(64 * 1024);

/** An answer of 64 MiB that is 64 KiB on its way. */
export const zipped = (): WireAnswer => ({
  pieces: [Uint8Array.from(gzipSync(Buffer.alloc(64 * mebibyte, " ")))],
  headers: { ...json, "content-encoding": "gzip" },
});

/** Asserts that the answer is given up at a bound of `smallLimits`, as a stream and as a whole, and that the rest is not received. */
export async function expectGivenUp<M extends ChatModel | MessagesModel>(
  server: WireServer,
  model: M,
  partsOf: (model: M) => Promise<unknown>,
  message: RegExp,
): Promise<void> {
  expect(await rejection(partsOf(model))).toMatchObject({
    message: expect.stringMatching(message),
    isRetryable: false,
  });
  // An answer that is wanted whole has the limit of one event.
  const whole = expect.stringMatching(new RegExp(`${message.source}|larger than ${mebibyte}`));
  expect(await rejection(model.doGenerate(hello))).toMatchObject({ message: whole, isRetryable: false });
  await server.idle();
}
