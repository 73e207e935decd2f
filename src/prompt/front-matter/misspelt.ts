import { nearest } from "../../lib/similar.ts";

/** Shorter ones are the beginning of too much. */
const minBeginning = 4;

/**
 * The known field that was meant by an unknown one: written in another way (`systemPrompt`), cut short (`system`), or with a slip
 * (`modle`). Undefined where it is a field of its own.
 */
export function misspelt(field: string, known: Iterable<string>): string | undefined {
  const fields = [...known];
  const wanted = bare(field);
  const same = fields.find((other) => bare(other) === wanted);
  if (same !== undefined) return same;
  // What only stands inside another name, as `prompt` in `system_prompt`, is no slip.
  const slip = nearest(field, fields, fields.length).find(
    (other) => Math.abs(other.length - field.length) <= Math.max(1, Math.floor(field.length / 3)),
  );
  return slip ?? (wanted.length < minBeginning ? undefined : fields.find((other) => bare(other).startsWith(wanted)));
}

function bare(field: string): string {
  return field.toLowerCase().replace(/[^a-z0-9]/g, "");
}
