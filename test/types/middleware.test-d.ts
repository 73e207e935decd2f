import { expectTypeOf, test } from "vitest";
import {
  type Call,
  type CallContext,
  type Content,
  type Handler,
  type Middleware,
  type RenderedPrompt,
  Toolkit,
} from "../../src/index.ts";
import { resource } from "../../src/resource/resource-factory.ts";

test("[C2] middleware that only passes on needs no cast, whatever it does around it", () => {
  const passing: Middleware = (call, next) => next(call);
  const timed: Middleware = async (call, next) => {
    const answer = await next(call);
    expectTypeOf(answer).toEqualTypeOf<Content | RenderedPrompt>();
    return answer;
  };
  const patient: Middleware = (call, next) => next(call.with({ context: call.context.derive({ meta: { a: 1 } }) }));
  new Toolkit({ use: [passing, timed, patient, (call, next) => next(call)] });
});

test("[C2] the verb tells what there is, and what next gives", () => {
  const middleware: Middleware = async (call, next) => {
    expectTypeOf(call.verb).toEqualTypeOf<"call" | "read" | "render">();
    expectTypeOf(call.context).toEqualTypeOf<CallContext>();
    // @ts-expect-error a read has no input
    void call.input;
    // @ts-expect-error nor can it be given one
    void call.with({ input: 1 });
    if (call.verb === "read") {
      expectTypeOf(call).toEqualTypeOf<Call<"read">>();
      expectTypeOf(call.entry.kind).toEqualTypeOf<"resource">();
      // @ts-expect-error a read has no input
      void call.input;
      // @ts-expect-error nor can it be given one
      void call.with({ input: 1 });
      expectTypeOf(next(call)).resolves.toEqualTypeOf<Content>();
      return next(call.with({ context: call.context }));
    }
    expectTypeOf(call.input).toEqualTypeOf<unknown>();
    expectTypeOf(call.entry.kind).toEqualTypeOf<"tool" | "prompt">();
    if (call.verb === "render") {
      const { messages } = await next(call.with({ input: {} }));
      expectTypeOf(messages).toEqualTypeOf<RenderedPrompt["messages"]>();
      expectTypeOf(call.entry.kind).toEqualTypeOf<"prompt">();
      // @ts-expect-error the messages of a prompt are no Content
      const content: Content = await next(call);
      return content;
    }
    expectTypeOf(next(call)).resolves.toEqualTypeOf<Content>();
    // @ts-expect-error a Content has no messages
    void (await next(call)).messages;
    // @ts-expect-error a subscription is not offered
    if (call.verb === "subscribe") return resource.text("a", "b");
    return resource.text("answer", "mine");
  };
  expectTypeOf(middleware).returns.resolves.toEqualTypeOf<Content | RenderedPrompt>();
});

test("[C2] what is no middleware is refused", () => {
  // @ts-expect-error an answer is wanted
  const silent: Middleware = async (call, next) => void (await next(call));
  // @ts-expect-error a text is no answer
  const text: Middleware = async () => "text";
  // @ts-expect-error next wants a call
  const without: Middleware = (_call, next) => next();
  // @ts-expect-error a call that was taken apart is none
  const spread: Middleware = ({ entry }, next) => next({ entry });
  void [silent, text, without, spread];
});

test("[C2] each verb has types of its own", () => {
  const audit = async (call: Call<"call">, next: Handler): Promise<Content> => {
    expectTypeOf(call.entry.kind).toEqualTypeOf<"tool" | "prompt">();
    return next(call);
  };
  const use: Middleware = (call, next) => (call.verb === "call" ? audit(call, next) : next(call));
  void use;
  // @ts-expect-error there is no such verb
  expectTypeOf<Call<"subscribe">>().toBeNever();
  expectTypeOf<Call<"render">["with"]>().returns.toEqualTypeOf<Call<"render">>();
});

test("[C16] what is derived is a context, of parts there are", () => {
  const context = {} as CallContext;
  expectTypeOf(context.derive({ signal: new AbortController().signal, meta: { a: 1 } })).toEqualTypeOf<CallContext>();
  // @ts-expect-error a deadline is the call's
  void (() => context.derive({ timeoutMs: 1 }));
  // @ts-expect-error and so is its depth
  void (() => context.derive({ depth: 0 }));
  // @ts-expect-error a signal is no controller
  void (() => context.derive({ signal: new AbortController() }));
  // @ts-expect-error read-only
  void (() => (context.session = { id: "x" }));
});
