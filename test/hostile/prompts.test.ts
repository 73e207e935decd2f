import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import { Toolkit } from "../../src/index.ts";
import { lintPrompts } from "../../src/prompt/lint/lint-prompts.ts";
import { type ParsePromptOptions, parsePrompt } from "../../src/prompt/parse-prompt.ts";
import { promptFolder } from "../../src/prompt/prompt-folder.ts";
import { readPrompt, readPrompts } from "../../src/prompt/read-prompts.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { contextOf, folderWith, parseError, rejection, render } from "../prompt/support.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { promptFuzz } from "./fuzz/prompts.ts";

const kilobyte = 1024;
const head = "---\nname: hostile\n---\n";
/** The largest prompt that is read, made of repetitions. */
const full = (piece: string, before = "", after = "") => {
  const room = 256 * kilobyte - head.length - before.length - after.length;
  return `${head}${before}${piece.repeat(Math.floor(room / piece.length))}${after}`;
};
const rendering = (text: string, input: unknown, options: ParsePromptOptions = {}) =>
  rejection(parsePrompt(head + text, { filename: "prompts/hostile.md", ...options }).render(input, contextOf()));

/** Reads a text in both forms, and lints it: it is a prompt, or the error says why it is none. */
async function isRefusedOrRendered(text: string): Promise<void> {
  for (const filename of ["hostile.md", "hostile.prompt"]) {
    try {
      await render(parsePrompt(text, { filename }), { a: 1 });
    } catch (error) {
      expect(error).toHaveProperty("code", expect.stringMatching(/^(?:INVALID_PROMPT|LIMIT_EXCEEDED)$/));
    }
  }
  await lintPrompts({ text, filename: "hostile.md" });
}

describe("a rendering ends at its limits", () => {
  const place = expect.stringMatching(/^prompts\/|^partial /);

  verifies("P3", "ten partials that each use the next ten times are no 10^9 copies", async () => {
    const partials = Object.fromEntries(
      Array.from({ length: 10 }, (_, at) => [`p${at}`, at === 9 ? "a".repeat(90) : `{{> p${at + 1}}}`.repeat(10)]),
    );
    const error = await rendering("{{> p0}}", {}, { partials });
    expect(error).toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { limit: "maxOutputBytes", max: 1_048_576 },
      message: place,
    });
    expect(error.message).toContain("pass less, or raise the limit");
    const silent = Object.fromEntries(Object.entries(partials).map(([name, text]) => [name, text.replaceAll("a", "")]));
    const steps = await rendering("{{> p0}}", {}, { partials: { ...silent, p9: "{{! }}" } });
    expect(steps).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "maxRenderSteps", max: 1_000_000 } });
  });

  verifies("P3", "nested loops over one list are no 10^12 steps, whether they write or not", async () => {
    const xs = Array.from({ length: 10_000 }, () => 0);
    for (const inner of ["", "a", "{{missing}}", "{{#if missing}}a{{/if}}", "{{default '' ''}}"]) {
      const error = await rendering(`{{#each @root.xs}}`.repeat(3) + inner + "{{/each}}".repeat(3), { xs });
      expect(error).toMatchObject({
        code: "LIMIT_EXCEEDED",
        message: expect.stringMatching(/^prompts\/hostile\.md:\d+:\d+: /),
      });
    }
  });

  verifies("P3", "helpers are counted by what they read and write", async () => {
    const xs = Array.from({ length: 3_000 }, (_, at) => at);
    const text = "x".repeat(100_000);
    const loop = (inner: string) => `{{#each xs}}${inner}{{/each}}`;
    for (const inner of [
      "{{#if (json @root)}}{{/if}}",
      "{{#if (upper @root.text)}}{{/if}}",
      "{{#if (join @root.xs @root.text)}}{{/if}}",
      "{{#if (trim (lower @root.text))}}{{/if}}",
      "{{lookup @root.text 0}}{{json @root.xs}}",
      "{{#if (eq @root.text @root.copy)}}{{/if}}",
      "{{#if (lt @root.text @root.copy)}}{{/if}}",
      "{{#if (slice @root.text 1)}}{{/if}}",
      "{{#if (slice @root.xs 0)}}{{/if}}",
      `{{#if (date 0 "${"d ".repeat(40)}")}}{{/if}}`,
      "{{#if (number 1 locale=(lookup @root.locales this))}}{{/if}}",
    ]) {
      const locales = xs.map((at) => `en-x-a${at}`);
      expect((await rendering(loop(inner), { xs, text, copy: text, locales })).code, inner).toBe("LIMIT_EXCEEDED");
    }
  });

  verifies("P3", "the names of a path, each name=value and each member of a copy are counted", async () => {
    const xs = Array.from({ length: 3_000 }, (_, at) => at);
    const names = Array.from({ length: 3_000 }, () => "b");
    const deep: unknown = names.reduceRight((inner: unknown) => ({ b: inner }), 1);
    const wide = Object.fromEntries(xs.map((at) => [`k${at}`, at]));
    const pairs = xs.slice(0, 1_000).map((at) => `k${at}=1`);
    const loop = (inner: string) => `{{#each xs}}${inner}{{/each}}`;
    for (const inner of [`{{#if @root.b.${names.join(".")}}}{{/if}}`, `{{> silent ${pairs.join(" ")}}}`]) {
      const error = await rendering(loop(inner), { xs, b: deep }, { partials: { silent: "{{! }}" } });
      expect(error, inner.slice(0, 30)).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "maxRenderSteps" } });
    }
    const copies = { xs: xs.slice(0, 100), wide };
    const error = await rendering(loop("{{> silent @root.wide a=1}}"), copies, { partials: { silent: "{{! }}" } });
    expect(error).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "maxRenderSteps" } });
  });

  verifies("P3", "partials are nested in a hundred others at most", async () => {
    const chain = (length: number) =>
      Object.fromEntries(Array.from({ length }, (_, at) => [`p${at}`, at === length - 1 ? "end" : `{{> p${at + 1}}}`]));
    const parse = (length: number) => parsePrompt(`${head}{{> p0}}`, { partials: chain(length) });
    expect(await render(parse(100), {})).toBe("end");
    for (const length of [101, 20_000]) {
      const error = await rejection(Promise.resolve().then(() => parse(length)));
      expect(error).toMatchObject({
        code: "INVALID_PROMPT",
        message: expect.stringContaining('The partial "p100" is nested in 100 others.'),
      });
    }
  });

  verifies("P3", "limits can be set; what fits is rendered whole", async () => {
    const text = "{{#each xs}}{{this}},{{/each}}";
    const xs = Array.from({ length: 1_000 }, (_, at) => at);
    const wide = parsePrompt(head + text, { limits: { maxOutputBytes: 10_000, maxRenderSteps: 10_000 } });
    expect(await render(wide, { xs })).toHaveLength(3_890);
    for (const limits of [{ maxOutputBytes: 3_000 }, { maxRenderSteps: 1_000 }]) {
      expect(await rendering(text, { xs }, { limits })).toMatchObject({
        code: "LIMIT_EXCEEDED",
        details: { limit: Object.keys(limits)[0] },
      });
    }
    const two = parsePrompt(`${head}ää{{x}}`, { limits: { maxOutputBytes: 5 } });
    expect(await rejection(two.render({ x: "ä" }, contextOf()))).toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(await render(two, { x: "a" })).toBe("ääa");
    expect(parseError(head, { limits: { maxBytes: 0 } }).code).toBe("INVALID_CONFIG");
  });
});

describe("a stored prompt", () => {
  const text = (name: string, rest = "x") => `---\nname: ${name}\n---\n${rest}`;
  const session = { id: "s", principal: "ada" };

  verifies("P3", "has the limits that the operator sets, as it is put, imported, read and rendered", async () => {
    const store = memoryStore();
    const long = text("long", "x".repeat(300_000));
    const each = text("each", "{{#each xs}}{{this}},{{/each}}");
    await using wide = new Toolkit({ store, user: { promptLimits: { maxBytes: 400_000 } } });
    await using narrow = new Toolkit({ store, user: { promptLimits: { maxBytes: 200, maxRenderSteps: 5 } } });
    await using usual = new Toolkit({ store });
    expect(await failure(usual.user.putPrompt(long, { session }))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { limit: "maxBytes", max: 256 * 1024 },
    });
    await wide.user.putPrompt(long, { session });
    await wide.user.putPrompt(long.replace("name: long", "x: 1"), { name: "_long", session });
    await wide.user.putPrompt(each, { session });
    expect((await wide.render("user.long", {}, { session })).messages).toHaveLength(1);
    for (const toolkit of [usual, narrow])
      expect((await failure(toolkit.render("user.long", {}, { session }))).code).toBe("NOT_FOUND");
    for (const name of ["other", "_other"]) {
      const put = narrow.user.putPrompt(text("other", "x".repeat(200)), { name, session });
      expect(await failure(put)).toMatchObject({ code: "LIMIT_EXCEEDED", details: { max: 200 } });
    }
    const xs = Array.from({ length: 20 }, (_, at) => at);
    expect((await wide.render("user.each", { xs }, { session })).messages).toHaveLength(1);
    expect(await failure(narrow.render("user.each", { xs }, { session }))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { limit: "maxRenderSteps", max: 5 },
    });
    const folder = await mkdtemp(join(tmpdir(), "toolweave-limits-"));
    await wide.user.export(folder, { session });
    await using empty = new Toolkit({ store: memoryStore() });
    expect((await failure(empty.user.import(folder, { session }))).message).toContain("maxBytes");
    await using full = new Toolkit({ store: memoryStore(), user: { promptLimits: { maxBytes: 400_000 } } });
    expect((await full.user.import(folder, { session })).added).toHaveLength(3);
    await rm(folder, { recursive: true });
    for (const promptLimits of [{ maxBytes: 0 }, { none: 1 }])
      expect(() => new Toolkit({ user: { promptLimits } as never })).toThrow(/user\.promptLimits/);
  });
});

describe("parsing is linear, whatever the shape", () => {
  const shapes: Readonly<Record<string, string>> = {
    "a heading of blanks": full(" ", "# x", "x"),
    "a heading of marks": full(" #", "# x", " x"),
    "leading newlines": full("\n", "", "x"),
    "newlines before a tag": full("\n", "x", "{{#if a}}b{{/if}}"),
    "newlines in a block": full("\n", "{{#if a}}", "b{{/if}}"),
    "opening braces": full("{{"),
    "closing braces": full("}}"),
    "tags that never end": full("{{a "),
    "comments that never end": full("{{!-- "),
    comments: full("{{!-- a --}}\n"),
    "escaped tags": full("\\{{a}}"),
    tags: full("{{a}}"),
    "names in one tag": full("a ", "{{json ", "}}"),
    "steps of one path": full("a.", "{{", "[0]}}"),
    "else ifs": full("{{else if b}}", "{{#if a}}", "{{/if}}"),
    "chains of else ifs": full(`{{#if a}}${"{{else if b}}".repeat(90)}{{/if}}`),
    "deep blocks": full(`${"{{#each a}}".repeat(90)}${"{{/each}}".repeat(90)}`),
    "tags of Go": full("{{ .a }}"),
    "tags of Jinja": full("{% if a %}"),
    "marks of code": full("`", "{% if a %}\n"),
  };
  for (const [name, text] of Object.entries(shapes)) {
    verifies("P3", `${name}, 256 KiB of them`, () => isRefusedOrRendered(text));
  }

  const keys = Array.from({ length: 20_000 }, (_, at) => `x-${at}`);
  const yaml: Readonly<Record<string, string>> = {
    "20,000 keys": keys.map((key) => `${key}: 1`).join("\n"),
    "as many fields as fit": `z: >\n a\n${keys
      .slice(0, 5_000)
      .map((key) => `${key}: 1`)
      .join("\n")}`,
    "deep lists": `x: ${"[".repeat(60_000)}`,
    "deep maps": `x: ${"{a: ".repeat(15_000)}`,
    "deep entries": `x:\n  ${"- ".repeat(30_000)}`,
    aliases: `x: &a [1]\ny: [${"*a, ".repeat(15_000)}]`,
    "aliases of aliases": `a: &a0 [1]\n${Array.from({ length: 28 }, (_, at) => `b${at}: &a${at + 1} [*a${at}, *a${at}]`).join("\n")}`,
    mistakes: "a: b: c\n".repeat(8_000),
    commas: `x: [${",".repeat(60_000)}]`,
    "a text in the front matter": `system_prompt: >\n${"  {{a}}\n".repeat(7_500)}`,
    settings: `settings:\n${keys
      .slice(0, 5_000)
      .map((key) => `  ${key}: 1`)
      .join("\n")}`,
  };
  for (const [name, fields] of Object.entries(yaml)) {
    const text = `---\nname: hostile\n${fields}\n---\nHi`;
    verifies("P3", `front matter: ${name}`, () => isRefusedOrRendered(text));
  }

  verifies(
    "P3",
    "a prompt has 256 KiB at most, its front matter 64 KiB, unless the service says otherwise",
    async () => {
      const large = full("a", "", "b".repeat(1_000));
      expect(() => parsePrompt(large)).not.toThrow();
      expect(parseError(`${large}aa`, {})).toMatchObject({
        code: "LIMIT_EXCEEDED",
        details: { limit: "maxBytes", max: 262_144 },
        message: expect.stringContaining("prompt:1:1: The file is too large for a prompt: move"),
      });
      const fields = `---\nname: a\nx: ${"y".repeat(64 * kilobyte)}\n---\nHi`;
      expect(parseError(fields, {})).toMatchObject({
        code: "LIMIT_EXCEEDED",
        details: { limit: "maxFrontMatterBytes" },
      });
      const limits = { maxBytes: 300 * kilobyte, maxFrontMatterBytes: 100 * kilobyte };
      expect(parsePrompt(`${large}aa`, { limits }).name).toBe("hostile");
      expect(parsePrompt(fields, { limits }).name).toBe("a");
      expect(parseError(`${head}{{> big}}`, { partials: { big: "a".repeat(257 * kilobyte) } }).code).toBe(
        "LIMIT_EXCEEDED",
      );
      const { problems } = await lintPrompts([
        { text: `${large}aa`, filename: "a.md" },
        { text: fields, filename: "b.md" },
      ]);
      expect(problems.map(({ file, code }) => [file, code])).toEqual([
        ["a.md", "file"],
        ["b.md", "file"],
      ]);
      await using toolkit = new Toolkit({ store: memoryStore() });
      await expect(toolkit.user.putPrompt(`${large}aa`)).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    },
  );
});

describe("patterns of schemas", () => {
  const slow = (default_ = "") =>
    `---\nname: slow\ninput: { type: object, properties: { a: { type: string, pattern: '^(a+)+$'${default_} } } }\n---\n{{a}}`;
  const evil = `${"a".repeat(40)}b`;

  verifies("P3", "run in the linear engine when a prompt is parsed, linted, rendered and called", async () => {
    expect(parseError(slow(`, default: ${evil}`)).message).toContain("must match ^(a+)+$");
    const { problems } = await lintPrompts({ text: slow(`, examples: [${evil}]`), filename: "a.md" });
    expect(problems).toContainEqual(expect.objectContaining({ code: "unfit-example" }));
    const names = slow()
      .replace("properties: { a:", () => "patternProperties: { '^(a+)+$':")
      .replace("{{a}}", `{{${evil}}}`);
    expect((await lintPrompts({ text: names, filename: "a.md" })).problems).toContainEqual(
      expect.objectContaining({ code: "unknown-variable" }),
    );
    const prompt = parsePrompt(slow());
    expect(await rejection(prompt.render({ a: evil }, contextOf()))).toMatchObject({ code: "INVALID_INPUT" });
    await using toolkit = new Toolkit({ store: memoryStore() });
    toolkit.add(prompt);
    await toolkit.user.putPrompt(slow().replace("name: slow", "name: stored"));
    for (const ref of ["slow", "user.stored"]) {
      expect(await rejection(toolkit.render(ref, { a: evil }))).toMatchObject({ code: "INVALID_INPUT" });
    }
  });

  verifies("P3", "a default is compared with its schema in a bounded number of steps", () => {
    const wide = Array.from({ length: 60 }, () => "{ $ref: '#/$defs/next' }").join(", ");
    const levels = `next: { anyOf: [${wide}] }`;
    const input = `{ type: object, $defs: { ${levels} }, properties: { a: { $ref: '#/$defs/next', default: 1 } } }`;
    expect(parsePrompt(`---\nname: wide\ninput: ${input}\n---\n{{a}}`).name).toBe("wide");
  });
});

describe("files", () => {
  const good = "---\nname: good\n---\nGood.";

  verifies("P3", "one sparse file of 600 MB hides no other prompt, and is not read", async () => {
    const folder = await folderWith({
      "good.md": good,
      "huge.md": "",
      "_huge.md": "",
      "uses.md": "---\nname: uses\n---\n{{> huge}}",
    });
    for (const name of ["huge.md", "_huge.md"]) await truncate(join(folder, name), 600_000_000);
    const before = process.memoryUsage.rss();
    const source = promptFolder(folder);
    const prompts = await source.prompt?.({});
    expect(prompts?.map(({ name }) => name)).toEqual(["good"]);
    expect(await rejection(readPrompt(join(folder, "huge.md")))).toMatchObject({
      details: { limit: "maxBytes", actual: 600_000_000 },
    });
    expect(await rejection(readPrompt(join(folder, "uses.md")))).toMatchObject({ code: "LIMIT_EXCEEDED" });
    const { problems } = await lintPrompts(folder);
    expect(problems.filter(({ message }) => message.includes("too large"))).toHaveLength(2);
    await using toolkit = new Toolkit({ store: memoryStore() });
    await expect(toolkit.user.import(folder)).rejects.toThrow(/too large/);
    expect(process.memoryUsage.rss() - before).toBeLessThan(100_000_000);
    expect(
      (await readPrompts(folder, { limits: { maxBytes: 1 } }).catch((error: unknown) => error)) as Error,
    ).toHaveProperty("code");
  });

  verifies("P3", "no link leads out of a folder; one inside it is followed", async () => {
    const around = await folderWith({ "secret.md": "---\nname: secret\n---\nA secret.", "secret.txt": "A secret." });
    const folder = join(around, "prompts");
    await mkdir(folder);
    await writeFile(join(folder, "good.md"), good);
    await writeFile(join(folder, "uses.md"), "---\nname: uses\n---\n{{> leak}}");
    await symlink(join(around, "secret.txt"), join(folder, "_leak.md"));
    await symlink("../secret.md", join(folder, "secret.md"));
    for (const [name, target] of Object.entries({ device: "/dev/zero", folder: around, itself: "itself.md" }))
      await symlink(target, join(folder, `${name}.md`));
    await symlink("good.md", join(folder, "_again.md"));
    const source = promptFolder(folder);
    const prompts = await source.prompt?.({});
    expect(prompts?.map(({ name }) => name)).toEqual(["good"]);
    expect(source.problems?.().map(({ message }) => message)).toContainEqual(
      expect.stringContaining("secret.md:1:1: The file cannot be read: it is a link that leads out of its folder."),
    );
    const problems = source.problems?.().map(({ message }) => message) ?? [];
    expect(problems).toContainEqual(
      expect.stringContaining("device.md:1:1: The file cannot be read: it is a link that leads out"),
    );
    expect(problems).toContainEqual(
      expect.stringContaining("folder.md:1:1: The file cannot be read: it is a link that leads out"),
    );
    expect(problems).toContainEqual(expect.stringContaining("itself.md:1:1: The file cannot be read"));
    for (const read of [() => readPrompt(join(folder, "uses.md")), () => readPrompts(folder)]) {
      expect(String((await rejection(read())).message)).toContain("a link that leads out of its folder");
    }
    const linted = await lintPrompts(folder);
    expect(JSON.stringify(linted.problems)).not.toContain("A secret.");
    await writeFile(join(folder, "uses.md"), "---\nname: uses\n---\n{{> again}}");
    expect((await readPrompt(join(folder, "uses.md"))).name).toBe("uses");
  });

  verifies("P3", "a file that only its owner may read stays so through export", async () => {
    const folder = await folderWith({});
    await using toolkit = new Toolkit({ store: memoryStore() });
    await toolkit.user.putPrompt(good);
    await toolkit.user.export(folder);
    const file = join(folder, "good.md");
    for (const mode of [0o600, 0o640, 0o400]) {
      await chmod(file, mode);
      await toolkit.user.putPrompt(`${good} ${mode}`);
      await toolkit.user.export(folder);
      expect(await readFile(file, "utf8")).toContain(`Good. ${mode}`);
      expect((await stat(file)).mode & 0o777).toBe(mode);
    }
  });
});

/** The longest time of the processor between two turns of the event loop while something is done, in milliseconds. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let [longest, isDone] = [0, false];
  const done = work().finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const before = process.cpuUsage();
    await new Promise((resolve) => setImmediate(resolve));
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
  }
  await done;
  return longest;
}

describe("many prompts", () => {
  verifies("P2", "a folder of 6,000 keeps no other work waiting", async () => {
    const files = Array.from({ length: 6_000 }, (_, at) => [`p${at}.md`, `---\nname: p${at}\n---\nHi {{name}}`]);
    const folder = await folderWith(Object.fromEntries(files));
    await using toolkit = new Toolkit();
    toolkit.addSource("many", promptFolder(folder));
    expect(await longestTurn(() => toolkit.start())).toBeLessThan(250);
    expect((await toolkit.list()).count).toBe(6_000);
  });

  verifies("S2", "300 dense ones of a principal are there at the first look", async () => {
    const store = memoryStore();
    const text = (name: string) => `---\nname: ${name}\n---\n${"{{x}} and ".repeat(1_500)}`;
    for (let at = 0; at < 300; at += 1)
      await store.put({ collection: "prompt", owner: "eve", key: `p${at}`, value: { text: text(`p${at}`) } });
    await using toolkit = new Toolkit({ store });
    const before = process.cpuUsage();
    const { count, failures } = await toolkit.list({ session: { id: "eve", principal: "eve" } });
    expect([count, failures]).toEqual([300, []]);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
  });

  verifies("P3", "hundreds of large partials are compiled in turns, and not where the caller is gone", async () => {
    const names = Array.from({ length: 100 }, (_, at) => `part${at}`);
    const partials = Object.fromEntries(names.map((name) => [name, `{{${name}}} and `.repeat(1_000)]));
    const large = parsePrompt(`---\nname: large\n---\n${names.map((name) => `{{> ${name}}}`).join("")}`, { partials });
    await using toolkit = new Toolkit({ items: [large] });
    const end = new AbortController();
    setImmediate(() => setImmediate(() => end.abort(new Error("gone"))));
    await expect(toolkit.render("large", {}, { signal: end.signal })).rejects.toThrow("gone");
    const input = Object.fromEntries(names.map((name) => [name, "x"]));
    expect(await longestTurn(() => toolkit.render("large", input))).toBeLessThan(250);
  });
});

describe("a schema", () => {
  verifies("P4", "with a pattern that takes no linear time is refused when it is read", () => {
    for (const pattern of ["a(?=b)", "(a)\\1", "(a{1000}){1000}"]) {
      const text = `---\nname: odd\ninput: { type: object, properties: { x: { pattern: '${pattern}' } } }\n---\n{{x}}`;
      expect(parseError(text).message).toMatch(/:3:\d+: input cannot be used: The pattern/);
    }
  });
});

describe("errors", () => {
  verifies("P4", "names of a prompt and its file add no line to an error", async () => {
    const forged = "x\n[error] forged";
    const quoted = JSON.stringify(forged);
    for (const [fields, body] of [
      [`"mod\\nle": x`, "text"],
      [`settings: { ${quoted}: 1 }`, "text"],
      [`input: { $ref: "#/x\\n[error] forged" }`, "text"],
      [`thinking: ${quoted}`, "text"],
      ["", "{% if \n[error] forged %}"],
      ["", `{{> ${quoted}}}`],
    ] as const) {
      const text = `---\nname: hostile\n${fields}\n---\n${body}`;
      const { message } = parseError(text, { filename: "a\n[error] forged.md" });
      expect(message).toMatch(/^a\\n\[error\] forged\.md:\d+:\d+: /);
      expect(message.split("\n").filter((line) => /^(?:le|\[error\])/.test(line))).toEqual([]);
    }
  });
});

describe("whatever a prompt is made of", () => {
  verifies("P3", "it is rendered, or refused with an error of ours", async () => {
    const seed = process.env.FC_SEED === "random" ? Date.now() : 12;
    let state = seed;
    const random = () => {
      // A generator of 32 bits (mulberry32).
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
    let left = 40;
    for (const { describe: what, run } of promptFuzz.cases(random)) {
      const error: unknown = await Promise.resolve()
        .then(run)
        .then(
          () => undefined,
          (reason: unknown) => reason,
        );
      if (error !== undefined && !ToolkitError.is(error)) throw new Error(`Seed ${seed}, ${what}`, { cause: error });
      left -= 1;
      if (left === 0) break;
    }
  });
});
