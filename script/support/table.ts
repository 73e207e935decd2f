/** Rows under a heading, each column as wide as its widest cell; columns named in `right` are set to the right. */
export function table(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  options: { readonly right?: readonly string[] } = {},
): string {
  const widths = columns.map((column, at) => Math.max(column.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => {
        const width = widths[at] ?? 0;
        return options.right?.includes(columns[at] ?? "") ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return [line(columns), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
