import dns from "node:dns";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import { EgressPolicy } from "../../src/lib/fetch/egress-policy.ts";
import { guardedFetch } from "../../src/lib/fetch/guarded-fetch.ts";
import { addressKind, parseIp } from "../../src/lib/fetch/ip-address.ts";
import { nodeFetch } from "../../src/lib/fetch/node-fetch.ts";
import { parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { failure, rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const open = closedAfterEach();
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** A service that strangers must not reach: it counts who did. */
async function victim(handler: RequestListener = (_request, response) => void response.end("s3cret")) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? "");
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { port, origin: `http://127.0.0.1:${port}`, seen };
}

/** Names of this test, each with the addresses it has at each time it is looked up. */
function names(known: Readonly<Record<string, readonly (readonly string[])[]>>): Record<string, number> {
  const asked: Record<string, number> = {};
  vi.spyOn(dns, "lookup").mockImplementation(((
    host: string,
    options: object,
    callback: (...args: unknown[]) => void,
  ) => {
    const time = asked[host] ?? 0;
    asked[host] = time + 1;
    const answers = known[host] ?? [[host]];
    const addresses = (answers[time] ?? answers.at(-1) ?? []).map((address) => ({
      address,
      family: address.includes(":") ? 6 : 4,
    }));
    if ((options as dns.LookupOptions).all === true) callback(null, addresses);
    else callback(null, addresses[0]?.address, addresses[0]?.family);
  }) as never);
  return asked;
}

const read = (url: string, allow: readonly string[] = []) => failure(resource.read(url, { egress: { allow } }));

describe("an address that strangers must not choose", () => {
  const kinds: readonly (readonly [host: string, kind: string])[] = [
    ["127.0.0.1", "loopback"],
    ["127.8.9.1", "loopback"],
    ["2130706433", "loopback"],
    ["0x7f.1", "loopback"],
    ["0177.0.0.1", "loopback"],
    ["127.0.0.1.", "loopback"],
    ["localhost", "loopback"],
    ["a.LOCALHOST.", "loopback"],
    ["[::1]", "loopback"],
    ["[0:0:0:0:0:0:0:1]", "loopback"],
    ["0.0.0.0", "unspecified"],
    ["[::]", "unspecified"],
    ["10.1.2.3", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.0.1", "private"],
    ["[fc00::1]", "private"],
    ["[fdff::1]", "private"],
    ["[fec0::1]", "private"],
    ["100.64.0.1", "shared (CGNAT)"],
    ["169.254.1.1", "link-local"],
    ["[fe80::1]", "link-local"],
    ["169.254.169.254", "cloud metadata"],
    ["[fd00:ec2::254]", "cloud metadata"],
    ["224.0.0.1", "multicast"],
    ["[ff02::1]", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "reserved"],
    ["192.0.0.8", "reserved"],
    ["198.18.0.1", "reserved"],
    ["[2001:db8::1]", "reserved"],
    ["[64:ff9b:1::1]", "reserved"],
    // IPv4 addresses in IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP.
    ["[::ffff:127.0.0.1]", "loopback"],
    ["[::ffff:7f00:1]", "loopback"],
    ["[::ffff:10.0.0.1]", "private"],
    ["[::127.0.0.1]", "reserved"],
    ["[::ffff:0:127.0.0.1]", "reserved"],
    ["[64:ff9b::169.254.169.254]", "cloud metadata"],
    ["[64:ff9b::a00:1]", "private"],
    ["[2002:7f00:1::]", "loopback"],
    ["[2001:0:7f00:1::]", "loopback"],
    ["[2001:4860::5efe:10.0.0.1]", "private"],
  ];

  verifies("H5", "is refused in each way to write it, before a byte is sent", async () => {
    for (const [host, kind] of kinds) {
      const error = await read(`http://${host}:9/latest?token=s3cret`);
      expect(error, host).toMatchObject({ code: "DENIED", details: { rule: "egress" } });
      expect(error.message, host).toContain(`${kind} address`);
      expect(inspect(error), host).not.toContain("s3cret");
    }
  });

  test("public ones are none, whatever their family", () => {
    for (const address of ["8.8.8.8", "172.32.0.1", "2606:4700::1", "64:ff9b::8.8.8.8", "2002:808:808::"]) {
      const parsed = parseIp(address);
      expect(parsed && addressKind(parsed), address).toBe("public");
    }
  });

  verifies("H5", "is reached where its origin or its block is named, and no other origin with it", async () => {
    const { origin, port, seen } = await victim();
    expect(await (await resource.read(origin, { egress: { allow: [origin] } })).text()).toBe("s3cret");
    expect(await (await resource.read(origin, { egress: { allow: ["127.0.0.0/8"] } })).text()).toBe("s3cret");
    const another = `http://127.0.0.1:${port + 1}`;
    for (const allow of [another, `https://127.0.0.1:${port}`, `http://localhost:${port}`, "128.0.0.0/8", "::1/128"]) {
      expect((await read(origin, [allow])).code, allow).toBe("DENIED");
    }
    expect(seen).toHaveLength(2);
  });

  verifies("H5", "egress that is no list of origins and blocks is INVALID_CONFIG, naming the entry", async () => {
    for (const entry of [
      "10.0.0.1/8",
      "10.0.0.0/33",
      "http://a.example/path",
      "ftp://a.example",
      "*",
      "",
      5,
      "http://u@a",
    ]) {
      const allow = ["10.0.0.0/8", entry as string];
      expect(await read("http://10.0.0.1", allow)).toMatchObject({
        code: "INVALID_CONFIG",
        details: { path: "egress.allow[1]" },
      });
      expect(() => new Toolkit({ egress: { allow } })).toThrow(/egress\.allow\[1\]/);
    }
  });
});

describe("a name", () => {
  verifies("H5", "that leads to such an address is refused when the socket connects", async () => {
    const { port, seen } = await victim();
    names({
      "cdn.example": [["127.0.0.1"]],
      "six.example": [["::ffff:127.0.0.1"]],
      "two.example": [["93.184.216.34", "127.0.0.1"]],
    });
    for (const host of ["cdn.example", "six.example", "two.example"]) {
      const error = await read(`http://${host}:${port}/`);
      expect(error, host).toMatchObject({ code: "DENIED" });
      expect(error.message).toContain("its name leads to a loopback address");
    }
    expect(seen).toEqual([]);
  });

  verifies(
    "H5",
    "whose address changes between a check and the connection gains nothing: it is looked up once",
    async () => {
      const { port, seen } = await victim();
      // Allowed where a check before the connection would look, and refused from then on.
      const asked = names({ "rebind.example": [["127.0.0.2"], ["127.0.0.1"]] });
      const error = await read(`http://rebind.example:${port}/`, ["127.0.0.2/32"]);
      expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("127.0.0.2") });
      expect(asked).toEqual({ "rebind.example": 1 });
      expect(seen).toEqual([]);
    },
  );

  verifies("H5", "of an allowed connection is no way in for a policy that refuses it", async () => {
    const { port, seen } = await victim();
    names({ "shared.example": [["127.0.0.1"]] });
    const base = nodeFetch();
    const url = `http://shared.example:${port}/`;
    const lenient = guardedFetch(base, EgressPolicy.strict.allowing(`http://shared.example:${port}`));
    expect(await (await lenient(url)).text()).toBe("s3cret");
    // The connection is kept, and is not used again.
    await expect(guardedFetch(base, EgressPolicy.strict)(url)).rejects.toThrow(/loopback/);
    expect(seen).toHaveLength(1);
  });
});

describe("a redirect", () => {
  verifies("H5", "is judged at each hop, by the address too", async () => {
    const { origin, port, seen } = await victim();
    names({ "inside.example": [["127.0.0.1"]] });
    const targets = [
      `${origin}/a`,
      `http://localhost:${port}/b`,
      `http://inside.example:${port}/c`,
      "http://169.254.169.254/d",
    ];
    for (const target of targets) {
      const hop = await victim((_request, response) => void response.writeHead(302, { location: target }).end());
      const first = await victim((_request, response) => void response.writeHead(307, { location: hop.origin }).end());
      const error = await read(first.origin, [first.origin, hop.origin]);
      expect(error, target).toMatchObject({ code: "DENIED" });
      expect(hop.seen).toHaveLength(1);
    }
    expect(seen).toEqual([]);
  });

  verifies("H5", "that goes round ends after five", async () => {
    const round = await victim((_request, response) => void response.writeHead(302, { location: "/" }).end());
    const error = await read(round.origin, [round.origin]);
    expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("more than 5 redirects") });
    expect(round.seen).toHaveLength(6);
  });
});

verifies("H5", "a fetch that is not ours is judged by the URL, at each hop", async () => {
  const { origin, seen } = await victim();
  const hop = await victim((_request, response) => void response.writeHead(302, { location: origin }).end());
  const send = guardedFetch((input, init) => globalThis.fetch(input, init), EgressPolicy.strict.allowing(hop.origin));
  for (const url of [origin, hop.origin]) await expect(send(url)).rejects.toThrow(/loopback address/);
  expect(seen).toEqual([]);
});

verifies("H5", "behind a proxy the written address is judged, and the proxy decides names", async () => {
  const { origin, seen } = await victim();
  const proxy = await victim((_request, response) => void response.end("from the proxy"));
  vi.stubEnv("NODE_USE_ENV_PROXY", "1");
  vi.stubEnv("http_proxy", proxy.origin);
  vi.stubEnv("no_proxy", "");
  const asked = names({ "named.example": [["127.0.0.1"]] });
  const send = guardedFetch(nodeFetch(), EgressPolicy.strict);
  for (const url of [origin, "http://10.0.0.1/", "http://[::ffff:10.0.0.1]/"])
    await expect(send(url), url).rejects.toThrow(/address/);
  expect(await (await send("http://named.example/")).text()).toBe("from the proxy");
  expect(asked["named.example"]).toBeUndefined();
  expect(seen).toEqual([]);
  expect(proxy.seen).toHaveLength(1);
});

verifies("H5", "an answer that is no HTTP is not quoted", async () => {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {}).resume();
    socket.end("220 s3cret-banner ready\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => new Promise((resolve) => server.close(resolve)));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const error = await read(origin, [origin]);
  expect(error.code).toBe("UNAVAILABLE");
  expect(inspect(error, { depth: 12 })).not.toContain("s3cret-banner");
});

describe("{{media}}", () => {
  const shown = (text: string) => parsePrompt(text, { filename: "prompts/show.prompt" });

  verifies("H5", "fetches no URL from the input, however it gets there", async () => {
    const { origin, seen } = await victim();
    const templates = [
      "{{media url=x}}",
      "{{#with this}}{{media url=x}}{{/with}}",
      "{{#each list}}{{media url=this}}{{/each}}",
      '{{media contentType="image/png" url=x}}',
      '{{media url=(default "https://example.com/" x)}}',
      "{{media url=(trim x)}}",
    ];
    for (const text of templates) {
      const toolkit = new Toolkit({ egress: { allow: [origin] }, items: [shown(text)] });
      open.push(() => toolkit.close());
      const error = await failure(toolkit.render("show", { x: origin, list: [origin] }));
      expect(error, text).toMatchObject({
        code: "INVALID_INPUT",
        message: expect.stringContaining("a URL from the input, which is not fetched"),
      });
    }
    expect(seen).toEqual([]);
  });

  verifies("H5", "fetches a written URL, and with mediaFromInput any, where the policy lets it", async () => {
    const { origin, seen } = await victim();
    const rendered = async (egress: object, text: string, input: object = {}) => {
      const toolkit = new Toolkit({ egress, items: [shown(text)] });
      open.push(() => toolkit.close());
      const { messages } = await toolkit.render("show", input);
      return messages[0]?.content[0]?.bytes();
    };
    const literal = `{{media url="${origin}"}}`;
    expect(await rejection(rendered({}, literal))).toMatchObject({ code: "DENIED" });
    expect(await rejection(rendered({ mediaFromInput: true }, "{{media url=x}}", { x: origin }))).toMatchObject({
      code: "DENIED",
    });
    expect(seen).toEqual([]);
    expect(Buffer.from((await rendered({ allow: [origin] }, literal)) ?? "").toString()).toBe("s3cret");
    const any = { allow: [origin], mediaFromInput: true };
    expect(Buffer.from((await rendered(any, "{{media url=x}}", { x: origin })) ?? "").toString()).toBe("s3cret");
  });

  verifies("H5", "fetches 32 MiB and 100 files for one rendering at most", async () => {
    const zipped = gzipSync(Buffer.alloc(12 * 1024 * 1024, "a"));
    let held = 0;
    let most = 0;
    const { origin, seen } = await victim((_request, response) => {
      most = Math.max(most, ++held);
      response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
      // Held for a moment, so that requests which are sent together are counted together.
      setTimeout(() => response.end(zipped, () => held--), 5);
    });
    const rendered = async (count: number) => {
      const toolkit = new Toolkit({
        egress: { allow: [origin] },
        items: [shown(`{{media url="${origin}"}}\n`.repeat(count))],
      });
      open.push(() => toolkit.close());
      return (await toolkit.render("show", {})).messages.flatMap(({ content }) => content);
    };
    const [first, ...others] = await rendered(8);
    const results = await Promise.allSettled([first, first, ...others].map((file) => file?.bytes()));
    // Read twice, it counts once.
    expect(results.map(({ status }) => status)).toEqual([...Array(3).fill("fulfilled"), ...Array(6).fill("rejected")]);
    expect(results.at(-1)).toMatchObject({ reason: { code: "LIMIT_EXCEEDED", details: { limit: "media bytes" } } });
    expect(most).toBe(1);
    const before = seen.length;
    expect(await rejection(rendered(101))).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "media files" } });
    expect(seen).toHaveLength(before);
    // One that waits for its turn is aborted at once.
    const [one, two] = await rendered(2);
    const reading = one?.bytes();
    const reason = new Error("enough");
    expect(await rejection(two?.bytes({ signal: AbortSignal.abort(reason) }) ?? Promise.resolve())).toBe(reason);
    expect((await reading)?.length).toBe(12 * 1024 * 1024);
    expect((await two?.bytes())?.length).toBe(12 * 1024 * 1024);
  });
});
