// The public names of the library: one explicit list, no logic.

export { type Candidate, type CandidateList, type ListOptions, listCandidates } from './candidates.ts'
export { checkLog, checkPath } from './check.ts'
export type { LogEncoding, LogFacts, LogSource } from './decode/decode.ts'
export { DEFAULT_LIMITS, type DecodeLimits } from './decode/limits.ts'
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
export { renderTranscript } from './render/transcript.ts'
export { type Retained, type RetainSource, retain } from './retain.ts'
export { readSalvaged, type SalvagedSurface } from './salvage.ts'
export { readSurface, type Surface, type SurfaceOptions } from './surface.ts'
export { decodeTranscript, type Transcript, type TranscriptCapture } from './transcript.ts'
export type {
  CheckedLog,
  ConversationMessage,
  Degraded,
  Finding,
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
