import { ToolkitError } from "../../src/core/error.ts";
import type { CallOptions } from "../../src/core/session.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { Chance } from "./chance.ts";
import type { SoakServer } from "./server.ts";
import type { Outcome } from "./verdict.ts";

/** A call to be made. */
export interface SoakCall {
  /** For the report. */
  readonly what: string;
  /** The ends it may have by itself: codes, `ok` or `ABORTED`. */
  readonly expects: readonly string[];
  /** Where the server counts how often it runs. */
  readonly counted?: boolean;
  /** Counted, and not to be run twice. */
  readonly unsafe?: boolean;
  /** From its start; the signal aborts then, 0 before it. */
  readonly abortAfterMs?: number;
  readonly timeoutMs?: number;
  /** Makes it, and gives the text it was answered with. */
  make(toolkit: Toolkit, id: string, options: CallOptions): Promise<string>;
  /** Whether an answer is the one to this call. */
  isRight(answer: string, id: string): boolean;
}

type Make = (name: string, chance: Chance) => SoakCall;

const ran = (answer: string, id: string) => answer === `ran ${id}`;
const counted = { counted: true, expects: ["ok"], isRight: ran } as const;

function tool(
  what: string,
  input: object = {},
): Pick<SoakCall, "make" | "what"> & { of(name: string): SoakCall["make"] } {
  const of =
    (name: string): SoakCall["make"] =>
    async (toolkit, id, options) =>
      (await toolkit.call(`${name}.${what}`, { call: id, ...input }, options)).text();
  return { what, make: of(""), of };
}

/** A call of a tool that counts. */
function counting(what: string, more: Partial<SoakCall> = {}, input?: (chance: Chance) => object): Make {
  return (name, chance) => ({ ...counted, what, ...more, make: tool(what, input?.(chance)).of(name) });
}

const uncounted = (what: string, make: (name: string) => SoakCall["make"], isRight: SoakCall["isRight"]): Make => {
  return (name) => ({ what, expects: ["ok"], isRight, make: make(name) });
};

const someMs = (chance: Chance) => ({ ms: chance.between(50, 400) });

/** The calls of a faulty server. */
const faultyCalls: readonly { readonly weight: number; readonly make: Make }[] = [
  { weight: 25, make: counting("record", { unsafe: true }) },
  { weight: 18, make: counting("echo") },
  { weight: 8, make: counting("add", { isRight: (answer, id) => answer === JSON.stringify({ call: id }) }) },
  { weight: 10, make: counting("slow_record", { unsafe: true }, someMs) },
  { weight: 6, make: counting("slow", {}, someMs) },
  { weight: 3, make: counting("ask", { unsafe: true }) },
  { weight: 3, make: counting("sample", { unsafe: true }) },
  { weight: 4, make: counting("fail", { unsafe: true, expects: ["TOOL_FAILED"] }) },
  { weight: 4, make: (name, chance) => short(name, chance) },
  { weight: 4, make: (name, chance) => aborted(name, chance.between(1, 200)) },
  { weight: 1, make: (name) => aborted(name, 0) },
  { weight: 1, make: invalid },
  { weight: 6, make: nested },
  {
    weight: 7,
    make: uncounted(
      "read",
      (name) => async (toolkit, _id, options) => (await toolkit.read(`memo://one#${name}`, options)).text(),
      (answer) => answer === "A memo.",
    ),
  },
  {
    weight: 6,
    make: uncounted(
      "render",
      (name) => async (toolkit, id, options) => {
        const { messages } = await toolkit.render(`${name}.greet`, { name: id }, options);
        return (await messages[0]?.content[0]?.text()) ?? "";
      },
      (answer, id) => answer === `Greet ${id}.`,
    ),
  },
];

function short(name: string, chance: Chance): SoakCall {
  const timeoutMs = chance.between(20, 150);
  const make = tool("slow_record", { ms: 300 }).of(name);
  // One that waits for its connection until its time is over says so.
  return { ...counted, unsafe: true, what: "slow_record, short deadline", timeoutMs, expects: ["TIMEOUT"], make };
}

function aborted(name: string, abortAfterMs: number): SoakCall {
  const what = abortAfterMs === 0 ? "slow_record, already aborted" : "slow_record, aborted";
  return {
    ...counted,
    unsafe: true,
    what,
    abortAfterMs,
    expects: ["ABORTED"],
    make: tool("slow_record", { ms: 300 }).of(name),
  };
}

function invalid(name: string): SoakCall {
  const make: SoakCall["make"] = async (toolkit, id, options) =>
    (await toolkit.call(`${name}.slow_record`, { call: id, ms: "soon" }, options)).text();
  return { ...counted, unsafe: true, what: "slow_record, invalid", expects: ["INVALID_INPUT"], make };
}

/** Through a builtin that calls it. */
function nested(name: string): SoakCall {
  const make: SoakCall["make"] = async (toolkit, id, options) =>
    (await toolkit.call("relay", { key: `${name}.record`, call: id }, options)).text();
  return { ...counted, unsafe: true, what: "record, nested", make };
}

/** The calls of the servers people use, by name. */
const everythingCalls: readonly { readonly weight: number; readonly make: Make }[] = [
  {
    weight: 6,
    make: uncounted(
      "echo",
      (name) => async (toolkit, id, options) => (await toolkit.call(`${name}.echo`, { message: id }, options)).text(),
      (answer, id) => answer === `Echo: ${id}`,
    ),
  },
  {
    weight: 2,
    make: uncounted(
      "get-sum",
      (name) => async (toolkit, _id, options) =>
        (await toolkit.call(`${name}.get-sum`, { a: 2, b: 3 }, options)).text(),
      (answer) => answer.includes("5"),
    ),
  },
  {
    weight: 1,
    make: uncounted(
      "render",
      (name) => async (toolkit, id, options) =>
        (await (await toolkit.render(`${name}.args-prompt`, { city: id }, options)).messages[0]?.content[0]?.text()) ??
        "",
      (answer, id) => answer.includes(id),
    ),
  },
  {
    weight: 1,
    make: uncounted(
      "read",
      (name) => async (toolkit, _id, options) =>
        (await toolkit.read(`demo://resource/dynamic/text/7#${name}`, options)).text(),
      (answer) => answer.includes("7"),
    ),
  },
];

const memoryCalls: typeof everythingCalls = [
  {
    weight: 1,
    make: uncounted(
      "read_graph",
      (name) => async (toolkit, _id, options) => (await toolkit.call(`${name}.read_graph`, {}, options)).text(),
      (answer) => answer.includes("entities"),
    ),
  },
];

/** Chooses a call of a server. */
export function chooseCall({ name, place }: SoakServer, chance: Chance): SoakCall {
  return chance.weighted(callsOf(name, place)).make(name, chance);
}

/** The call that shows whether a server answers. */
export function probeOf({ name, place }: SoakServer, chance: Chance): SoakCall {
  const [first] = place === "child" || place === "service" ? callsOf(name, place) : [{ make: counting("echo") }];
  if (first === undefined) throw new Error(`Nothing can be called of ${name}.`);
  return first.make(name, chance);
}

function callsOf(name: string, place: SoakServer["place"]): typeof faultyCalls {
  if (place !== "child" && place !== "service") return faultyCalls;
  return name === "memory" ? memoryCalls : everythingCalls;
}

/** Waits for a call and says how it ended; `reason` is that of its signal. */
export async function outcomeOf(
  answer: Promise<string>,
  isRight: (answer: string) => boolean,
  reason: unknown,
): Promise<Outcome> {
  try {
    const said = await answer;
    return { ok: true, right: isRight(said), said: said.slice(0, 200) };
  } catch (error) {
    if (error === reason) return { ok: false, code: "ABORTED", said: String(error) };
    if (!ToolkitError.is(error)) return { ok: false, code: "no code", said: String(error) };
    // A tool that calls another fails as a tool: why is the cause.
    const nested = error.code === "TOOL_FAILED" && ToolkitError.is(error.cause) ? error.cause : error;
    return { ok: false, code: nested.code, said: nested.message.slice(0, 500) };
  }
}
