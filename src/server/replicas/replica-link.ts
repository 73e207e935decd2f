import { randomBytes } from "node:crypto";
import { ToolkitError } from "../../core/error.ts";
import type { BusEvent, BusSubscription, MessageBus } from "../../core/message-bus.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { isRecord } from "../../lib/value.ts";

/** The events of a line. */
export interface LineEvents {
  /** A message of the other end: JSON, which is parsed where it is used. */
  data(message: unknown): void;
  /** Called once. `isLost` where the other replica is gone, or messages of it may be missing. */
  ended(isLost: boolean): void;
}

/** The parts of a link. */
export interface ReplicaLinkOptions {
  readonly bus: MessageBus;
  readonly clock: Clock;
  /** Another replica begins a line; undefined refuses it. */
  accept(kind: string, payload: unknown, line: ReplicaLine): LineEvents | undefined;
}

type LinkMessage = Readonly<Record<string, unknown>>;

/** The most lines at once; further ones are refused. */
const maxLines = 10_000;
/** The time between signs of life of the lines with a replica, and the silence after which they are lost, in milliseconds. */
const [beatMs, patienceMs] = [2_000, 10_000];
/** The longest wait for what is being sent when it is closed, in milliseconds. */
const closeMs = 2_000;

/** One exchange of messages with another replica. */
export class ReplicaLine {
  readonly id: string;
  readonly peer: string;
  readonly #send: (type: string, fields: LinkMessage) => Promise<void>;
  readonly #over: (line: ReplicaLine) => void;
  /** Undefined once it has ended. */
  events: LineEvents | undefined;
  seenAt: number;
  #unsent = 0;

  constructor(
    id: string,
    peer: string,
    now: number,
    send: (type: string, fields: LinkMessage) => Promise<void>,
    over: (line: ReplicaLine) => void,
  ) {
    this.id = id;
    this.peer = peer;
    this.seenAt = now;
    this.#send = send;
    this.#over = over;
  }

  /** The characters that are not on their way yet. */
  get unsent(): number {
    return this.#unsent;
  }

  /** @param length - its approximate number of characters */
  send(data: LinkMessage, length = 0): void {
    this.#unsent += length;
    void this.#send("data", { line: this.id, data }).finally(() => {
      this.#unsent -= length;
    });
  }

  /** Ends it here, and then at the other end, after what was sent. */
  end(): void {
    if (!this.#close()) return;
    void this.#send("end", { lines: [this.id] });
  }

  /** It was ended at the other end, or is lost. */
  ended(isLost: boolean): void {
    const { events } = this;
    if (this.#close()) events?.ended(isLost);
  }

  #close(): boolean {
    this.#over(this);
    const isNews = this.events !== undefined;
    this.events = undefined;
    return isNews;
  }
}

/**
 * The way of a replica to the others: lines over the bus of the store. A replica that is gone is seen when something is sent to it, and on
 * lines where nothing is sent by the signs of life: where these cannot be sent, or do not come.
 */
export class ReplicaLink {
  /** Names this replica. It cannot be guessed, and is no secret. */
  readonly id = randomBytes(12).toString("base64url");
  readonly #options: ReplicaLinkOptions;
  readonly #lines = new Map<string, ReplicaLine>();
  readonly #subscription: BusSubscription;
  readonly #sending = new Set<Promise<void>>();
  #opened = 0;
  #beat: Timer | undefined;
  #isClosed = false;

  constructor(options: ReplicaLinkOptions) {
    this.#options = options;
    this.#subscription = options.bus.subscribe(channelOf(this.id), (event) => this.#receive(event));
  }

  /** Resolves when other replicas reach this one, or that could not be achieved at first. Never rejects. */
  ready(): Promise<void> {
    return this.#subscription.ready.catch(() => undefined);
  }

  /**
   * Begins a line.
   *
   * @returns undefined where there is no such replica: nothing was sent
   * @throws ToolkitError `LIMIT_EXCEEDED` where there are too many lines; as `MessageBus.publish`
   */
  async open(peer: string, kind: string, payload: unknown, events: LineEvents): Promise<ReplicaLine | undefined> {
    if (this.#isClosed) return undefined;
    if (this.#lines.size >= maxLines) throw tooManyLines(maxLines);
    this.#opened += 1;
    const line = this.#line(`${this.id}.${this.#opened}`, peer);
    line.events = events;
    this.#lines.set(line.id, line);
    this.#schedule();
    try {
      const message = { type: "open", from: this.id, line: line.id, kind, payload };
      if (await this.#options.bus.publish(channelOf(peer), message)) return line;
    } catch (error) {
      this.#drop(line);
      throw error;
    }
    this.#drop(line);
    return undefined;
  }

  /** Ends all lines. What was sent before arrives, unless the store takes too long. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#beat?.cancel();
    this.#subscription.end();
    this.#loseAll();
    const late = Promise.withResolvers<void>();
    const timer = this.#options.clock.setTimer(late.resolve, closeMs);
    await Promise.race([Promise.all(this.#sending), late.promise]);
    timer.cancel();
  }

  #line(id: string, peer: string): ReplicaLine {
    const send = (type: string, fields: LinkMessage) => this.#send(peer, type, fields);
    const now = this.#options.clock.now();
    return new ReplicaLine(id, peer, now, send, (line) => this.#lines.delete(line.id));
  }

  #drop(line: ReplicaLine): void {
    line.events = undefined;
    this.#lines.delete(line.id);
  }

  #send(peer: string, type: string, fields: LinkMessage): Promise<void> {
    const isGone = () => this.#lose((line) => line.peer === peer);
    const message = { type, from: this.id, ...fields };
    const sent = this.#options.bus.publish(channelOf(peer), message).then(
      (isThere) => (isThere ? undefined : isGone()),
      (error: unknown) => {
        if (!ToolkitError.is(error, "LIMIT_EXCEEDED")) return isGone();
        // Too large for the bus: that is the end of this line alone.
        this.#of(String(fields.line), peer)?.ended(true);
        void this.#send(peer, "lost", { lines: [fields.line] });
      },
    );
    this.#sending.add(sent);
    return sent.finally(() => this.#sending.delete(sent));
  }

  #receive(event: BusEvent): void {
    if (event.type === "gap") this.#loseAll();
    else if (isRecord(event.message) && typeof event.message.from === "string") this.#follow(event.message);
  }

  #follow(message: LinkMessage): void {
    const { type, line: id, from, kind, payload, data } = message;
    const peer = String(from);
    if (type === "open" && typeof id === "string" && typeof kind === "string") this.#accept(id, peer, kind, payload);
    if (type === "data" && typeof id === "string") {
      const line = this.#of(id, peer);
      if (line === undefined) void this.#send(peer, "lost", { lines: [id] });
      else line.events?.data(data);
    }
    const lines = this.#idsIn(message);
    if (type === "end" || type === "lost") for (const each of lines) this.#of(each, peer)?.ended(type === "lost");
    if (type === "beat") this.#seen(lines, peer);
  }

  #idsIn({ lines }: LinkMessage): readonly string[] {
    if (!Array.isArray(lines)) return [];
    return lines.slice(0, maxLines).filter((id) => typeof id === "string");
  }

  #of(id: string, peer: string): ReplicaLine | undefined {
    const line = this.#lines.get(id);
    return line?.peer === peer ? line : undefined;
  }

  #accept(id: string, peer: string, kind: string, payload: unknown): void {
    if (!isReplicaId(peer) || !id.startsWith(`${peer}.`) || this.#lines.has(id)) return;
    const line = this.#line(id, peer);
    const isRefused = this.#isClosed || this.#lines.size >= maxLines;
    // Its answer may be whole before it is accepted.
    line.events = nothing;
    this.#lines.set(id, line);
    const events = isRefused ? undefined : this.#options.accept(kind, payload, line);
    if (events === undefined) {
      this.#drop(line);
      void this.#send(peer, "lost", { lines: [id] });
      return;
    }
    if (line.events === nothing) line.events = events;
    this.#schedule();
  }

  #seen(ids: readonly string[], peer: string): void {
    const unknown: string[] = [];
    for (const id of ids) {
      const line = this.#of(id, peer);
      if (line === undefined) unknown.push(id);
      else line.seenAt = this.#options.clock.now();
    }
    if (unknown.length > 0 && isReplicaId(peer)) void this.#send(peer, "lost", { lines: unknown });
  }

  #schedule(): void {
    const { clock } = this.#options;
    const dueAt = clock.now() + beatMs;
    this.#beat ??= clock.setTimer(() => {
      this.#beat = undefined;
      const now = clock.now();
      // This process was busy: what the others have sent meanwhile is not read yet.
      if (now > dueAt + beatMs) for (const line of this.#lines.values()) line.seenAt = now;
      this.#lose(({ seenAt }) => seenAt < now - patienceMs);
      for (const [peer, lines] of Map.groupBy(this.#lines.values(), (line) => line.peer))
        void this.#send(peer, "beat", { lines: lines.map(({ id }) => id) });
      if (this.#lines.size > 0) this.#schedule();
    }, beatMs);
  }

  /** Messages may be missing: what is left of any line cannot be trusted, at the other end neither. */
  #loseAll(): void {
    for (const [peer, lines] of Map.groupBy(this.#lines.values(), (line) => line.peer))
      void this.#send(peer, "lost", { lines: lines.map(({ id }) => id) });
    this.#lose(() => true);
  }

  #lose(isLost: (line: ReplicaLine) => boolean): void {
    for (const line of [...this.#lines.values()]) if (isLost(line)) line.ended(true);
  }
}

/** The error for one line more. */
export function tooManyLines(max: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `${max} requests are forwarded to other replicas, and no more may be. Try again later.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: linesLimit, max, actual: max + 1 });
}

/** The name of the limit of lines. */
export const linesLimit = "lines";

const nothing: LineEvents = { data: () => undefined, ended: () => undefined };

const idForm = /^[\w-]{16}$/;

/** True for the name of a replica, whether there is one or not. */
export function isReplicaId(text: string): boolean {
  return idForm.test(text);
}

function channelOf(replica: string): string {
  return `replica:${replica}`;
}
