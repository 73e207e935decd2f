import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { Toolkit } from "../../src/index.ts";
import { type LoadedManifest, type LoaderParts, ManifestLoader } from "../../src/manifest/manifest-loader.ts";
import { modes } from "../../src/manifest/modes.ts";

/** Writes files into a folder that is removed after the test. @returns the folder */
export async function folderWith(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "manifest-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(folder, name, ".."), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}

/** Loads one manifest, without a toolkit; what it keeps running ends with the test. */
export async function loadManifest(
  text: string,
  { folder, ...parts }: Partial<LoaderParts> & { readonly folder?: string } = {},
): Promise<LoadedManifest> {
  const loader = new ManifestLoader({
    env: {},
    sandboxes: {},
    clients: {},
    ...parts,
    executors: { ...modes, ...parts.executors },
  });
  const loaded = await loader.load({ text, file: "tool.yaml", folder }, new AbortController().signal);
  onTestFinished(() => loaded.close());
  return loaded;
}

/** A toolkit with the tools of one manifest in the namespace `manifest`, until the test is over. */
export async function toolkitOf(
  text: string,
  { toolkit: options, ...parts }: Parameters<typeof loadManifest>[1] & { readonly toolkit?: ToolkitOptions } = {},
): Promise<Toolkit> {
  const { tools } = await loadManifest(text, parts);
  const toolkit = new Toolkit(options);
  onTestFinished(() => toolkit.close());
  toolkit.addSource("manifest", { immutable: true, tool: () => tools });
  await toolkit.start();
  return toolkit;
}
