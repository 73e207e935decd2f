/** Matches URIs against an RFC 6570 template. */
export type TemplateMatcher = (uri: string) => boolean;

/** Beyond this a URI is matched by no template: the time to match is bounded. */
const maxUriLength = 8192;

/**
 * A pattern without any way back: its states are followed all at once, so that the time to match grows with the length of the URI
 * and never faster. Templates come from servers, URIs from callers; neither may hang the process.
 */
type Instruction =
  | { readonly is: "text"; readonly character: string }
  /** Any character but these. */
  | { readonly is: "except"; readonly characters: string }
  /** Goes on at both. */
  | { readonly is: "fork"; readonly targets: readonly number[] };

/** A piece of a pattern: adds its instructions. */
type Piece = (program: Instruction[]) => void;

/**
 * Compiles a URI template (RFC 6570, all four levels) to a matcher: true for every URI the template can expand to. What a value
 * should have had encoded is taken as it is. An expression that cannot be read matches only itself.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6570
 */
export function matchTemplate(template: string): TemplateMatcher {
  const pieces: Piece[] = [];
  let at = 0;
  for (const expression of template.matchAll(/\{([+#./;?&]?)([^{}=,!@|][^{}]*)\}/g)) {
    const [whole, operator = "", variables = ""] = expression;
    pieces.push(text(template.slice(at, expression.index)), expansion(operator, variables.split(",")));
    at = expression.index + whole.length;
  }
  pieces.push(text(template.slice(at)));
  const program: Instruction[] = [];
  for (const piece of pieces) piece(program);
  return (uri) => uri.length <= maxUriLength && runs(program, uri);
}

function expansion(operator: string, variables: readonly string[]): Piece {
  const exploded = variables.some((variable) => variable.endsWith("*"));
  switch (operator) {
    // Stands for something, though by the letter of the RFC it may be empty: a family has no nameless member.
    case "":
      return oneOrMore(except("/?#"));
    case "+":
      return oneOrMore(except(""));
    case "#":
      return optional(sequence(text("#"), zeroOrMore(except(""))));
    case ".":
      return optional(sequence(text("."), zeroOrMore(except("/?#"))));
    case "/": {
      const segment = sequence(text("/"), zeroOrMore(except("/?#")));
      return exploded
        ? zeroOrMore(segment)
        : variables.reduce<Piece>((rest) => optional(sequence(segment, rest)), nothing);
    }
    case ";":
      return zeroOrMore(sequence(text(";"), pair(variables, "/?#;", "/?#;=")));
    case "&":
      return zeroOrMore(sequence(text("&"), pair(variables, "#&", "#&=")));
    default: {
      const one = pair(variables, "#&", "#&=");
      return optional(sequence(text("?"), one, zeroOrMore(sequence(text("&"), one))));
    }
  }
}

/** One `name=value` of a list of variables. Which are there, and in which order, is left open: an undefined one is left out. */
function pair(variables: readonly string[], notInValue: string, notInName: string): Piece {
  const names = variables.map((variable) =>
    variable.endsWith("*") ? oneOrMore(except(notInName)) : text(variable.replace(/:\d+$/, "")),
  );
  return sequence(either(names), optional(sequence(text("="), zeroOrMore(except(notInValue)))));
}

const nothing: Piece = () => undefined;

function text(characters: string): Piece {
  return (program) => {
    for (let at = 0; at < characters.length; at++) program.push({ is: "text", character: characters[at] as string });
  };
}

function except(characters: string): Piece {
  return (program) => program.push({ is: "except", characters });
}

function sequence(...pieces: readonly Piece[]): Piece {
  return (program) => {
    for (const piece of pieces) piece(program);
  };
}

function optional(piece: Piece): Piece {
  return (program) => {
    const start = program.length;
    program.push({ is: "fork", targets: [] });
    piece(program);
    program[start] = { is: "fork", targets: [start + 1, program.length] };
  };
}

function oneOrMore(piece: Piece): Piece {
  return (program) => {
    const start = program.length;
    piece(program);
    program.push({ is: "fork", targets: [start, program.length + 1] });
  };
}

function zeroOrMore(piece: Piece): Piece {
  return optional(oneOrMore(piece));
}

function either(pieces: readonly Piece[]): Piece {
  return (program) => {
    const start = program.length;
    program.push({ is: "fork", targets: [] });
    const starts: number[] = [];
    const ends: number[] = [];
    for (const piece of pieces) {
      starts.push(program.length);
      piece(program);
      ends.push(program.length);
      program.push({ is: "fork", targets: [] });
    }
    program[start] = { is: "fork", targets: starts };
    for (const end of ends) program[end] = { is: "fork", targets: [program.length] };
  };
}

/** Whether the program takes the whole text. */
function runs(program: readonly Instruction[], uri: string): boolean {
  // By instruction: the step in which it was last entered, so that it is entered once a step.
  const entered = new Int32Array(program.length + 1).fill(-1);
  let current: number[] = [];
  const enter = (at: number, step: number, states: number[]): void => {
    const pending = [at];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (entered[next] === step) continue;
      entered[next] = step;
      const instruction = program[next];
      if (instruction?.is === "fork") pending.push(...instruction.targets);
      else states.push(next);
    }
  };
  enter(0, 0, current);
  for (let at = 0; at < uri.length; at++) {
    const character = uri[at] as string;
    const next: number[] = [];
    for (const state of current) {
      const instruction = program[state];
      if (instruction !== undefined && takes(instruction, character)) enter(state + 1, at + 1, next);
    }
    if (next.length === 0) return false;
    current = next;
  }
  return current.includes(program.length);
}

function takes(instruction: Instruction, character: string): boolean {
  return instruction.is === "text"
    ? instruction.character === character
    : instruction.is === "except" && !instruction.characters.includes(character);
}
