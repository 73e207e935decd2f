import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";

/** The model's stream ended before its answer did. */
export class IncompleteAnswer extends Error {
  override readonly name = "IncompleteAnswer";

  constructor() {
    super("The answer ended before it was finished.");
  }
}

/** The parts of an answer, as they come. */
export interface PartReader {
  /**
   * The parts that came since the last time, at least one; undefined at the end. The model waits while nothing is read.
   *
   * @throws the error that broke the answer off; the reason of an abort
   */
  read(): Promise<readonly LanguageModelV4StreamPart[] | undefined>;
  /** Ends the request. Without effect on an answer that has ended. */
  cancel(): void;
}

/**
 * A model whose answers can be read without a web stream, which costs more than the answer itself. `doStream` gives the same parts to all
 * others.
 */
export interface ReadableModel extends LanguageModelV4 {
  open(options: LanguageModelV4CallOptions): Promise<PartReader>;
}

/** The parts of the answer of any model. */
export async function openAnswer(model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<PartReader> {
  if (isReadable(model)) return model.open(options);
  const reader = (await model.doStream(options)).stream.getReader();
  return {
    async read() {
      const { done, value } = await reader.read();
      return done ? undefined : [value];
    },
    cancel: () => void reader.cancel().catch(() => undefined),
  };
}

/** The parts of a reader as a web stream. */
export function streamOfParts(reader: PartReader): ReadableStream<LanguageModelV4StreamPart> {
  const pull = async (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => {
    const parts = await reader.read();
    if (parts === undefined) controller.close();
    else for (const part of parts) controller.enqueue(part);
  };
  return new ReadableStream({ pull, cancel: () => reader.cancel() }, { highWaterMark: 0 });
}

function isReadable(model: LanguageModelV4): model is ReadableModel {
  return typeof (model as Partial<ReadableModel>).open === "function";
}
