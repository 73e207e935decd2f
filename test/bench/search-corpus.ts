import type { JsonSchema } from "../../src/core/schema/types.ts";

/** A tool of a corpus, in the form of its files. */
export interface CorpusTool {
  readonly server: string;
  readonly serverDescription?: string;
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonSchema;
}

/** The queries: whole tasks with the tools that solve them, and single steps with the one that does. */
export interface CorpusQueries {
  readonly tasks: readonly { readonly query: string; readonly tools: readonly string[] }[];
  readonly steps: readonly { readonly query: string; readonly tool: string }[];
}

/** Servers with what they are for, and their tools: a description, and the names of the parameters. */
const servers: Readonly<Record<string, readonly [string, Readonly<Record<string, readonly [string, string]>>]>> = {
  git: [
    "Works on a git repository.",
    {
      git_status: ["Shows the working tree status", "repo_path"],
      git_commit: ["Records changes to the repository", "repo_path message"],
      git_diff_staged: ["Shows changes that are staged for commit", "repo_path"],
      git_log: ["Shows the commit logs", "repo_path max_count"],
      git_create_branch: ["Creates a new branch from an optional base branch", "repo_path branch_name base_branch"],
    },
  ],
  files: [
    "Reads and writes files of a folder.",
    {
      read_text_file: ["Read the complete contents of a file as text", "path head tail"],
      write_file: ["Create a new file or completely overwrite an existing one", "path content"],
      list_directory: ["Get a listing of all files and folders in a path", "path"],
      move_file: ["Move or rename files and directories", "source destination"],
      searchFiles: ["Recursively search for files matching a pattern", "path pattern excludePatterns"],
    },
  ],
  mail: [
    "Electronic mail of the company.",
    {
      sendMessage: ["Sends a message to one or more recipients", "to subject body attachments"],
      searchInbox: ["Finds messages by sender, subject or date", "from subject since"],
      archive: ["Takes a message out of the inbox", "messageId"],
    },
  ],
  calendar: [
    "Appointments and rooms.",
    {
      create_event: ["Schedules a meeting with attendees", "title start end attendees room"],
      list_events: ["Lists appointments between two dates", "from to"],
      find_free_slot: ["Suggests times at which all attendees are available", "attendees duration"],
    },
  ],
  billing: [
    "Invoices and payments.",
    {
      create_invoice: ["Writes an invoice for a customer", "customer_id line_items currency"],
      refund_payment: ["Pays back a charge, in whole or in part", "payment_id amount"],
      list_subscriptions: ["Lists the subscriptions of a customer", "customer_id status"],
    },
  ],
  maps: [
    "Places, routes and traffic.",
    {
      geocode: ["Turns an address into geographic coordinates", "address"],
      directions: ["Computes a route between two places", "origin destination mode"],
      places_nearby: ["Finds restaurants, shops and sights around a point", "latitude longitude radius category"],
    },
  ],
  data: [
    "SQL on the warehouse.",
    {
      run_query: ["Executes a read-only SQL statement", "sql"],
      describe_table: ["Shows columns and types of a table", "table"],
      export_csv: ["Saves the result of a statement as a spreadsheet", "sql path"],
    },
  ],
};

/** A corpus of our own, small enough to read. */
export const ownTools: readonly CorpusTool[] = Object.entries(servers).flatMap(([server, [serverDescription, tools]]) =>
  Object.entries(tools).map(([name, [description, parameters]]) => {
    const properties = Object.fromEntries(parameters.split(" ").map((each) => [each, { type: "string" }]));
    return { server, serverDescription, name, description, inputSchema: { type: "object", properties } };
  }),
);

export const ownQueries: CorpusQueries = {
  tasks: [
    {
      query: "Save a list of this month's invoices as a spreadsheet and email it to the accountant.",
      tools: ["export_csv", "sendMessage"],
    },
    {
      query: "Find a time when Ada and Grace are both free and schedule a meeting about the new branch.",
      tools: ["find_free_slot", "create_event"],
    },
    {
      query: "I want to walk from the office at 12 Main Street to a good restaurant close to it.",
      tools: ["geocode", "places_nearby", "directions"],
    },
    {
      query: "Look at what changed, commit it with a good message, and write the history into CHANGES.md.",
      tools: ["git_status", "git_diff_staged", "git_commit", "git_log", "write_file"],
    },
  ],
  steps: [
    { query: "rename a file", tool: "move_file" },
    { query: "read the contents of notes.txt", tool: "read_text_file" },
    { query: "which files are in the folder", tool: "list_directory" },
    { query: "search files by pattern", tool: "searchFiles" },
    { query: "commit the changes", tool: "git_commit" },
    { query: "history of commits", tool: "git_log" },
    { query: "make a branch", tool: "git_create_branch" },
    { query: "send an email with an attachment", tool: "sendMessage" },
    { query: "messages from a sender", tool: "searchInbox" },
    { query: "schedule meeting", tool: "create_event" },
    { query: "give money back to a customer", tool: "refund_payment" },
    { query: "coordinates of an address", tool: "geocode" },
    { query: "route from home to work", tool: "directions" },
    { query: "restaurants around here", tool: "places_nearby" },
    { query: "columns of a table", tool: "describe_table" },
    { query: "execute SQL", tool: "run_query" },
  ],
};
