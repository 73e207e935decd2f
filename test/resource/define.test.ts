import { describe, expect, test } from "vitest";
import { isContent, isResource } from "../../src/core/resource.ts";
import { defineResource, defineTemplate } from "../../src/resource/define.ts";
import { loadResource } from "../../src/resource/handle.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { verifies } from "../support/verifies.ts";

const latin1 = { mediaType: "text/plain; charset=iso-8859-1", bytes: () => new Uint8Array([0x63, 0x61, 0x66, 0xe9]) };

describe("a handle", () => {
  verifies(["R1", "K3"], "reads afresh each time it is asked", async () => {
    let reads = 0;
    const counter = defineResource({ uri: "count:reads", name: "counter", bytes: () => String(++reads) });
    expect(counter).toMatchObject({ kind: "resource", uri: "count:reads", name: "counter", mediaType: undefined });
    expect(isResource(counter)).toBe(true);
    expect(isContent(counter)).toBe(false);
    expect(reads).toBe(0);
    expect(await counter.text()).toBe("1");
    expect(await counter.json()).toBe(2);
    expect(await counter.bytes()).toEqual(new Uint8Array([0x33]));
  });

  test("says what its definition says", () => {
    const meta = { a: 1 };
    const described = { mediaType: "text/csv", title: "T", description: "D", meta, size: 7 };
    expect(defineResource({ uri: "test:a", name: "a", ...described, bytes: () => "" })).toMatchObject(described);
  });

  verifies("R2", "its text is decoded by the charset it declares, its bytes are as they are", async () => {
    const cafe = defineResource({ uri: "test:cafe", name: "cafe", ...latin1 });
    expect(await cafe.text()).toBe("café");
    expect([...(await cafe.bytes())]).toEqual([0x63, 0x61, 0x66, 0xe9]);
  });

  verifies("R2", "text() and json() of what is none are INVALID_OUTPUT", async () => {
    const broken = defineResource({ uri: "test:a", name: "a", bytes: () => new Uint8Array([0xc3]) });
    await expect(broken.text()).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
    await expect(broken.json()).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
    const text = defineResource({ uri: "test:a", name: "a", bytes: async () => "no JSON" });
    await expect(text.json()).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
    const number = defineResource({ uri: "test:a", name: "a", bytes: () => 7 as never });
    await expect(number.bytes()).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
  });

  test("bytes is called as the definition's method, with the signal", async () => {
    class Store {
      readonly uri = "test:store";
      readonly name = "store";
      #value = "secret";
      bytes({ signal }: { signal?: AbortSignal | undefined }) {
        return `${this.#value} ${signal?.aborted}`;
      }
    }
    const { signal } = new AbortController();
    expect(await defineResource(new Store()).text({ signal })).toBe("secret false");
  });

  test("what bytes throws comes through", async () => {
    const error = new Error("no disk");
    const bytes = () => {
      throw error;
    };
    await expect(defineResource({ uri: "test:a", name: "a", bytes }).text()).rejects.toBe(error);
  });

  verifies("C6", "an abort rejects with its reason, even where bytes does not listen", async () => {
    const controller = new AbortController();
    const stuck = defineResource({ uri: "test:a", name: "a", bytes: () => new Promise(() => {}) });
    const results = [stuck.bytes(controller), stuck.text(controller), loadResource(stuck, controller)];
    controller.abort(new Error("stop"));
    for (const result of results) await expect(result).rejects.toBe(controller.signal.reason);
    let reads = 0;
    const counter = defineResource({ uri: "test:a", name: "a", bytes: () => String(++reads) });
    await expect(counter.bytes(controller)).rejects.toBe(controller.signal.reason);
    expect(reads).toBe(0);
  });

  verifies("R1", "a URI without a scheme or a name that is no identifier is INVALID_NAME", () => {
    const bytes = () => "";
    const invalid = expect.objectContaining({ code: "INVALID_NAME" });
    expect(() => defineResource({ uri: "status", name: "status", bytes })).toThrow(invalid);
    expect(() => defineResource({ uri: "test:status", name: "the status", bytes })).toThrow(invalid);
    expect(() => defineResource({ uri: "test:status", name: "status" } as never)).toThrow(
      expect.objectContaining({
        code: "INVALID_INPUT",
        details: { issues: [expect.objectContaining({ pointer: "/bytes" })] },
      }),
    );
  });

  verifies("R1", "withUri and withDescription give a handle that still reads afresh", async () => {
    let reads = 0;
    const counter = defineResource({ uri: "count:reads", name: "counter", size: 1, bytes: () => String(++reads) });
    const other = resource.withDescription(resource.withUri(counter, "count:other"), "Counts");
    expect(other).toMatchObject({ uri: "count:other", description: "Counts", name: "counter", size: 1 });
    expect(isContent(other)).toBe(false);
    expect(await other.text()).toBe("1");
    expect(await other.text()).toBe("2");
    expect(await (await resource.from("renamed", counter)).text()).toBe("3");
  });
});

describe("loading", () => {
  verifies("K3", "gives a Content whose bytes do not change", async () => {
    const memory = Buffer.from("hello\0");
    const handle = defineResource({ uri: "test:a", name: "a", title: "A", meta: { m: 1 }, bytes: () => memory });
    const content = await loadResource(handle);
    memory.fill(0);
    expect(isContent(content)).toBe(true);
    expect(content).toMatchObject({ name: "a", uri: "test:a", title: "A", meta: { m: 1 }, size: 6 });
    expect(content.mediaType).toBe("application/octet-stream");
    expect([...(await content.bytes())]).toEqual([...Buffer.from("hello\0")]);
  });

  verifies("R2", "makes its text UTF-8 and drops the charset", async () => {
    const content = await loadResource(defineResource({ uri: "test:cafe", name: "cafe", ...latin1 }));
    expect(content).toMatchObject({ mediaType: "text/plain", size: 5 });
    expect([...(await content.bytes())]).toEqual([...Buffer.from("café")]);
  });

  test("a Content is itself", async () => {
    const note = resource.text("note", "hi");
    expect(await loadResource(note)).toBe(note);
  });
});

describe("a template", () => {
  const definition = {
    uriTemplate: "ticket:{id}",
    name: "tickets",
    mediaType: "text/markdown",
    description: "Tickets",
    read: async (uri: string) => `# ${uri}`,
  };

  verifies("R1", "makes handles that read through it", async () => {
    const template = defineTemplate(definition);
    expect(template).toMatchObject({ kind: "template", uriTemplate: "ticket:{id}", name: "tickets" });
    const ticket = template.resource("ticket:7");
    expect(ticket).toMatchObject({
      uri: "ticket:7",
      name: "tickets",
      mediaType: "text/markdown",
      description: "Tickets",
    });
    expect(isResource(ticket)).toBe(true);
    expect(await ticket.text()).toBe("# ticket:7");
    expect(() => template.resource("7")).toThrow(expect.objectContaining({ code: "INVALID_NAME" }));
  });

  verifies("R1", "is INVALID_NAME without a scheme or with a bad name", () => {
    const invalid = expect.objectContaining({ code: "INVALID_NAME" });
    expect(() => defineTemplate({ ...definition, uriTemplate: "{id}" })).toThrow(invalid);
    expect(() => defineTemplate({ ...definition, name: "" })).toThrow(invalid);
    expect(() => defineTemplate({ ...definition, read: undefined as never })).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT" }),
    );
  });
});
