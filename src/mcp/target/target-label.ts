/**
 * What may be shown of a command: its file name. Arguments often hold secrets, and some write them, or variables, into the command:
 * then it is the first word.
 */
export function commandName(command: string): string {
  // A folder may have blanks in its name; what has a dash behind one has arguments.
  const isPath = /^(?:[\\/]|[A-Za-z]:)/.test(command) && !/\s-|=/.test(command);
  const name = isPath ? fileName(command) : command;
  if (!/[\s=]/.test(name)) return fileName(name);
  return fileName(/^[^\s=]*/.exec(command)?.[0] ?? "") || "command";
}

function fileName(path: string): string {
  return path.split(/[\\/]/).findLast((segment) => segment !== "") ?? path;
}
