import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import { resource } from "../../src/resource/resource-factory.ts";
import { verifies } from "../support/verifies.ts";

const load = (bytes: Uint8Array, mediaType?: string) => resource.data("data", bytes, { mediaType });
const encode = (text: string, charset: string, addBOM = false) => iconv.encode(text, charset, { addBOM });

describe("text becomes UTF-8", () => {
  const cases: readonly (readonly [string, Uint8Array, string | undefined, string])[] = [
    ["UTF-8", encode("Grüße", "utf-8"), undefined, "Grüße"],
    ["UTF-8 with a mark", encode("Grüße", "utf-8", true), undefined, "Grüße"],
    ["UTF-16LE with a mark", encode("Grüße 日本", "utf-16le", true), undefined, "Grüße 日本"],
    ["UTF-16BE with a mark", encode("Grüße 日本", "utf-16be", true), undefined, "Grüße 日本"],
    ["UTF-16LE without a mark", encode("Plain words", "utf-16le"), undefined, "Plain words"],
    ["UTF-16BE without a mark", encode("Plain words", "utf-16be"), undefined, "Plain words"],
    ["declared UTF-16BE", encode("日本", "utf-16be"), "text/plain; charset=UTF-16BE", "日本"],
    ["declared windows-1252", encode("“€”", "windows-1252"), "text/plain; charset=windows-1252", "“€”"],
    ["declared iso-8859-1, which is windows-1252", encode("€", "windows-1252"), "text/plain;charset=ISO-8859-1", "€"],
    ["declared shift_jis", encode("日本語テスト", "shift_jis"), "text/plain; charset=shift_jis", "日本語テスト"],
    ["declared in quotes", encode("Привет", "koi8-r"), 'text/plain; charset="KOI8-R"', "Привет"],
    ["declared, and a charset Node does not know", encode("█", "cp437"), "text/plain; charset=cp437", "█"],
    ["a mark against the declaration", encode("é", "utf-8", true), "text/plain; charset=windows-1252", "é"],
    ["declared and unknown", encode("é", "utf-8"), "text/plain; charset=x-nothing", "é"],
  ];
  for (const [what, bytes, mediaType, text] of cases) {
    verifies("R2", what, async () => {
      const content = await load(bytes, mediaType);
      expect(content.mediaType).toBe("text/plain");
      expect(await content.text()).toBe(text);
      expect(Buffer.from(await content.bytes()).toString("utf8")).toBe(text);
      expect(content.size).toBe(Buffer.byteLength(text));
    });
  }

  test("a charset that an HTML or XML document declares in itself is believed where it is not UTF-8", async () => {
    const html =
      '<html><head><meta http-equiv="content-type" content="text/html; charset=windows-1252"></head>é</html>';
    expect(await (await load(encode(html, "windows-1252"), "text/html")).text()).toBe(html);
    expect(await (await load(encode(html, "utf-8"), "text/html")).text()).toBe(html);
    const xml = '<?xml version="1.0" encoding="ISO-8859-15"?><a>€</a>';
    expect(await (await load(encode(xml, "iso-8859-15"), "application/xml")).text()).toBe(xml);
  });

  test("the other parameters of a media type stay", async () => {
    const content = await load(encode("é", "latin1"), "text/plain; charset=latin1; format=flowed");
    expect(content.mediaType).toBe("text/plain; format=flowed");
  });

  test("JSON in UTF-16 is parsed", async () => {
    expect(await (await load(encode('{"a":"é"}', "utf-16le", true), "application/json")).json()).toEqual({ a: "é" });
  });
});

describe("an undeclared charset of a text is detected", () => {
  const texts: readonly (readonly [charset: string, text: string])[] = [
    ["windows-1252", "Grüße aus Zürich: Füße, Käse, Öl und Straße kosten 5 €."],
    ["windows-1252", "name;straße\nMüller;Königstr. 5\nBöhm;Am Käferweg 3\n"],
    ["windows-1252", "Füße"],
    ["windows-1252", "Le café est déjà fermé à Noël, où êtes-vous ?"],
    ["windows-1251", "Привет, как дела? Сегодня хорошая погода в Москве."],
    ["koi8-r", "Привет, как дела? Сегодня хорошая погода в Москве."],
    ["shift_jis", "日本語テストの文章です。今日は天気がいい。"],
    ["euc-jp", "日本語テストの文章です。今日は天気がいい。"],
    ["gb18030", "今天天气很好，我们去公园散步吧。"],
    ["big5", "今天天氣很好，我們去公園散步吧。"],
    ["euc-kr", "안녕하세요, 오늘 날씨가 좋습니다."],
    ["iso-8859-2", "Zażółć gęślą jaźń, proszę bardzo."],
  ];
  for (const [charset, text] of texts) {
    verifies("R2", `${charset}: ${text.slice(0, 20)}`, async () => {
      expect(await (await load(encode(text, charset), "text/plain")).text()).toBe(text);
      const page = `<!doctype html><html><body class="entry-content"><p>${text}</p></body></html>`;
      const content = await load(encode(page, charset), "text/html");
      expect(content.mediaType).toBe("text/html");
      expect(await content.text()).toBe(page);
    });
  }

  verifies("R2", "in a long text too, whose first lines are ASCII, and in a file by its extension", async () => {
    const text = `${"key = value\n".repeat(5_000)}${"Größe = groß, Straße = Königsweg, Fußgänger dürfen\n".repeat(2_000)}`;
    const content = await resource.data("settings.ini", encode(text, "windows-1252"));
    expect(content.mediaType).toBe("text/plain");
    expect(await content.text()).toBe(text);
  });

  verifies("R2", "what is no text, or says its charset, or is JSON or XML, stays as it is", async () => {
    const latin = encode("Grüße aus Zürich", "windows-1252");
    const noise = Uint8Array.from({ length: 2_000 }, (_, at) => (at * 7919 + (at >> 3) * 31) % 256);
    for (const [bytes, mediaType] of [
      [noise, "text/plain"],
      [latin, "text/plain; charset=utf-8"],
      [latin, "application/json"],
      [latin, "application/xml"],
    ] as const) {
      const content = await load(bytes, mediaType);
      await expect(content.text()).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
      expect([...(await content.bytes())]).toEqual([...bytes]);
    }
    expect((await load(latin)).mediaType).toBe("application/octet-stream");
  });
});

describe("bytes that do not decode stay bytes", () => {
  const broken = new Uint8Array([0x61, 0xc3, 0x28, 0xff]);
  for (const mediaType of ["text/plain", "text/plain; charset=utf-8", "text/plain; charset=shift_jis"]) {
    verifies("R2", `declared ${mediaType}`, async () => {
      const content = await load(broken, mediaType);
      expect([...(await content.bytes())]).toEqual([...broken]);
      expect(content.mediaType).toBe(mediaType);
      await expect(content.text()).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
    });
  }

  verifies("R2", "undeclared they are application/octet-stream", async () => {
    const content = await load(broken);
    expect(content).toMatchObject({ mediaType: "application/octet-stream", size: 4 });
    expect([...(await content.bytes())]).toEqual([...broken]);
  });

  verifies("R2", "UTF-16 that ends in the middle of a character is no text", async () => {
    const content = await load(new Uint8Array([0xff, 0xfe, 0x61, 0x00, 0x62]), "text/plain");
    await expect(content.text()).rejects.toMatchObject({ code: "INVALID_OUTPUT" });
  });
});

describe("the media type by content", () => {
  const png = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  const cases: readonly (readonly [string, Uint8Array, string])[] = [
    ["a PNG", png, "image/png"],
    ["a PDF", Buffer.from("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "latin1"), "application/pdf"],
    ["a GIF", Buffer.from("GIF89a\x01\x00\x01\x00\x00\x00\x00;", "latin1"), "image/gif"],
    ["XML", Buffer.from('<?xml version="1.0"?><a/>'), "application/xml"],
    ["text", Buffer.from("just words"), "text/plain"],
    ["text that begins as a bitmap does", Buffer.from("BMW makes cars"), "text/plain"],
    ["text that begins as a sound does", Buffer.from("FORMAT: plain"), "text/plain"],
    ["RTF", Buffer.from("{\\rtf1 hi}"), "application/rtf"],
    ["a PDF in characters only", Buffer.from("%PDF-1.4\n"), "application/pdf"],
    ["text that begins as a program does", Buffer.from("MZ is a country code"), "text/plain"],
    ["nothing", new Uint8Array(), "text/plain"],
    ["control characters", new Uint8Array([1, 2, 3]), "application/octet-stream"],
    ["a small number", new Uint8Array([0, 255]), "application/octet-stream"],
    ["samples of 16 bits", new Uint8Array([0, 200, 0, 150, 0, 7, 0, 180]), "application/octet-stream"],
    ["zeros", new Uint8Array(64), "application/octet-stream"],
  ];
  for (const [what, bytes, mediaType] of cases) {
    verifies("R2", `${what} is ${mediaType}`, async () => {
      const content = await load(bytes);
      expect(content.mediaType).toBe(mediaType);
      expect(Buffer.from(await content.bytes()).equals(bytes)).toBe(true);
    });
  }

  test("a damaged file is still loaded", async () => {
    for (const length of [9, 20, 40]) expect((await load(png.subarray(0, length))).size).toBe(length);
  });
});
