import { useRef, useState } from "preact/hooks";
import type { ShownError, ShownItem, ShownLint, ShownOutcome, ShownPrompt } from "../inspection-face.ts";
import { act, errorOf, listTypes, read, useRead } from "./client.ts";
import { Badge, Code, duration, Json, Problem } from "./parts.tsx";
import { ContentView } from "./result-view.tsx";
import { SchemaForm } from "./schema-form.tsx";

/** An item with its form, and what came of it. */
export function ItemView({ kind, item }: { readonly kind: string; readonly item: string }) {
  const key = `${kind} ${item}`;
  const { value, error } = useRead(key, () => read<ShownItem>("item", { ref: item, kind }), listTypes);
  if (value === undefined) return <Problem error={error} />;
  return (
    <article class="card" aria-labelledby="item">
      <h2 id="item" class="breaks">
        {value.label} <Badge tone="plain">{value.kind}</Badge>
        {value.stale && <Badge tone="bad">not connected</Badge>}
      </h2>
      {value.title !== undefined && <p class="title">{value.title}</p>}
      {value.description !== undefined && <p class="lines">{value.description}</p>}
      {value.refusedBy !== undefined && <p class="problem">Refused by {value.refusedBy}</p>}
      <Annotations of={value} />
      <Use item={value} />
      <Definition of={value} />
    </article>
  );
}

function Annotations({ of: { annotations, mediaType, size } }: { readonly of: ShownItem }) {
  const entries = Object.entries(annotations ?? {}).filter(([, value]) => typeof value === "boolean");
  const about = [...(mediaType === undefined ? [] : [mediaType]), ...(size === undefined ? [] : [`${size} bytes`])];
  if (entries.length + about.length === 0) return null;
  return (
    <p class="quiet">{[...about, ...entries.map(([name, value]) => `${name}: ${value ? "yes" : "no"}`)].join(" · ")}</p>
  );
}

interface Running {
  readonly outcome?: ShownOutcome | undefined;
  readonly prompt?: ShownPrompt | undefined;
  readonly error?: ShownError | undefined;
  readonly isBusy?: boolean | undefined;
}

/** The form of an item, and the outcome of what was done with it last. */
function Use({ item }: { readonly item: ShownItem }) {
  const { kind, ref } = item;
  const [{ outcome, prompt, error, isBusy = false }, set] = useState<Running>({});
  const stop = useRef<AbortController | undefined>(undefined);
  const run = async (action: (signal: AbortSignal) => Promise<Running>) => {
    const controller = new AbortController();
    stop.current = controller;
    set({ isBusy: true });
    set(await action(controller.signal).catch((thrown: unknown) => ({ error: errorOf(thrown) })));
  };
  const call = (input: unknown) =>
    run(async (signal) => ({ outcome: await act<ShownOutcome>("call", { ref, kind, input }, signal) }));
  const render = (input: unknown) =>
    run(async (signal) => ({ prompt: await act<ShownPrompt>("render", { ref, input }, signal) }));
  const fetched = (input: unknown) =>
    run(async (signal) => ({ outcome: await act<ShownOutcome>("read", { ref: uriIn(input) ?? ref }, signal) }));
  const actions =
    kind === "tool"
      ? [{ label: "Call", run: call }]
      : kind === "prompt"
        ? [
            { label: "Render", run: render },
            { label: "Run", run: call },
          ]
        : [{ label: "Read", run: fetched }];
  // A call that waits has not failed.
  const waits = outcome?.error?.approval !== undefined;
  const schema = kind === "template" ? uriSchema(item) : kind === "resource" ? undefined : item.input;
  return (
    <>
      <SchemaForm schema={schema} actions={actions} isBusy={isBusy} onStop={() => stop.current?.abort()} />
      <div role="status">
        {isBusy && <p>Waiting for the answer.</p>}
        {outcome !== undefined && <p class="quiet">{outcomeText(outcome)}</p>}
      </div>
      <Problem error={error ?? (waits ? undefined : outcome?.error)} />
      {waits && (
        <p>
          <a href="#/approvals">It waits for an approval.</a>
        </p>
      )}
      {outcome?.content !== undefined && <ContentView content={outcome.content} cutFrom={outcome.cutFrom} />}
      {prompt !== undefined && <PromptView prompt={prompt} />}
      {kind === "prompt" && <LintView name={item.name} />}
    </>
  );
}

function outcomeText({ durationMs, attempts, cached, error }: ShownOutcome): string {
  if (error?.approval !== undefined) return `Waits for a decision, asked for after ${duration(durationMs)}`;
  const parts = [
    `${error === undefined ? "Answered" : "Failed"} after ${duration(durationMs)}`,
    ...(attempts === undefined ? [] : [`attempt ${attempts}`]),
    ...(cached === true ? ["from the cache"] : []),
  ];
  return parts.join(", ");
}

/** The form of a template is the URI that is to be read. */
function uriSchema({ uri = "" }: ShownItem) {
  return { type: "object", required: ["uri"], properties: { uri: { type: "string", description: uri, default: uri } } };
}

function uriIn(input: unknown): string | undefined {
  const { uri } = input as { readonly uri?: unknown };
  return typeof uri === "string" ? uri : undefined;
}

function PromptView({ prompt: { system, messages } }: { readonly prompt: ShownPrompt }) {
  return (
    <section aria-label="Rendered prompt">
      {system !== undefined && (
        <>
          <h3>system</h3>
          <Code text={system} label="system" />
        </>
      )}
      {messages.map(({ role, content }, at) => (
        <div key={at}>
          <h3>{role}</h3>
          {content.map((part, index) => (
            <ContentView key={index} content={part.content} cutFrom={part.cutFrom} isText />
          ))}
        </div>
      ))}
    </section>
  );
}

/** The findings of lint in the files that have the name of the prompt, else in all. */
function LintView({ name }: { readonly name: string }) {
  const { value, error } = useRead("lint", () => read<ShownLint>("lint"), ["promptListChanged"]);
  if (value === undefined) return <Problem error={error} />;
  if (value.isUnknown === true) return null;
  const nameOf = (file: string) => file.replace(/^.*[/\\]/, "");
  const base = (file: string) => nameOf(file).replace(/\..*$/, "");
  const own = value.files.filter((file) => base(file) === name.replace(/^.*[./]/, ""));
  const problems = value.problems.filter(({ file }) => own.length === 0 || own.includes(file));
  return (
    <section aria-label="Lint">
      <h3>Lint</h3>
      {problems.length === 0 && <p>There are no findings.</p>}
      <ul class="lint">
        {problems.map(({ file, line, column, severity, message, hint, code }) => (
          <li key={`${file} ${line} ${column} ${code}`}>
            <Badge tone={severity === "error" ? "bad" : severity === "warning" ? "busy" : "plain"}>{severity}</Badge>{" "}
            {message} {hint}
            <span class="quiet breaks" title={file}>
              {" "}
              {nameOf(file)}:{line}:{column}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The schemas, and the steps of a call. */
function Definition({ of: { input, output, steps = [], explanation } }: { readonly of: ShownItem }) {
  return (
    <>
      {steps.length > 0 && (
        <details>
          <summary>The steps of a call</summary>
          <ol>
            {steps.map(({ name, settings }) => (
              <li key={name}>
                {name} {Object.keys(settings).length > 0 && <code>{JSON.stringify(settings)}</code>}
              </li>
            ))}
          </ol>
        </details>
      )}
      {explanation !== undefined && (
        <details>
          <summary>Explain</summary>
          <Code text={explanation} label="Explanation" />
        </details>
      )}
      {input !== undefined && (
        <details>
          <summary>Input schema</summary>
          <Json value={input} label="Input schema" />
        </details>
      )}
      {output !== undefined && (
        <details>
          <summary>Output schema</summary>
          <Json value={output} label="Output schema" />
        </details>
      )}
    </>
  );
}
