import { dirname, join } from "node:path";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { withinTime } from "../../lib/backoff.ts";
import { EgressPolicy } from "../../lib/fetch/egress-policy.ts";
import { jsonFault } from "../../lib/nesting.ts";
import { stepsOf } from "../../lib/pointer.ts";
import { parsePlacedYaml } from "../../prompt/front-matter/placed-yaml.ts";
import { fileStart, type Place, placeFinder } from "../../prompt/prompt-problem.ts";
import { readLocation } from "../../resource/read.ts";
import type { ManifestContext, ParsedManifest } from "../manifest-port.ts";
import { manifestProblem } from "../manifest-problem.ts";
import { offsetInJson } from "./json-place.ts";
import type { DocumentMistake } from "./openapi-document.ts";
import type { OpenApiSpec } from "./openapi-spec.ts";

/** A document that was read. */
export interface ReadDocument {
  readonly value: unknown;
  /** Undefined for one that was not fetched. */
  readonly url: URL | undefined;
  /** The error of a mistake: file, line and column in it. */
  problem(mistake: DocumentMistake): ToolkitError<"INVALID_MANIFEST">;
}

const maxBytes = 16 * 2 ** 20;
/** YAML takes fifty times as long as JSON to be parsed, and nothing else runs meanwhile. */
const maxYamlLength = 2 * 2 ** 20;
const maxDepth = 250;
const fetchTimeoutMs = 30_000;
const subject = "The document";
const path = ["spec", "document"];

/** Reads the document of a manifest: from the manifest itself, a file beside it, or a URL. @throws ToolkitError `INVALID_MANIFEST` */
export async function readDocument(
  manifest: ParsedManifest<OpenApiSpec>,
  context: ManifestContext,
): Promise<ReadDocument> {
  const { document } = manifest.spec;
  if (typeof document !== "string") {
    const problem = ({ at, message }: DocumentMistake) => manifest.problem([...path, ...stepsOf(at)], message, "");
    return { value: document, url: undefined, problem };
  }
  const place = context.expand(path, document);
  if (!/^https?:/i.test(place)) {
    const bytes = await context.readFile(path, place, { maxBytes });
    const file = manifest.file === undefined ? place : join(dirname(manifest.file), place);
    return { ...parsed(Buffer.from(bytes).toString("utf8"), file), url: undefined };
  }
  const url = URL.parse(place);
  if (url === null)
    throw manifest.problem(path, "The URL of the document is none.", "Write https://host/openapi.json.");
  // The path of a URL may hold a key.
  return { ...parsed(await fetched(url, manifest, context), url.origin), url };
}

/** The origin is written by the operator, so it may be private; where it leads on to may not. */
async function fetched(url: URL, manifest: ParsedManifest, { signal, clock }: ManifestContext): Promise<string> {
  try {
    const egress = EgressPolicy.strict.allowing(url.origin);
    return await withinTime(fetchTimeoutMs, { clock, signal }, async (both) => {
      const content = await readLocation(url, { egress, signal: both, maxBytes });
      return Buffer.from(await content.bytes()).toString("utf8");
    });
  } catch (cause) {
    signal.throwIfAborted();
    if (ToolkitError.is(cause, "LIMIT_EXCEEDED"))
      throw manifest.problem(path, `The document cannot be fetched: it has more than ${maxBytes} bytes.`, "Split it.", {
        cause,
      });
    throw manifest.problem(path, `The document cannot be fetched: ${messageOf(cause)}`, "", { cause });
  }
}

type Parsed = Omit<ReadDocument, "url">;

function parsed(written: string, file: string): Parsed {
  const text = written.replace(/^\ufeff/, "");
  const find = placeFinder(text);
  const start = { file, ...fileStart };
  const problemAt = (place: Place, { at: pointer, message }: DocumentMistake) => {
    const where = pointer === "" ? "" : ` (at ${pointer})`;
    return manifestProblem({ file, ...place }, `${message.replace(/\.$/, "")}${where}.`, "");
  };
  if (/^\s*\{/.test(text)) {
    const value = jsonOf(text, file);
    if (value !== undefined) {
      const problem = (mistake: DocumentMistake) => problemAt(find(offsetInJson(text, stepsOf(mistake.at))), mistake);
      if (jsonFault(value, maxDepth) === undefined) return { value, problem };
      throw manifestProblem(
        start,
        `${subject} is nested deeper than ${maxDepth} levels, or has a number beyond 1.8e308.`,
        "",
      );
    }
  }
  if (text.length > maxYamlLength)
    throw manifestProblem(
      start,
      `${subject} is no JSON, and as YAML it may have ${maxYamlLength} characters.`,
      "Write it as JSON.",
    );
  const { value, placeOf } = parsePlacedYaml(text, subject, (place, what, hint, cause) =>
    manifestProblem({ file, ...place }, what, hint, { cause }),
  );
  return { value, problem: (mistake) => problemAt(placeOf(stepsOf(mistake.at)), mistake) };
}

/** Undefined for what is no JSON and small enough to be looked at as YAML, whose parser finds the place of a mistake. */
function jsonOf(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (text.length <= maxYamlLength) return undefined;
    const offset = Number(/at position (\d+)/.exec(messageOf(cause))?.[1] ?? 0);
    throw manifestProblem({ file, ...placeFinder(text)(offset) }, `${subject} is no JSON: ${messageOf(cause)}.`, "", {
      cause,
    });
  }
}
