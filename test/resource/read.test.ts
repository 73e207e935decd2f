import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resource } from "../../src/resource/resource-factory.ts";
import { verifies } from "../support/verifies.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "resource-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe("a file", () => {
  verifies("R1", "is at its file: URL under its base name, by path or URL, absolute or relative", async () => {
    const path = await file("my notes.v2.md", "# Notes");
    const uri = pathToFileURL(path).href;
    for (const source of [path, relative(process.cwd(), path), uri, new URL(uri)]) {
      const content = await resource.read(source);
      expect(content).toMatchObject({ name: "my notes.v2", uri, mediaType: "text/markdown", size: 7 });
      expect(await content.text()).toBe("# Notes");
    }
  });

  const byExtension: readonly (readonly [string, string | Uint8Array, string])[] = [
    ["a.txt", "text", "text/plain"],
    ["a.csv", "a,b", "text/csv"],
    ["a.json", '{"a":1}', "application/json"],
    ["a.yaml", "a: 1", "application/yaml"],
    ["a.html", "<p>", "text/html"],
    ["a.xml", '<?xml version="1.0"?><a/>', "application/xml"],
    ["a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"],
    ["b.svg", '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
    ["a.css", "a{}", "text/css"],
    ["a.js", "1", "text/javascript"],
    ["a.ts", "1", "text/x-typescript"],
    ["A.MD", "x", "text/markdown"],
    ["a.png", png, "image/png"],
    ["wrong.txt", png, "image/png"],
    ["wrong.json", Buffer.from("%PDF-1.7\n"), "application/pdf"],
    ["README", "words", "text/plain"],
    ["odd.xyz", "words", "text/plain"],
    ["odd.bin", new Uint8Array([1, 2, 3]), "application/octet-stream"],
    ["empty", "", "text/plain"],
    ["empty.json", "", "application/json"],
  ];
  for (const [name, content, mediaType] of byExtension) {
    verifies("R2", `${name} is ${mediaType}`, async () => {
      const path = await file(name, content);
      const loaded = await resource.read(path);
      expect(loaded.mediaType).toBe(mediaType);
      expect(Buffer.from(await loaded.bytes()).equals(Buffer.from(content))).toBe(true);
    });
  }

  verifies("R1", "takes a name, an identifier, and a media type with its charset", async () => {
    const path = await file("latin.dat", Buffer.from("café", "latin1"));
    const content = await resource.read(path, { name: "cafe", mediaType: "text/x-log; charset=iso-8859-1" });
    expect(content).toMatchObject({ name: "cafe", mediaType: "text/x-log", size: 5 });
    expect(await content.text()).toBe("café");
    await expect(resource.read(path, { name: "a b" })).rejects.toMatchObject({ code: "INVALID_NAME" });
  });

  verifies("R1", "that is missing is NOT_FOUND with its path", async () => {
    const path = join(folder, "missing.md");
    await expect(resource.read(path)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining(path),
      details: { key: path },
      cause: expect.objectContaining({ code: "ENOENT" }),
    });
    const under = join(await file("plain", "x"), "below");
    await expect(resource.read(under)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  verifies("R1", "that is a folder, or a URL that is no file, is INVALID_INPUT", async () => {
    await mkdir(join(folder, "sub"));
    await expect(resource.read(join(folder, "sub"))).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringContaining("folder"),
    });
    for (const source of ["ftp://example.org/a", "file://elsewhere/a", "http://", 7 as never, {} as never]) {
      await expect(resource.read(source)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
  });

  test("is shown in the error without user name, password and query", async () => {
    const error = await resource.read("ftp://anna:geheim@example.org/a?token=geheim#geheim").catch((caught) => caught);
    expect(error.message).toContain("ftp://example.org/a cannot be read");
    expect(JSON.stringify(error) + error.message).not.toMatch(/geheim|anna/);
  });

  test("beyond maxBytes is LIMIT_EXCEEDED, before it is read; at the limit it is not", async () => {
    const path = join(folder, "big.bin");
    const handle = await open(path, "w");
    await handle.truncate(200 * 1024 * 1024);
    await handle.close();
    await expect(resource.read(path)).rejects.toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: expect.stringContaining("maxBytes"),
      details: { limit: "maxBytes", max: 104_857_600, actual: 209_715_200 },
    });
    const small = await file("small.txt", "12345");
    await expect(resource.read(small, { maxBytes: 4 })).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect((await resource.read(small, { maxBytes: 5 })).size).toBe(5);
    expect((await resource.read(small, { maxBytes: Number.POSITIVE_INFINITY })).size).toBe(5);
    for (const maxBytes of [-1, 1.5, Number.NaN]) {
      await expect(resource.read(small, { maxBytes })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
  });

  verifies("C6", "an aborted signal rejects with its reason", async () => {
    const path = await file("abort.txt", "x".repeat(1_000_000));
    const signal = AbortSignal.abort(new Error("stop"));
    await expect(resource.read(path, { signal })).rejects.toBe(signal.reason);
    const controller = new AbortController();
    const reading = resource.read(path, { signal: controller.signal });
    controller.abort(new Error("later"));
    await expect(reading).rejects.toBe(controller.signal.reason);
  });
});

describe("a URL", () => {
  // The servers of these tests are on this machine.
  const read: typeof resource.read = (source, options) =>
    resource.read(source, { egress: { allow: ["127.0.0.0/8"] }, ...options });
  async function serving(listener: RequestListener, use: (origin: string) => Promise<void>) {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }
  const answer =
    (body: string | Uint8Array, type?: string): RequestListener =>
    (_, response) => {
      if (type !== undefined) response.setHeader("content-type", type);
      response.end(body);
    };

  verifies(["R1", "R2"], "is fetched: its URI is itself, its name the last segment, its text UTF-8", async () => {
    await serving(answer(Buffer.from("<p>“café”", "latin1"), "text/html; charset=windows-1252"), async (origin) => {
      const content = await read(`${origin}/docs/the%20page.html?x=1`);
      expect(content).toMatchObject({ name: "the page", uri: `${origin}/docs/the%20page.html?x=1` });
      expect(content.mediaType).toBe("text/html");
      expect(await content.text()).toContain("café");
      expect((await read(new URL(origin))).name).toBe("127.0.0.1");
      expect((await read(origin, { name: "page" })).name).toBe("page");
    });
  });

  const types: readonly (readonly [string, string | undefined, string | Uint8Array, string])[] = [
    ["/a.png", "text/plain", png, "image/png"],
    ["/a.md", "text/plain; charset=utf-8", "# A", "text/markdown"],
    ["/a.md", "application/octet-stream", "# A", "text/markdown"],
    ["/a.md", undefined, "# A", "text/markdown"],
    ["/a", "application/json; charset=utf-8", "{}", "application/json"],
    ["/a", "application/vnd.api+json", "{}", "application/vnd.api+json"],
    ["/a", undefined, "words", "text/plain"],
    ["/a", "image/svg+xml", '<?xml version="1.0"?><svg/>', "image/svg+xml"],
  ];
  for (const [path, declared, body, mediaType] of types) {
    verifies("R2", `${path} sent as ${declared} is ${mediaType}`, async () => {
      await serving(answer(body, declared), async (origin) => {
        expect((await read(origin + path)).mediaType).toBe(mediaType);
      });
    });
  }

  test("a redirect is followed, and the URI stays the one that was asked for", async () => {
    const listener: RequestListener = (request, response) => {
      if (request.url === "/old") response.writeHead(302, { location: "/new" }).end();
      else response.end("here");
    };
    await serving(listener, async (origin) => {
      const content = await read(`${origin}/old`);
      expect(await content.text()).toBe("here");
      expect(content.uri).toBe(`${origin}/old`);
    });
  });

  verifies("R1", "each failure has its code, and no query is quoted", async () => {
    const listener: RequestListener = (request, response) => {
      response.writeHead(Number(request.url?.slice(1, 4))).end("no");
    };
    await serving(listener, async (origin) => {
      for (const [status, code] of [
        [404, "NOT_FOUND"],
        [410, "NOT_FOUND"],
        [401, "UNAUTHORIZED"],
        [403, "UNAUTHORIZED"],
        [500, "REMOTE_ERROR"],
      ] as const) {
        const error = await read(`${origin}/${status}?token=secret`).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code, message: expect.stringContaining(String(status)) });
        expect(JSON.stringify(error)).not.toContain("secret");
      }
    });
    let closed = "";
    await serving(answer("x"), async (origin) => {
      closed = origin;
    });
    const refused = await read(`${closed}/a?token=secret`).catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("ECONNREFUSED") });
    expect(JSON.stringify(refused)).not.toContain("secret");
    const error = await read("http://me:secret@127.0.0.1/").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "INVALID_INPUT" });
    expect(JSON.stringify(error)).not.toContain("secret");
  });

  test("a body beyond maxBytes is LIMIT_EXCEEDED, announced or not", async () => {
    await serving(answer("x".repeat(100)), async (origin) => {
      await expect(read(origin, { maxBytes: 10 })).rejects.toMatchObject({
        code: "LIMIT_EXCEEDED",
        details: { max: 10, actual: 100 },
      });
    });
    let closed: Promise<void> | undefined;
    const endless: RequestListener = (_, response) => {
      const timer = setInterval(() => response.write("x".repeat(1000)), 1);
      closed = new Promise((resolve) => {
        response.on("close", () => {
          clearInterval(timer);
          resolve();
        });
      });
    };
    await serving(endless, async (origin) => {
      await expect(read(origin, { maxBytes: 10_000 })).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
      await closed;
    });
  });

  test("a connection that breaks in the middle of the body is UNAVAILABLE", async () => {
    const listener: RequestListener = (_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("some", () => response.destroy());
    };
    await serving(listener, async (origin) => {
      await expect(read(origin)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });
  });

  verifies("C6", "an abort rejects with its reason, before the answer and in its middle", async () => {
    const controller = new AbortController();
    const silent: RequestListener = () => controller.abort(new Error("no answer"));
    await serving(silent, async (origin) => {
      await expect(read(origin, { signal: controller.signal })).rejects.toThrow(/^no answer$/);
    });
    const later = new AbortController();
    const slow: RequestListener = (_, response) => {
      response.write("begun", () => setImmediate(() => later.abort(new Error("too slow"))));
    };
    await serving(slow, async (origin) => {
      await expect(read(origin, { signal: later.signal })).rejects.toThrow(/^too slow$/);
    });
  });

  test("a data: URL is read too", async () => {
    const content = await read("data:text/html,%3Cp%3E");
    expect(content).toMatchObject({ name: "data", mediaType: "text/html" });
    expect(await content.text()).toBe("<p>");
  });
});

describe("a Blob or stream", () => {
  verifies("R1", "a File goes by its name and type, a Blob by its type or content", async () => {
    const content = await resource.read(new File(["# A"], "my plan.md"));
    expect(content).toMatchObject({ name: "my plan", uri: "data:my%20plan", mediaType: "text/markdown" });
    expect(await resource.read(new Blob(["{}"], { type: "application/json" }))).toMatchObject({
      name: "blob",
      uri: "data:blob",
      mediaType: "application/json",
    });
    expect(await resource.read(new Blob([png]), { name: "dot" })).toMatchObject({
      name: "dot",
      mediaType: "image/png",
    });
    await expect(resource.read(new Blob(["12345"]), { maxBytes: 4 })).rejects.toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { actual: 5 },
    });
  });

  verifies("R1", "streams of the web, of Node and async iterables are read whole", async () => {
    const path = await file("streamed.txt", "one two");
    const sources = [
      new Blob(["one two"]).stream(),
      createReadStream(path),
      createReadStream(path, "utf8"),
      Readable.from([Buffer.from("one "), "two"]),
      (async function* () {
        yield "one ";
        yield Buffer.from("two");
      })(),
    ];
    for (const source of sources) {
      const content = await resource.read(source);
      expect(content).toMatchObject({ name: "stream", uri: "data:stream", mediaType: "text/plain", size: 7 });
      expect(await content.text()).toBe("one two");
    }
    const split = Buffer.from("é");
    expect(await (await resource.read(Readable.from([split.subarray(0, 1), split.subarray(1)]))).text()).toBe("é");
  });

  test("a stream that fails rejects with its error, one of objects is INVALID_INPUT", async () => {
    const error = new Error("broken pipe");
    const broken = new Readable({
      read() {
        this.destroy(error);
      },
    });
    await expect(resource.read(broken)).rejects.toBe(error);
    const objects = Readable.from([{ a: 1 }]);
    await expect(resource.read(objects)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(objects.destroyed).toBe(true);
  });

  test("beyond maxBytes an endless stream is destroyed", async () => {
    const endless = new Readable({
      read() {
        this.push(Buffer.alloc(1000));
      },
    });
    await expect(resource.read(endless, { maxBytes: 10_000 })).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(endless.destroyed).toBe(true);
  });

  verifies("C6", "an abort rejects with its reason and ends a stream that gives nothing", async () => {
    const node = new PassThrough();
    const cancelled: unknown[] = [];
    const web = new ReadableStream<Uint8Array>({
      pull: () => new Promise(() => {}),
      cancel: (reason) => void cancelled.push(reason),
    });
    for (const source of [node, web]) {
      const controller = new AbortController();
      const reading = resource.read(source, { signal: controller.signal });
      setImmediate(() => controller.abort(new Error("stop")));
      await expect(reading).rejects.toMatchObject({ message: "stop" });
    }
    expect(node.destroyed).toBe(true);
    expect(cancelled).toHaveLength(1);
  });
});
