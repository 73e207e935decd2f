/**
 * Sampling settings of a model. Those left out are up to the provider, and so is the range of each: a model that does not know a
 * setting may ignore or refuse it.
 */
export interface ModelSettings {
  /** The sampling temperature: 0 for the likeliest answer. At least 0; most models take up to 1 or 2. */
  readonly temperature?: number | undefined;
  /** The most tokens one answer of the model may have: from 1. */
  readonly maxOutputTokens?: number | undefined;
  /** It chooses among the likeliest tokens that make up so much of the probability: 0 to 1. */
  readonly topP?: number | undefined;
  /** It chooses among so many of the likeliest tokens: from 1. */
  readonly topK?: number | undefined;
  /** The answer ends before the first of these texts. */
  readonly stopSequences?: readonly string[] | undefined;
  /** The same seed gives the same answer, where the model can. A whole number. */
  readonly seed?: number | undefined;
  /** Above 0 it avoids what has been said at all; usually -2 to 2. */
  readonly presencePenalty?: number | undefined;
  /** Above 0 it avoids what has been said often; usually -2 to 2. */
  readonly frequencyPenalty?: number | undefined;
}
