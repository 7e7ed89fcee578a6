// The public names of the library: one explicit list, no logic.

export { checkLog, checkPath } from './check/check.ts'
export type { LogEncoding, LogFacts, LogSource } from './decode/decode.ts'
export { DEFAULT_LIMITS, type DecodeLimits } from './decode/limits.ts'
export { DshRefError, type DshRefErrorCode, type ErrorFacts, EXIT_STATUS, type ReadFailedReason } from './errors.ts'
export { readSalvaged, type SalvagedSurface } from './fold/salvage.ts'
export { readSurface, type Surface, type SurfaceOptions } from './fold/surface.ts'
export { type Candidate, type CandidateList, listCandidates } from './list/candidates.ts'
export type { ListOptions } from './list/list-options.ts'
export { locatePath, locateSession, sourceOf } from './locate/locate.ts'
export type { LocatedLog, LocateOptions } from './locate/located-log.ts'
export { prepare } from './pipeline.ts'
export type { BudgetOptions, Prepared, PreparedSource, PrepareRequest, ReferenceInput } from './prepare/request.ts'
export { project } from './project/project.ts'
export { type RedactedCapture, type RedactOptions, type RedactSource, redact } from './redact.ts'
export { decodeSessionUri, encodeSessionUri, formatMention, parseReferenceText } from './reference/uri.ts'
export { renderTranscript } from './render/transcript.ts'
export { type Retained, type RetainSource, retain } from './retain/retain.ts'
export type { Redacted, SecretCounts, SecretKind } from './secrets/kinds.ts'
export type { RedactedText } from './secrets/redact.ts'
export type { SecretScanner } from './secrets/scan.ts'
export { decodeTranscript, type Transcript, type TranscriptCapture } from './transcript/transcript.ts'
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
