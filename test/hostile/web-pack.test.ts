import dns from "node:dns";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, vi } from "vitest";
import { failure } from "../support/failure.ts";
import { serve } from "../support/serve.ts";
import { verifies } from "../support/verifies.ts";
import { toolkitWith } from "../tool-packs/web-fixture.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a caller or page of the web pack", () => {
  verifies("W2", "reaches no private address, however it is written", async () => {
    let asked = 0;
    const origin = await serve((_, response) => {
      asked += 1;
      response.end("private");
    });
    const { port } = new URL(origin);
    const toolkit = toolkitWith({});
    const hosts = [
      "127.0.0.1",
      "localhost",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:10.0.0.1]",
      "2130706433",
      "0x7f.1",
      "0177.0.0.1",
      "127.1",
      "0.0.0.0",
      "10.0.0.1",
      "169.254.169.254",
      "[fe80::1]",
      "user:pass@127.0.0.1",
    ];
    for (const host of hosts) {
      const error = await failure(toolkit.call("http.fetch", { url: `http://${host}:${port}/` }));
      expect(error.code, host).toBe(host.includes("@") ? "INVALID_INPUT" : "DENIED");
    }
    expect(asked).toBe(0);
  });

  verifies("W2", "is not led to one by a redirect, or by a name", async () => {
    let asked = 0;
    const inner = await serve((_, response) => {
      asked += 1;
      response.end("private");
    });
    let location = inner;
    const origin = await serve((_, response) => response.writeHead(302, { location }).end());
    const toolkit = toolkitWith({ egress: { allow: [origin] } });
    for (location of [
      inner,
      inner.replace("127.0.0.1", "[::ffff:7f00:1]"),
      "http://[::ffff:10.0.0.1]/",
      "file:///etc/passwd",
    ]) {
      const error = await failure(toolkit.call("http.fetch", { url: origin }));
      expect(error.code, location).toMatch(/^(DENIED|UNAVAILABLE)$/);
      expect(error.message).not.toContain("root:");
    }
    expect(asked).toBe(0);
  });

  verifies("W2", "is not led to one by DNS that changes its answer", async () => {
    let asked = 0;
    const origin = await serve((_, response) => {
      asked += 1;
      response.end("private");
    });
    const lookup = vi.spyOn(dns, "lookup").mockImplementation(((
      _name: string,
      _options: object,
      callback: (error: null, found: object[]) => void,
    ) => {
      callback(null, [
        { address: "93.184.215.14", family: 4 },
        { address: "127.0.0.1", family: 4 },
      ]);
    }) as never);
    const error = await failure(
      toolkitWith({}).call("http.fetch", { url: `http://rebinding.example:${new URL(origin).port}/` }),
    );
    expect(error).toMatchObject({ code: "DENIED" });
    expect(lookup).toHaveBeenCalled();
    expect(asked).toBe(0);
  });

  verifies("W2", "ends at the limit of bytes, also of what is compressed, and at that of redirects", async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 2 ** 20));
    const origin = await serve(({ url }, response) => {
      if (url === "/bomb")
        response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" }).end(bomb);
      else if (url === "/endless") {
        response.setHeader("content-type", "text/plain");
        const more = () => {
          while (response.write("x".repeat(65_536)));
        };
        response.on("drain", more);
        more();
      } else response.writeHead(302, { location: "/again" }).end();
    });
    const toolkit = toolkitWith({ egress: { allow: [origin] }, maxBytes: 2 ** 20 });
    expect(await failure(toolkit.call("http.fetch", { url: `${origin}/bomb` }))).toMatchObject({
      code: "LIMIT_EXCEEDED",
    });
    expect(await failure(toolkit.call("http.fetch", { url: `${origin}/endless` }))).toMatchObject({
      code: "LIMIT_EXCEEDED",
    });
    expect((await failure(toolkit.call("http.fetch", { url: `${origin}/loop` }))).message).toContain("redirects");
  });

  verifies(
    "W2",
    "takes no longer for a page that is made to take long",
    async () => {
      const pages: Readonly<Record<string, string>> = {
        "/deep": "<div>".repeat(500_000),
        "/closing": `${"<b>".repeat(400)}${"</x>".repeat(500_000)}`,
        "/quotes": `${"<blockquote>".repeat(300)}${"<p>x".repeat(100_000)}`,
        "/lists": `${"<ul>".repeat(300)}${"<li>x".repeat(100_000)}`,
        "/open": `${"<a href='/'>".repeat(200_000)}`,
        "/attributes": `<p ${"a=1 ".repeat(500_000)}>end`,
        "/spaces": `<p>${" ".repeat(2_000_000)}x${"\n".repeat(1_000_000)}`,
        "/pre": `<pre>${" \n".repeat(10)}${" ".repeat(1_000_000)}x</pre>`,
        "/entities": "&amp;&#x41;&".repeat(300_000),
        "/unclosed": "<!--".repeat(500_000),
      };
      const origin = await serve(({ url = "" }, response) =>
        response.setHeader("content-type", "text/html").end(pages[url]),
      );
      const toolkit = toolkitWith({ egress: { allow: [origin] } });
      const outcomes: Record<string, string> = {};
      for (const path of Object.keys(pages)) {
        const outcome = toolkit.call("http.fetch", { url: origin + path });
        outcomes[path] = await outcome.then(
          () => "read",
          (error) => error.code,
        );
      }
      expect(outcomes).toEqual({
        "/deep": "LIMIT_EXCEEDED",
        "/closing": "read",
        "/quotes": "read",
        "/lists": "read",
        "/open": "read",
        "/attributes": "read",
        "/spaces": "read",
        "/pre": "read",
        "/entities": "read",
        "/unclosed": "read",
      });
    },
    60_000,
  );
});
