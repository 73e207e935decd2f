import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { httpPack } from "../../src/tool-packs/http/index.ts";
import { failure } from "../support/failure.ts";
import { serve } from "../support/serve.ts";
import { verifies } from "../support/verifies.ts";
import { toolkitWith } from "./web-fixture.ts";

const page = `<!doctype html><html><head><title>T</title><style>p{}</style><script>alert(1)</script></head><body>
<nav hidden>menu</nav><h1>The <em>title</em></h1><p>One &amp; two
 three <a href="/x?y=(1)">link</a> <a href="javascript:alert(1)">no link</a>.<br>next</p>
<ul><li>a<ol><li>b</li><li><code>c</code></li></ol></li><li>d</li></ul>
<blockquote><p>said</p></blockquote><pre><code>let a  = 1;
  let b;</code></pre>
<table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td><b>2</b></td></tr></table><p>after <img src="i.png" alt="pic"></p><hr></body></html>`;

describe("the web pack", () => {
  verifies("W2", "gives a page as Markdown", async () => {
    const origin = await serve((_, response) =>
      response.setHeader("content-type", "text/html; charset=utf-8").end(page),
    );
    const toolkit = toolkitWith({ egress: { allow: [origin] } });
    const content = await toolkit.call("http.fetch", { url: `${origin}/dir/page` });
    expect(content.mediaType).toBe("text/markdown");
    expect((await content.text()).replaceAll(origin, "")).toBe(
      [
        "# The *title*",
        "",
        "One & two three [link](/x?y=%281%29) no link.",
        "next",
        "",
        "- a",
        "",
        "  1. b",
        "  2. `c`",
        "",
        "- d",
        "",
        "> said",
        "",
        "```",
        "let a  = 1;",
        "  let b;",
        "```",
        "",
        "| k | v |",
        "| --- | --- |",
        "| 1 | **2** |",
        "",
        "after ![pic](/dir/i.png)",
        "",
        "---",
        "",
      ].join("\n"),
    );
    expect(await (await toolkit.call("http.fetch", { url: origin, raw: true })).text()).toBe(page);
  });

  verifies("W2", "gives other text as it is, in parts, and an image as a file", async () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    const origin = await serve(({ url }, response) => {
      if (url === "/image") response.end(png);
      else if (url === "/zip") response.setHeader("content-type", "application/zip").end("PK\u0003\u0004 and more");
      else if (url === "/gz")
        response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" }).end(gzipSync("unzipped"));
      else response.setHeader("content-type", "application/json").end('{"a":[1,2,3]}');
    });
    const toolkit = toolkitWith({ egress: { allow: [origin] } });
    const parts = (await toolkit.call("http.fetch", { url: origin, from: 2, length: 3 })).parts ?? [];
    expect(await Promise.all(parts.map((part) => part.text()))).toEqual([
      'a":',
      "[Characters 2 to 5 of 13. Go on with from: 5.]",
    ]);
    expect((await toolkit.call("http.fetch", { url: `${origin}/image` })).mediaType).toBe("image/png");
    expect(await (await toolkit.call("http.fetch", { url: `${origin}/gz` })).text()).toBe("unzipped");
    expect(await failure(toolkit.call("http.fetch", { url: `${origin}/zip` }))).toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  verifies("W2", "keeps to its lists of hosts, also where a redirect leads", async () => {
    const origin = await serve(({ url }, response) => {
      if (url === "/away") response.writeHead(302, { location: `http://localhost:${new URL(origin).port}/` }).end();
      else response.end("here");
    });
    const local = origin.replace("127.0.0.1", "localhost");
    const egress = { allow: [origin, local] };
    const open = toolkitWith({ egress });
    expect(await (await open.call("http.fetch", { url: `${origin}/away` })).text()).toBe("here");
    for (const lists of [{ allow: ["127.0.0.*"] }, { deny: ["LOCAL*"] }]) {
      const toolkit = toolkitWith({ egress, ...lists });
      expect(await (await toolkit.call("http.fetch", { url: origin })).text()).toBe("here");
      const error = await failure(toolkit.call("http.fetch", { url: `${origin}/away` }));
      expect(error).toMatchObject({ code: "DENIED", message: expect.stringContaining("on the list") });
    }
  });

  verifies("W2", "says what a server answered", async () => {
    const origin = await serve((_, response) => response.writeHead(404).end("gone"));
    const toolkit = toolkitWith({ egress: { allow: [origin] } });
    expect(await failure(toolkit.call("http.fetch", { url: `${origin}/x` }))).toMatchObject({ code: "NOT_FOUND" });
    expect(await failure(toolkit.call("http.fetch", { url: "ftp://example.com" }))).toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  test("says which option is wrong", () => {
    expect(() => httpPack({ allow: ["https://example.com/x"] })).toThrow(/allow\[0\] of the web pack/);
    expect(() => httpPack({ maxBytes: 0 })).toThrow(/maxBytes/);
    expect(() => httpPack({ egres: {} } as never)).toThrow(/egress/);
  });
});
