/** The answers a client got: of each method what shows that the answer arrived whole. */
export interface ClientOutcome {
  /** The revision that was agreed on. Absent where the client does not say. */
  readonly protocol?: string | undefined;
  readonly tools: readonly string[];
  readonly called: unknown;
  readonly prompts: readonly string[];
  readonly prompt: readonly unknown[];
  readonly resources: readonly string[];
  readonly read: unknown;
}

/** The answers that `servedToolkit` gives every client. */
export const expectedOutcome: ClientOutcome = {
  tools: ["ask", "echo", "fail", "hang", "picture", "steps", "sum", "think", "whoami"],
  called: { sum: 3 },
  prompts: ["greet"],
  prompt: ["Be kind.", "Greet Ada."],
  resources: ["text:note"],
  read: "remember the milk",
};
