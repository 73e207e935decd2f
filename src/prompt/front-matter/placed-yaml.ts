import type { FieldPath } from "../../lib/value.ts";
import { type Place, placeFinder } from "../prompt-problem.ts";
import { fieldsOf, offsetOf, parseYamlDocument, type YamlProblem } from "./yaml-document.ts";

/** A value that a person wrote in a file, and the places of its parts. */
export interface PlacedYaml {
  readonly value: Readonly<Record<string, unknown>>;
  /** The place of a part, or of the nearest part around it that is written. */
  placeOf(path: FieldPath): Place;
}

/** Makes the error of a mistake at a place. */
export type PlacedProblem = (place: Place, what: string, hint: string, cause?: unknown) => Error;

/**
 * Parses a whole file of YAML, of which JSON is a part: fields by name.
 *
 * @param subject - the file, as messages call it
 * @throws Error of `problem`
 */
export function parsePlacedYaml(text: string, subject: string, problem: PlacedProblem): PlacedYaml {
  const find = placeFinder(text);
  // A mistake may be found behind the last character, where editors show nothing.
  const at = (offset: number) => find(Math.min(offset, Math.max(0, text.length - 1)));
  const yamlProblem: YamlProblem = (offset, ...said) => problem(at(offset), ...said);
  const document = parseYamlDocument(text, yamlProblem, subject);
  const value = fieldsOf(document, text, yamlProblem, subject);
  return { value, placeOf: (path) => at(offsetOf(document, path)) };
}
