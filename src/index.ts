// The public names of the library: one explicit list, no logic.

export { DEFAULT_LIMITS, type DecodeLimits, type LogEncoding, type LogFacts, type LogSource } from './decode/decode.ts'
export { DshRefError, type DshRefErrorCode, type ErrorFacts, EXIT_STATUS, type ReadFailedReason } from './errors.ts'
export { type LocatedLog, type LocateOptions, locatePath, locateSession, sourceOf } from './locate.ts'
export {
  type BudgetOptions,
  type Prepared,
  type PreparedSource,
  type PrepareRequest,
  prepare,
  type ReferenceInput,
} from './pipeline.ts'
export { project } from './project.ts'
export { type Retained, type RetainSource, retain } from './retain.ts'
export { readSurface, type Surface, type SurfaceOptions } from './surface.ts'
export type {
  ConversationMessage,
  FullSnapshot,
  Issue,
  IssueKind,
  Omission,
  ProjectedMessage,
  Reference,
  ReferenceFacts,
  ReferenceMessage,
  Replacement,
  RetentionFacts,
  SessionHeader,
  SessionReferenceSource,
  SnapshotData,
  SurfaceMessage,
  SurfaceType,
  TextBlock,
} from './types.ts'
export { decodeSessionUri, encodeSessionUri, formatMention, parseReferenceText } from './uri.ts'
