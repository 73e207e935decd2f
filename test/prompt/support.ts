import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ToolkitError } from "../../src/core/error.ts";
import type { CallContext, Prompt, RenderedPrompt } from "../../src/core/item.ts";
import type { Resource } from "../../src/core/resource.ts";
import { type ParsePromptOptions, parsePrompt } from "../../src/prompt/parse-prompt.ts";

/** A context of which rendering uses the attachments alone. */
export function contextOf(...attachments: readonly Resource[]): CallContext {
  return { attachments } as Partial<CallContext> as CallContext;
}

/** The text of the first content of the first message. */
export async function textOf(rendered: RenderedPrompt): Promise<string | undefined> {
  return await rendered.messages[0]?.content[0]?.text();
}

/** Renders a prompt and gives its text. */
export async function render(prompt: Prompt, input?: unknown): Promise<string | undefined> {
  return await textOf(await prompt.render(input, contextOf()));
}

/** Renders a template without front matter of its own. */
export async function renderBody(
  body: string,
  input?: unknown,
  partials?: Record<string, string>,
): Promise<string | undefined> {
  return await render(parsePrompt(`---\nname: test\n---\n${body}`, { partials }), input);
}

/** The ToolkitError that a function throws. */
function failure(run: () => unknown): ToolkitError {
  try {
    run();
  } catch (error) {
    if (ToolkitError.is(error)) return error;
    throw error;
  }
  throw new Error("It did not fail.");
}

/** The ToolkitError that a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<ToolkitError> {
  const error: unknown = await promise.then(
    () => new Error("It did not fail."),
    (reason: unknown) => reason,
  );
  if (ToolkitError.is(error)) return error;
  throw error;
}

/** Limits beyond every text of a test, for one that proves what holds without them. */
export const wideLimits = { maxBytes: 4 * 1024 * 1024, maxFrontMatterBytes: 4 * 1024 * 1024 };

/** The error of parsing a text. */
export function parseError(
  text: string,
  options: ParsePromptOptions = { filename: "prompts/test.md", limits: wideLimits },
): ToolkitError {
  return failure(() => parsePrompt(text, options));
}

/** A temporary folder with these files, removed after the test. */
export async function folderWith(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-prompts-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await Promise.all(Object.entries(files).map(([name, content]) => writeFile(join(folder, name), content)));
  return folder;
}
