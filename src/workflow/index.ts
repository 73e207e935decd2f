export type { StepRecord } from "./step-record.ts";
export type { StepRecords, WorkflowRun, WorkflowRunStatus } from "./stored-run.ts";
export { defineWorkflow, type Workflow, type WorkflowBranch, type WorkflowStep } from "./workflow-definition.ts";
export { type WorkflowFilesOptions, workflowFiles } from "./workflow-files.ts";
export type { WorkflowOptions } from "./workflow-options.ts";
export {
  type WorkflowRunQuery,
  type WorkflowSupply,
  type Workflows,
  workflows,
} from "./workflows.ts";
