import type { HttpAuth } from "../../../src/core/http-auth.ts";
import { EgressPolicy } from "../../../src/lib/fetch/egress-policy.ts";
import { guardedFetch } from "../../../src/lib/fetch/guarded-fetch.ts";
import { clientCredentials, oauth } from "../../../src/mcp/index.ts";
import { metadataOf } from "../evil-authority.ts";
import type { HostileArea } from "./area.ts";

const server = "https://mcp.example/mcp";
const issuer = "https://auth.example";

/** Authorization servers that answer anything, to a service that authorizes itself or asks a person. */
export const oauthFuzz: HostileArea = {
  name: "oauth",
  *cases(random) {
    for (let index = 0; ; index += 1) {
      const answers = new Map(paths.map(([path, good]) => [path, answerFor(random, good)]));
      const challenge = pick(random, challenges)(random);
      const auth = random() < 0.5 ? service : withPerson(random);
      yield { describe: `${index} ${challenge.slice(0, 80)}`, run: () => attack(auth, answers, challenge) };
    }
  },
};

const service = clientCredentials({ client: { id: "me", issuer, secret: "client-s3cret" } });

/** A person who comes back with anything, or goes away. */
function withPerson(random: () => number): HttpAuth {
  const parameters = ["code", "state", "iss", "error"].filter(() => random() < 0.7);
  return oauth({
    authorizationTimeoutMs: 50,
    async open(page) {
      const callback = new URL(page.searchParams.get("redirect_uri") ?? "");
      for (const name of parameters) {
        const value = name === "state" && random() < 0.9 ? page.searchParams.get("state") : pick(random, texts)(random);
        callback.searchParams.append(name, (value ?? "").slice(0, 4_000));
      }
      await (await fetch(callback, { headers: { connection: "close" } })).text();
    },
  });
}

async function attack(auth: HttpAuth, answers: ReadonlyMap<string, () => Response>, challenge: string): Promise<void> {
  const fake: typeof fetch = async (input) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    return answers.get(pathname)?.() ?? new Response(null, { status: 404 });
  };
  const send = guardedFetch(fake, EgressPolicy.strict);
  const url = new URL(server);
  const credentials = auth.open({ url, label: server, fetch: send, conceal: () => {} });
  const over = new AbortController();
  const host = { signal: over.signal, waits: () => true, restored: () => {} };
  const refusal = { status: 401, challenge, authorization: undefined } as const;
  try {
    await credentials.refused(refusal, { signal: AbortSignal.timeout(10_000), host });
    await credentials.authorization({ signal: AbortSignal.timeout(10_000) });
  } finally {
    over.abort();
  }
}

const paths: readonly (readonly [path: string, good: Readonly<Record<string, unknown>>])[] = [
  ["/.well-known/oauth-protected-resource/mcp", { resource: server, authorization_servers: [issuer] }],
  ["/.well-known/oauth-authorization-server", { ...metadataOf(issuer), scopes_supported: ["a"] }],
  ["/register", { client_id: "c", redirect_uris: ["http://127.0.0.1/callback"] }],
  ["/token", { access_token: "t", token_type: "Bearer", expires_in: 60, scope: "a", refresh_token: "r" }],
];

function answerFor(random: () => number, good: Readonly<Record<string, unknown>>): () => Response {
  const kind = random();
  const status = random() < 0.7 ? 200 : pick(random, [201, 204, 302, 307, 400, 401, 404, 429, 500, 503]);
  const headers = {
    "content-type": "application/json",
    location: status < 400 ? pick(random, texts)(random).slice(0, 200) : "",
  };
  const body =
    kind < 0.6 ? JSON.stringify(broken(random, good)) : kind < 0.8 ? pick(random, texts)(random) : nested(random);
  const safe = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replace(/[^\x20-\x7e]/g, "")]),
  );
  return () => new Response(status === 204 ? null : body, { status, headers: safe });
}

/** The good answer with one to three fields that are something else. */
function broken(random: () => number, good: Readonly<Record<string, unknown>>): unknown {
  const fields: Record<string, unknown> = { ...good };
  for (let count = Math.floor(random() * 4); count > 0; count -= 1) {
    const name = random() < 0.8 ? pick(random, Object.keys(good)) : pick(random, texts)(random).slice(0, 50);
    fields[name] = pick(random, values)(random);
  }
  return fields;
}

function nested(random: () => number): string {
  const depth = Math.floor(random() * 200_000);
  return pick(random, ["[", '{"a":']).repeat(depth) + pick(random, ["", "]".repeat(depth), "}".repeat(depth)]);
}

const texts: readonly ((random: () => number) => string)[] = [
  () => "",
  () => "https://auth.example/",
  () => "http://169.254.169.254/latest",
  () => "https://[::ffff:127.0.0.1]/x",
  () => "javascript:alert(1)",
  () => "\u0000\u202e\ud800 \r\n",
  (random) => "https://".padEnd(Math.floor(random() * 100_000), "a/"),
  (random) => "scope=".repeat(Math.floor(random() * 20_000)),
  (random) => " ".repeat(Math.floor(random() * 1_048_576)),
  (random) => "%".repeat(Math.floor(random() * 60_000)),
];

const values: readonly ((random: () => number) => unknown)[] = [
  (random) => pick(random, texts)(random),
  (random) => Array.from({ length: Math.floor(random() * 40_000) }, () => 1),
  (random) => Array.from({ length: Math.floor(random() * 20_000) }, (_, index) => `s${index}`),
  (random) =>
    Object.fromEntries(Array.from({ length: Math.floor(random() * 5_000) }, (_, index) => [`k${index}`, index])),
  () => null,
  () => -1,
  () => 1e308,
  () => true,
  () => undefined,
];

const challenges: readonly ((random: () => number) => string)[] = [
  () => "Bearer",
  (random) => `Bearer resource_metadata="${pick(random, texts)(random).slice(0, 8_000)}", scope="a`,
  (random) => `Bearer ${'scope="'.repeat(Math.floor(random() * 2_000))}`,
  (random) => `Bearer scope="${"a ".repeat(Math.floor(random() * 6_000))}"`,
  (random) => `${pick(random, texts)(random).slice(0, 16_000)} x`,
];

function pick<T>(random: () => number, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}
