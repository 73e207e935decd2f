/** `Retry-After` in milliseconds: seconds or a date (RFC 9110, section 10.2.3). */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+(?:\.\d+)?\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

interface Failure {
  readonly message?: string;
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
}

const downCodes: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** True where no connection came about, so that nothing was sent. */
export function isDown(error: unknown): boolean {
  return causesOf(error).some(
    ({ code, syscall }) => downCodes.has(code) || (code === "ETIMEDOUT" && syscall === "connect"),
  );
}

/** The reason in an error of `fetch`, whose own message has none. */
export function reasonOf(error: unknown): string {
  const all = causesOf(error);
  return all.findLast(({ message }) => message !== undefined && message !== "")?.message ?? String(error);
}

// fetch hides the reason behind "fetch failed", and Node joins the attempts on several addresses.
function causesOf(error: unknown): readonly Failure[] {
  const found = [];
  let at = error as Failure | undefined;
  while (typeof at === "object" && at !== null && found.length < 8) {
    found.push(at);
    at = (at.cause ?? at.errors?.[0]) as typeof at;
  }
  return found;
}
