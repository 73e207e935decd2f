import type { ConnectorSession } from "../../core/connector.ts";
import { ToolkitError } from "../../core/error.ts";
import { EarlierRevisionError, isUndecided } from "../modern/discover.ts";
import { modernVersion } from "../modern/revision.ts";
import { discovered, shakeByDiscovery, speakStateless } from "../modern/shake-by-discovery.ts";
import {
  type Agreed,
  type Attempt,
  defaultConnectTimeoutMs,
  type Opening,
  openSession,
  shakeByInitialize,
} from "../open-session.ts";
import { ConnectionLostError, RpcError } from "../rpc/rpc-error.ts";
import { HttpStatusError } from "../transport/http/http-error.ts";
import type { Transport } from "../transport/transport.ts";

/**
 * The time after which a server that leaves the question for its revisions unanswered is asked to initialize too, in milliseconds: servers
 * that ignore what they do not expect are not to start slowly. A child process that was only starting, and agrees to initialize, keeps sessions
 * for its whole life.
 */
const silentMs = 2_000;
/** The part of the time limit that this takes at most. */
const silentPart = 0.25;

/**
 * Opens a session over a transport that serves both eras, such as the pipe of a child process. A process that ends when it is asked what it
 * speaks is started once more, and asked to initialize.
 */
export async function openOverPipe(make: () => Transport, attempt: Attempt): Promise<ConnectorSession> {
  const { protocol = "auto" } = attempt.options;
  if (protocol === modernVersion) return openSession(make(), attempt, shakeByDiscovery());
  if (protocol !== "auto") return openSession(make(), attempt, shakeByInitialize);
  let hasDied = false;
  const shake = (opening: Opening) =>
    shakeEither(opening, () => {
      hasDied = true;
    });
  try {
    return await openSession(make(), attempt, shake);
  } catch (error) {
    if (!hasDied || attempt.signal.aborted) throw error;
    attempt.era.suppose("handshake");
    return openSession(make(), attempt, shake);
  }
}

/** The ways to open a session over HTTP, each with a transport of its own. */
export interface HttpOpeners {
  readonly stateless: (attempt: Attempt) => Promise<ConnectorSession>;
  readonly withHandshake: (attempt: Attempt) => Promise<ConnectorSession>;
}

/** Opens a session over HTTP in the era that the server speaks. @throws the error of the era that it seemed to speak */
export async function openOverHttp(
  attempt: Attempt,
  { stateless, withHandshake }: HttpOpeners,
): Promise<ConnectorSession> {
  const { protocol = "auto", era, host } = { ...attempt, ...attempt.options };
  if (protocol === modernVersion) return stateless(attempt);
  if (protocol !== "auto") return withHandshake(attempt);
  const { memory } = host;
  const known = await era.recall(memory);
  const newer = async (by: Attempt) => {
    const session = await stateless(by);
    era.found("stateless", session.server, memory);
    return session;
  };
  if (known === "handshake") {
    try {
      const session = await withHandshake(attempt);
      era.confirm(session.server, memory);
      return session;
    } catch (error) {
      if (attempt.signal.aborted || !isAnswer(error)) throw error;
      return await newer(attempt).catch((second: unknown) => {
        throw attempt.signal.aborted || ToolkitError.is(second, "UNSUPPORTED_PROTOCOL") ? second : error;
      });
    }
  }
  const older = async (by: Attempt) => {
    const session = await withHandshake(by);
    era.found("handshake", session.server, memory);
    return session;
  };
  const isEarlier = (error: unknown) => error instanceof EarlierRevisionError && !attempt.signal.aborted;
  if (known === "stateless") {
    return newer(attempt).catch((error: unknown) => {
      if (isEarlier(error)) return older(attempt);
      throw error;
    });
  }
  return firstOf(attempt, newer, older, isEarlier);
}

/** Opens the first way, and the second where that fails for want of it, or is silent: then the first to succeed counts. */
async function firstOf(
  attempt: Attempt,
  first: HttpOpeners["stateless"],
  second: HttpOpeners["stateless"],
  isOther: (error: unknown) => boolean,
): Promise<ConnectorSession> {
  const one = new Way(attempt, first);
  const silence = new Silence(attempt);
  try {
    const session = await Promise.race([one.opening, silence.lasted]);
    if (session !== undefined) return session;
  } catch (error) {
    if (isOther(error)) return second(attempt);
    throw error;
  } finally {
    silence.end();
  }
  const other = new Way(attempt, second);
  one.opening.then(() => other.giveUp(), nothing);
  other.opening.then(() => one.giveUp(), nothing);
  const [here, there] = await Promise.allSettled([one.opening, other.opening]);
  // Both may have come at once.
  if (here.status === "fulfilled" && there.status === "fulfilled") await there.value[Symbol.asyncDispose]();
  if (here.status === "fulfilled") return here.value;
  if (there.status === "fulfilled") return there.value;
  throw isOther(here.reason) ? there.reason : here.reason;
}

/** A way to open a session, which may be given up. */
class Way {
  readonly opening: Promise<ConnectorSession>;
  readonly #ended = new AbortController();

  constructor(attempt: Attempt, open: HttpOpeners["stateless"]) {
    const { signal } = attempt;
    const onAbort = () => this.#ended.abort(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
    const leave = () => signal.removeEventListener("abort", onAbort);
    this.opening = open({ ...attempt, signal: this.#ended.signal });
    this.opening.then(leave, leave);
  }

  giveUp(): void {
    this.#ended.abort(new Error("The server was opened in another way."));
  }
}

function nothing(): void {
  // Its error is looked at with that of the other way.
}

/** Finds out on one connection which era a server speaks, and goes on in it. */
async function shakeEither(opening: Opening, died: () => void): Promise<Agreed> {
  const { peer, attempt } = opening;
  const { era, host } = attempt;
  const known = await era.recall(host.memory);
  if (known !== "handshake") return discoverFirst(opening, known === "stateless", died);
  try {
    const agreed = await shakeByInitialize(opening);
    era.confirm(agreed.server, host.memory);
    return agreed;
  } catch (error) {
    if (!isAnswer(error) || peer.isClosed) throw error;
    const server = await discovered(opening).catch((second: unknown) => {
      throw ToolkitError.is(second, "UNSUPPORTED_PROTOCOL") ? second : error;
    });
    era.found("stateless", server, host.memory);
    return speakStateless(opening, server, undefined);
  }
}

async function discoverFirst(opening: Opening, isKnown: boolean, died: () => void): Promise<Agreed> {
  const { peer, attempt } = opening;
  const { era, host } = attempt;
  const asked = discovered(opening);
  const silence = isKnown ? undefined : new Silence(attempt);
  try {
    const server = await (silence === undefined ? asked : Promise.race([asked, silence.lasted]));
    if (server === undefined) return await initializeToo(opening, asked);
    era.found("stateless", server, host.memory);
    return await speakStateless(opening, server, undefined);
  } catch (error) {
    // Some servers end at a request that they do not expect.
    if (error instanceof ConnectionLostError && peer.received === 0 && !isKnown) died();
    if (!(error instanceof EarlierRevisionError)) throw error;
    const agreed = await shakeByInitialize(opening);
    era.found("handshake", agreed.server, host.memory);
    return agreed;
  } finally {
    silence?.end();
  }
}

/**
 * The server is silent: it starts slowly, or answers nothing that it does not expect before `initialize`. It is asked to initialize too.
 * Once it has agreed to that, the process keeps sessions, whatever else it answers.
 */
async function initializeToo(opening: Opening, asked: ReturnType<typeof discovered>): Promise<Agreed> {
  const { era, host } = opening.attempt;
  let isStateless = false;
  asked.then(
    () => {
      isStateless = true;
    },
    () => {},
  );
  try {
    const agreed = await shakeByInitialize(opening);
    era.found(isStateless ? "stateless" : "handshake", agreed.server, host.memory);
    return agreed;
  } catch (error) {
    if (!isAnswer(error)) throw error;
    const server = await asked.catch((second: unknown) => {
      throw second instanceof EarlierRevisionError ? error : second;
    });
    era.found("stateless", server, host.memory);
    return speakStateless(opening, server, undefined);
  }
}

/** The time that a server has for its first answer. */
class Silence {
  /** Resolves when it is over; never where it was ended before. */
  readonly lasted: Promise<undefined>;
  #timer: NodeJS.Timeout | undefined;

  constructor({ options }: Attempt) {
    const { connectTimeoutMs = defaultConnectTimeoutMs } = options;
    this.lasted = new Promise((resolve) => {
      this.#timer = setTimeout(resolve, Math.min(silentMs, connectTimeoutMs * silentPart), undefined);
    });
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** True for an error by which a server refused to initialize, so that it may speak without sessions by now. */
function isAnswer(error: unknown): boolean {
  if (error instanceof HttpStatusError) return !isUndecided(error);
  // That neither transport works is UNAVAILABLE.
  return (
    error instanceof RpcError || ToolkitError.is(error, "UNSUPPORTED_PROTOCOL") || ToolkitError.is(error, "UNAVAILABLE")
  );
}
