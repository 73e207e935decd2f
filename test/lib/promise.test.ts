import { expect, test } from "vitest";
import { abortable, andThen, isPromiseLike, rescue } from "../../src/lib/promise.ts";

const wrap = (thrown: unknown) => new Error("wrapped", { cause: thrown });

// biome-ignore-start lint/suspicious/noThenProperty: promises of other libraries are what is tested
test("what is synchronous stays so", () => {
  expect(andThen(1, (n) => n + 1)).toBe(2);
  expect(rescue(() => 1, wrap)).toBe(1);
  expect(isPromiseLike({ then: 1 })).toBe(false);
  expect(() =>
    rescue(() => {
      throw 1;
    }, wrap),
  ).toThrow(wrap(1));
});

test("a then that gives nothing, calls back twice or throws is a promise all the same", async () => {
  const nothing = { then: (resolve: (value: string) => void) => void resolve("hi") } as never;
  expect(await rescue(() => nothing, wrap)).toBe("hi");
  const twice = {
    then(resolve: (value: number) => void, reject: (error: unknown) => void) {
      resolve(1);
      reject(2);
      resolve(3);
    },
  } as never;
  expect(await rescue(() => twice, wrap)).toBe(1);
  const throwing = {
    then() {
      throw new Error("then");
    },
  } as never;
  await expect(rescue(() => throwing, wrap)).rejects.toThrow("wrapped");
});
// biome-ignore-end lint/suspicious/noThenProperty: promises of other libraries are what is tested

test("abortable rejects with the reason, ignores what comes later, and leaves no listener", async () => {
  const controller = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const result = abortable(promise, controller.signal);
  controller.abort("why");
  await expect(result).rejects.toBe("why");
  reject(new Error("late"));
  await expect(abortable(Promise.reject(new Error("also late")), controller.signal)).rejects.toBe("why");
  await expect(abortable(Promise.resolve(1), new AbortController().signal)).resolves.toBe(1);
});
