/**
 * The part of a command that may be shown: its file name. Arguments often hold secrets, and some commands have them, or variables, inside:
 * then it is the first word.
 */
export function commandName(command: string): string {
  // A folder may have blanks in its name; a dash behind one begins an argument.
  const isPath = /^(?:[\\/]|[A-Za-z]:)/.test(command) && !/\s-|=/.test(command);
  const name = isPath ? fileName(command) : command;
  if (!/[\s=]/.test(name)) return fileName(name);
  return fileName(/^[^\s=]*/.exec(command)?.[0] ?? "") || "command";
}

function fileName(path: string): string {
  return path.split(/[\\/]/).findLast((segment) => segment !== "") ?? path;
}
