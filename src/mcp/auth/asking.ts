import type { CredentialsHost } from "../../core/http-auth.ts";

/** A person is being asked: once for all who need it, and as long as one of them is there. */
export class Asking {
  /** Resolves when the person has authorized. */
  readonly done: Promise<void>;
  readonly #controller = new AbortController();
  readonly #hosts = new Map<CredentialsHost, { readonly restored: boolean; leave(): void }>();
  #over = false;

  /** @param ask - ends when the signal aborts */
  constructor(ask: (signal: AbortSignal) => Promise<void>) {
    this.done = ask(this.#controller.signal);
    this.done.then(
      () => this.#end(true),
      () => this.#end(false),
    );
  }

  /** Whoever needs it now has to ask again. */
  get over(): boolean {
    return this.#over;
  }

  /** One more connection needs it; with `restored` it is told when it is done. */
  join(host: CredentialsHost, { restored }: { readonly restored: boolean }): void {
    if (this.#hosts.has(host)) return;
    const leave = () => {
      this.#hosts.delete(host);
      if (this.#hosts.size > 0) return;
      this.#over = true;
      this.#controller.abort(new Error("Nobody waits for the authorization any more."));
    };
    this.#hosts.set(host, { restored, leave });
    if (host.signal.aborted) leave();
    else host.signal.addEventListener("abort", leave);
  }

  #end(authorized: boolean): void {
    this.#over = true;
    for (const [host, { restored, leave }] of this.#hosts) {
      host.signal.removeEventListener("abort", leave);
      if (authorized && restored) host.restored();
    }
    this.#hosts.clear();
  }
}
