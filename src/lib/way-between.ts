/** The nodes of a shortest way from one node of a graph to another, both included; undefined where there is none. */
export function wayBetween(
  from: string,
  to: string,
  next: (node: string) => Iterable<string>,
): readonly string[] | undefined {
  const ways: (readonly string[])[] = [[from]];
  const seen = new Set([from]);
  for (const way of ways) {
    const last = way.at(-1) ?? from;
    if (last === to) return way;
    for (const node of next(last)) {
      if (seen.has(node)) continue;
      seen.add(node);
      ways.push([...way, node]);
    }
  }
  return undefined;
}
