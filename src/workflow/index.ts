export type { Workflow, WorkflowBranch, WorkflowStep } from "./workflow-definition.ts";
export { type WorkflowFilesOptions, workflowFiles } from "./workflow-files.ts";
export { type WorkflowSupply, Workflows, workflows } from "./workflows.ts";
