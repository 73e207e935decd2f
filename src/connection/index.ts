export type {
  Connector,
  ConnectorHost,
  ConnectorMemory,
  ConnectorSession,
  DescriptorList,
  DescriptorMap,
  InteractionOptions,
  PromptDescriptor,
  RemoteCompletion,
  ResourceDescriptor,
  ServerProcess,
  TemplateDescriptor,
  ToolDescriptor,
} from "../core/connector.ts";
export type { EgressOptions } from "../core/egress.ts";
export type { ToolkitErrorOptions } from "../core/error.ts";
export type {
  CredentialsHost,
  HeaderRequest,
  HttpAuth,
  HttpCredentials,
  HttpRefusal,
  ProtectedServer,
} from "../core/http-auth.ts";
export type {
  ContractChange,
  ContractEffect,
  Pin,
  PinnedKind,
  PinOptions,
  PinQuery,
  PinState,
  Pins,
  PinTarget,
  ToolkitPinOptions,
} from "../core/pin.ts";
export { type CheckedToolkit, type CheckPinsOptions, checkPins, type PinCheck } from "./check-pins.ts";
export type { CallerRootsLimits, ElicitationLimits, SamplingLimits } from "./interaction-limits.ts";
