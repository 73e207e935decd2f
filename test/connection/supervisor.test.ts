import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, test } from "vitest";
import {
  type Generation,
  Supervisor,
  type SupervisorChange,
  type SupervisorOptions,
  stableAfterMs,
} from "../../src/connection/supervisor.ts";
import { ToolkitError } from "../../src/core/error.ts";
import { settle, type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { type ScriptedAttempt, ScriptedOpener } from "../support/scripted-opener.ts";
import { verifies } from "../support/verifies.ts";

const retryMs = 2_000;
const maxRetryMs = 20 * 60_000;
const connectTimeoutMs = 30_000;

describe("a supervisor", () => {
  let clock: VirtualClock;
  let opener: ScriptedOpener;
  let chance: number;
  let changes: SupervisorChange<ScriptedAttempt>[];
  let errors: unknown[];
  let supervisor: Supervisor<ScriptedAttempt>;

  function make(options: Partial<SupervisorOptions<ScriptedAttempt>> = {}): Supervisor<ScriptedAttempt> {
    return new Supervisor<ScriptedAttempt>({
      open: opener.open,
      clock,
      random: () => chance,
      retryMs,
      maxRetryMs,
      connectTimeoutMs,
      timedOut: () => new Error("no answer"),
      onChange: (change) => changes.push(change),
      onError: (error) => errors.push(error),
      ...options,
    });
  }
  const path = () => changes.map(({ from, to }) => `${from}>${to}`);
  /** Opens the newest attempt and lets it live long enough to be trusted. */
  const connect = async () => {
    opener.last.succeed();
    await settle();
    await clock.advance(stableAfterMs);
  };
  const fail = async (message = "refused") => {
    opener.last.fail(new Error(message));
    await settle();
  };

  /** Lets the wait for the next attempt pass. */
  const due = () => clock.advance((supervisor.nextAttemptAt ?? clock.now()) - clock.now());

  beforeEach(() => {
    clock = virtualClock();
    opener = new ScriptedOpener();
    chance = 1;
    changes = [];
    errors = [];
    supervisor = make();
  });

  verifies("M5", "is idle until it is started, and starting twice is once", async () => {
    expect(supervisor.state).toBe("idle");
    supervisor.start();
    supervisor.start();
    await settle();
    expect(opener.attempts).toHaveLength(1);
    expect(path()).toEqual(["idle>connecting"]);
    await connect();
    supervisor.start();
    expect(path()).toEqual(["idle>connecting", "connecting>connected"]);
    expect(supervisor.generation).toBe(opener.last);
    expect([supervisor.attempts, supervisor.lastError, supervisor.nextAttemptAt]).toEqual([0, undefined, undefined]);
  });

  verifies("M5", "waits 2 s doubling to 20 min, no longer and for ever", async () => {
    supervisor.start();
    const waits: (number | undefined)[] = [];
    for (let attempt = 1; attempt <= 14; attempt++) {
      await settle();
      expect(supervisor.attempts).toBe(attempt);
      await fail(`refused ${attempt}`);
      expect(supervisor.state).toBe("waiting");
      expect(supervisor.lastError?.message).toBe(`refused ${attempt}`);
      const { retryInMs } = changes.at(-1) as SupervisorChange<ScriptedAttempt>;
      expect(supervisor.nextAttemptAt).toBe(clock.now() + (retryInMs as number));
      waits.push(retryInMs);
      await clock.advance((retryInMs as number) - 1);
      expect(opener.attempts).toHaveLength(attempt);
      await clock.advance(1);
      expect(opener.attempts).toHaveLength(attempt + 1);
    }
    const seconds = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1200, 1200, 1200, 1200];
    expect(waits).toEqual(seconds.map((each) => each * 1000));
  });

  verifies("M5", "takes any part of the wait by chance", async () => {
    supervisor.start();
    for (const [part, bound] of [
      [0.25, 2_000],
      [0, 4_000],
      [0.999, 8_000],
    ] as const) {
      chance = part;
      await settle();
      await fail();
      expect(changes.at(-1)?.retryInMs).toBe(part * bound);
      await clock.advance(part * bound);
    }
  });

  verifies(
    "M5",
    "tries at once after a loss, then waits as after the first failure; a handshake resets the delay",
    async () => {
      supervisor.start();
      await settle();
      for (let failure = 0; failure < 5; failure++) {
        await fail();
        await due();
      }
      await connect();
      opener.last.lose(new Error("gone"));
      await settle();
      expect(changes.at(-1)).toMatchObject({ from: "connected", to: "connecting", retryInMs: 0 });
      expect(changes.at(-1)?.error?.message).toBe("gone");
      expect(opener.attempts).toHaveLength(7);
      expect(supervisor.attempts).toBe(1);
      await fail();
      expect(changes.at(-1)?.retryInMs).toBe(2_000);
      await clock.advance(2_000);
      await fail();
      expect(changes.at(-1)?.retryInMs).toBe(4_000);
    },
  );

  verifies("M5", "a server that dies after each handshake is met with growing waits", async () => {
    supervisor.start();
    await settle();
    const waits: (number | undefined)[] = [];
    for (let life = 0; life < 5; life++) {
      opener.last.succeed();
      await settle();
      await clock.advance(stableAfterMs - 1);
      opener.last.lose();
      await settle();
      waits.push(changes.at(-1)?.retryInMs);
      await clock.advance(changes.at(-1)?.retryInMs as number);
    }
    expect(waits).toEqual([0, 2_000, 4_000, 8_000, 16_000]);
    await connect();
    opener.last.lose();
    await settle();
    expect(changes.at(-1)?.retryInMs).toBe(0);
  });

  verifies("M5", "an attempt that hangs is given up after its time, and what it comes to later is ended", async () => {
    supervisor.start();
    await settle();
    const [hanging] = opener.attempts as [ScriptedAttempt];
    await clock.advance(connectTimeoutMs - 1);
    expect(supervisor.state).toBe("connecting");
    await clock.advance(1);
    expect(supervisor.state).toBe("waiting");
    expect(supervisor.lastError?.message).toBe("no answer");
    expect(hanging.signal.reason).toBe(supervisor.lastError);
    await clock.advance(2_000);
    await connect();
    hanging.succeed();
    await settle();
    expect(hanging.disposed).toBe(1);
    expect(supervisor.generation).toBe(opener.last);
    hanging.lose(new Error("late"));
    await settle();
    expect(supervisor.state).toBe("connected");
    expect(supervisor.lastError?.message).toBe("no answer");
  });

  verifies(
    ["M5", "M11"],
    "the time of an attempt stands still while it waits for a person, and it says why",
    async () => {
      let waits: (reason: Error | undefined) => void = () => {};
      supervisor = make({
        open: (signal, given) => {
          waits = given;
          return opener.open(signal);
        },
      });
      supervisor.start();
      await settle();
      await clock.advance(connectTimeoutMs - 1);
      const reason = new Error("open the page");
      waits(reason);
      // Several requests may need the same.
      waits(new Error("open the page"));
      await clock.advance(10 * connectTimeoutMs);
      expect(supervisor).toMatchObject({ state: "connecting", attempts: 1, lastError: reason });
      expect(path()).toEqual(["idle>connecting", "connecting>connecting"]);
      waits(undefined);
      expect(supervisor.lastError).toBeUndefined();
      await clock.advance(connectTimeoutMs - 1);
      expect(supervisor.state).toBe("connecting");
      await clock.advance(1);
      expect(supervisor).toMatchObject({ state: "waiting", lastError: new Error("no answer") });
      // An attempt that is over holds up nothing.
      waits(reason);
      expect(supervisor.lastError?.message).toBe("no answer");
    },
  );

  verifies("M5", "gives up after maxAttempts failures in a row, not counting what was reset", async () => {
    supervisor = make({ maxAttempts: 3 });
    supervisor.start();
    await settle();
    await fail();
    await due();
    await fail();
    supervisor.reconnect();
    await settle();
    expect(supervisor.attempts).toBe(1);
    await connect();
    opener.last.lose();
    await settle();
    for (let failure = 1; failure <= 3; failure++) {
      expect(supervisor.state).toBe("connecting");
      await fail(`refused ${failure}`);
      await due();
    }
    expect(supervisor.state).toBe("stopped");
    expect(changes.at(-1)).toMatchObject({ to: "stopped", retryInMs: undefined });
    expect(changes.at(-1)?.error?.message).toBe("refused 3");
    supervisor.reconnect();
    supervisor.start();
    await clock.advance(maxRetryMs);
    expect(supervisor.state).toBe("stopped");
    expect(clock.timers).toBe(0);
  });

  verifies("M9", "stop ends an attempt, a wait and a generation, for good", async () => {
    const cases: Record<string, () => Promise<void>> = {
      idle: async () => undefined,
      connecting: async () => supervisor.start(),
      waiting: async () => {
        supervisor.start();
        await settle();
        await fail();
      },
      connected: async () => {
        supervisor.start();
        await settle();
        await connect();
      },
    };
    for (const [state, reach] of Object.entries(cases)) {
      opener = new ScriptedOpener();
      supervisor = make();
      await reach();
      await settle();
      expect(supervisor.state).toBe(state);
      const stopping = supervisor.stop();
      expect(supervisor.state).toBe("stopped");
      if (state === "connecting") opener.last.fail(new Error("aborted"));
      await stopping;
      await supervisor.stop();
      expect(clock.timers, state).toBe(0);
      expect(supervisor.generation, state).toBeUndefined();
      expect(opener.attempts.filter(({ alive, pending }) => alive || pending)).toEqual([]);
      if (state === "connected") expect(opener.last.disposed).toBe(1);
      const attempts = opener.attempts.length;
      await clock.advance(maxRetryMs * 2);
      expect(opener.attempts, state).toHaveLength(attempts);
    }
    expect(errors).toEqual([]);
  });

  verifies("M9", "stop resolves only when an attempt that comes too late has ended as well", async () => {
    opener.endsAtOnce = false;
    supervisor.start();
    await settle();
    let stopped = false;
    const stopping = supervisor.stop().then(() => {
      stopped = true;
    });
    await settle();
    expect(opener.last.signal.aborted).toBe(true);
    expect(stopped).toBe(false);
    opener.last.succeed();
    await settle();
    expect(opener.last.disposed).toBe(1);
    expect(stopped).toBe(false);
    opener.last.end();
    await stopping;
    expect(supervisor.state).toBe("stopped");
  });

  verifies("M5", "reconnect drops what there is in every state and tries at once", async () => {
    supervisor.reconnect();
    await settle();
    const [first] = opener.attempts as [ScriptedAttempt];
    supervisor.reconnect();
    await settle();
    expect(first.signal.aborted).toBe(true);
    first.succeed();
    await settle();
    expect([first.disposed, supervisor.state]).toEqual([1, "connecting"]);
    await fail();
    expect(supervisor.state).toBe("waiting");
    supervisor.reconnect();
    expect(supervisor.nextAttemptAt).toBeUndefined();
    await settle();
    await connect();
    const generation = opener.last;
    supervisor.reconnect();
    await settle();
    expect([generation.disposed, supervisor.state, supervisor.generation]).toEqual([1, "connecting", undefined]);
    expect(clock.timers).toBe(1);
    await connect();
    expect(supervisor.state).toBe("connected");
  });

  test("an end that fails is reported, and changes nothing else", async () => {
    const failing = new Error("will not end");
    supervisor.start();
    await settle();
    opener.last[Symbol.asyncDispose] = () => {
      throw failing;
    };
    await connect();
    opener.last.lose(new Error("gone"));
    await settle();
    expect(errors).toEqual([failing]);
    expect(supervisor.lastError?.message).toBe("gone");
    await connect();
    opener.last[Symbol.asyncDispose] = () => Promise.reject(failing);
    await supervisor.stop();
    expect(errors).toEqual([failing, failing]);
  });

  test("what throws instead of an Error, or a closed that rejects, is still a reason", async () => {
    supervisor.start();
    await settle();
    opener.last.fail("just text");
    await settle();
    expect(supervisor.lastError?.message).toBe("just text");
    await clock.advance(2_000);
    opener.last.succeed();
    await settle();
    opener.last.closing.reject(new Error("rejected"));
    await settle();
    expect(supervisor.lastError?.message).toBe("rejected");
    expect(supervisor.state).toBe("connecting");
  });

  test("a listener that throws, stops or reconnects at any change leaves it whole", async () => {
    const broken = new Error("listener");
    supervisor = make({
      onChange: () => {
        throw broken;
      },
    });
    supervisor.start();
    await settle();
    opener.last.succeed();
    await settle();
    expect([supervisor.state, opener.last.disposed]).toEqual(["connected", 0]);
    opener.last.lose();
    await settle();
    expect(supervisor.state).toBe("connecting");
    expect(errors).toEqual([broken, broken, broken]);
    for (const state of ["connecting", "connected", "waiting"]) {
      opener = new ScriptedOpener();
      supervisor = make({
        onChange: ({ to }) => {
          if (to === state) void supervisor.stop();
        },
      });
      supervisor.start();
      await settle();
      if (state === "waiting") await fail();
      else opener.attempts.at(-1)?.succeed();
      await settle();
      await supervisor.stop();
      expect([supervisor.state, supervisor.generation], state).toEqual(["stopped", undefined]);
      expect(opener.attempts.filter(({ alive }) => alive)).toEqual([]);
    }
  });

  verifies(
    "M5",
    "waits as long as the server wants to be left alone, and never longer than the longest wait",
    async () => {
      supervisor = make();
      supervisor.start();
      await settle();
      opener.last.fail(new ToolkitError("RATE_LIMITED", "too many", { retryAfterMs: 30_000 }));
      await settle();
      expect(changes.at(-1)).toMatchObject({ to: "waiting", retryInMs: 30_000 });
      await clock.advance(30_000);
      opener.last.fail(new ToolkitError("UNAVAILABLE", "later", { namespace: "far", retryInMs: 1e9 }));
      await settle();
      expect(changes.at(-1)?.retryInMs).toBe(maxRetryMs);
      await supervisor.stop();
    },
  );

  verifies("M5", "keeps no generation that has ended", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const ended: WeakRef<Doomed>[] = [];
    let last: Doomed | undefined;
    const doomed = new Supervisor<Doomed>({
      open: async (_signal, waits) => {
        last = new Doomed(waits);
        return last;
      },
      clock,
      random: () => 0,
      retryMs,
      maxRetryMs,
      connectTimeoutMs,
      timedOut: () => new Error("no answer"),
      onChange: () => undefined,
      onError: (error) => errors.push(error),
    });
    doomed.start();
    for (let losses = 0; losses < 6; losses++) {
      await settle();
      if (last !== undefined) ended.push(new WeakRef(last));
      last?.die();
      last = undefined;
      await clock.advance(maxRetryMs);
    }
    await settle();
    collect();
    // The error of the last one may hold the one before it on its stack.
    expect(ended.slice(0, -2).map((each) => each.deref())).toEqual([undefined, undefined, undefined, undefined]);
    await doomed.stop();
  });
});

/** Keeps what it was opened with, as a session does, and is on the stack of the error with which it ends. */
class Doomed implements Generation {
  readonly waits: unknown;
  readonly #ended = Promise.withResolvers<Error | undefined>();

  constructor(waits: unknown) {
    this.waits = waits;
  }

  get closed(): Promise<Error | undefined> {
    return this.#ended.promise;
  }

  die(): void {
    this.#ended.resolve(new Error("died"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.resolve(undefined);
  }
}
