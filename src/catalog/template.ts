/** Matches URIs against an RFC 6570 template. */
export type TemplateMatcher = (uri: string) => boolean;

/** Beyond this a URI is matched by no template: the time to match is bounded. */
const maxUriLength = 8192;

interface Operator {
  readonly first: string;
  readonly separator: string;
  /** What a value may consist of. */
  readonly value: string;
  /** Named values, as in a query. */
  readonly named: boolean;
}

const unreserved = "[^/?#,;&.]";
const operators: Readonly<Record<string, Operator>> = {
  "": { first: "", separator: ",", value: "[^/?#,]", named: false },
  "+": { first: "", separator: ",", value: "[^?#]", named: false },
  "#": { first: "#", separator: ",", value: ".", named: false },
  ".": { first: ".", separator: ".", value: unreserved, named: false },
  "/": { first: "/", separator: "/", value: "[^/?#]", named: false },
  ";": { first: ";", separator: ";", value: "[^/?#;]", named: true },
  "?": { first: "?", separator: "&", value: "[^#&]", named: true },
  "&": { first: "&", separator: "&", value: "[^#&]", named: true },
};

/**
 * Compiles a URI template (RFC 6570, all four levels) to a matcher. A template that cannot be read matches only itself.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6570
 */
export function matchTemplate(template: string): TemplateMatcher {
  let source = "";
  let at = 0;
  for (const expression of template.matchAll(/\{([+#./;?&]?)([^{}]+)\}/g)) {
    source += literal(template.slice(at, expression.index)) + toSource(expression[1] ?? "", expression[2] ?? "");
    at = expression.index + expression[0].length;
  }
  const pattern = new RegExp(`^${source}${literal(template.slice(at))}$`, "s");
  return (uri) => uri.length <= maxUriLength && pattern.test(uri);
}

function toSource(operator: string, list: string): string {
  const { first, separator, value, named } = operators[operator] ?? (operators[""] as Operator);
  const variables = list.split(",");
  if (named) {
    // Any of the named values may be missing, as where a variable is undefined.
    const pairs = variables.map((variable) => {
      const name = variable.replace(/(\*|:\d+)$/, "");
      return variable.endsWith("*") ? `[^#${separator}=]+(?:=${value}*)?` : `${literal(name)}(?:=${value}*)?`;
    });
    return `(?:${literal(first)}(?:${pairs.join("|")})(?:${literal(separator)}(?:${pairs.join("|")}))*)?`;
  }
  const one =
    variables.length === 1 && !list.endsWith("*") ? `${value}+` : `${value}+(?:${literal(separator)}${value}+)*`;
  // The simple form stands for something; the others vanish with their variable.
  return operator === "" || operator === "+" ? `(?:${one})` : `(?:${literal(first)}(?:${one}))?`;
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
