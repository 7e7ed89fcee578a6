// What prepare is asked and what it answers: the shapes of the library. ../pipeline.ts is the work.

import type { DecodeOptions } from '../decode/decode.ts'
import type { SalvagedSurface } from '../fold/salvage.ts'
import type { LocatedLog } from '../locate/located-log.ts'
import type { Redacted } from '../secrets/kinds.ts'
import type { SecretScanner } from '../secrets/scan.ts'
import type {
  Degraded,
  FullSnapshot,
  Issue,
  Omission,
  ProjectedMessage,
  ReferenceFacts,
  ReferenceMessage,
  SnapshotData,
  TextBlock,
} from '../types.ts'

/** A session to refer to: by id, by a log that was located, or by a surface that was read already. */
export type ReferenceInput =
  | { readonly sessionId: string; readonly label?: string | undefined }
  | { readonly log: LocatedLog; readonly label?: string | undefined }
  | { readonly surface: SalvagedSurface; readonly label?: string | undefined }

/** What decides how much of each source fits. */
export interface BudgetOptions {
  /** Bytes of one source's data object as tag-safe JSON; goes before everything else. */
  readonly maxReferenceBytes?: number | undefined
  /** Context window of the target in tokens; default: what the target's log says. */
  readonly contextWindow?: number | undefined
  /** 0 to 1, default 0.2. */
  readonly referenceContextFraction?: number | undefined
  /** 1 to 3, default 3. */
  readonly maxReferences?: number | undefined
}

/** What is done about secrets in what is read of the sessions; the message itself is the user's and stays as it is. */
export interface SecretOptions {
  /** Mask them before anything is cut, counted or saved. */
  readonly redact?: boolean | undefined
  /** Refuse the message with `SECRETS_FOUND` when there is one. */
  readonly failOnSecrets?: boolean | undefined
  /** What masks one text; default: all that docs/secrets.md lists. */
  readonly scanner?: SecretScanner | undefined
}

/** Everything `prepare` needs. */
export interface PrepareRequest
  extends BudgetOptions,
    SecretOptions,
    Pick<DecodeOptions, 'allowUnknownVersion' | 'limits' | 'signal' | 'decoder' | 'everyRow'> {
  /** The message, with mentions in it. */
  readonly message: string
  /** Id of the session that receives; guards against self reference, and its log gives the context window. */
  readonly target?: string | undefined
  /** References after those mentioned in the message. */
  readonly references?: readonly ReferenceInput[]
  /** Directories with session logs, in order. */
  readonly roots: readonly string[]
  /** Read the longest valid prefix of a corrupt log instead of refusing it; the message then says so. */
  readonly salvage?: boolean | undefined
  /** Where full transcripts of truncated sources go; absent: nowhere. */
  readonly spill?: Spill | undefined
  /** Told of each log that was found, before it is read; what it throws refuses the message. */
  readonly onLocated?: ((log: LocatedLog) => void) | undefined
}

/** A full transcript to save for a truncated source. */
export interface SpillRequest {
  readonly targetId: string
  /** 1-based position among the references. */
  readonly position: number
  readonly capture: SpillCapture
  readonly messages: readonly ProjectedMessage[]
}

/** What a transcript says about its origin, in the key order of its serialisation. */
export interface SpillCapture {
  readonly sessionId: string
  readonly label: string
  readonly cwd: string | null
  readonly capturedThroughSeq: number | null
  readonly capturedFormatVersion?: number
}

/** Saves a transcript; returns where, or throws. */
export type Spill = (request: SpillRequest) => Promise<Extract<FullSnapshot, { status: 'saved' }>>

/** One source as it was read and cut. */
export interface PreparedSource {
  readonly data: SnapshotData
  readonly facts: ReferenceFacts
  readonly budgetBytes: number
  /** Bytes of `data` as tag-safe JSON. */
  readonly usedBytes: number
  /** Set when only a prefix of the log could be read. */
  readonly degraded?: Degraded
  /** Turns of the person that are images or files only, and so not in `data`; absent for none. */
  readonly turnsWithoutText?: number
}

/** The prepared message. */
export interface Prepared {
  /** The readable message: mentions replaced by `@label`. */
  readonly content: readonly TextBlock[]
  /** The "Referenced sessions" message, or nothing when no session is referred to. */
  readonly additionalContext: readonly ReferenceMessage[]
  readonly sources: readonly PreparedSource[]
  readonly omissions: readonly Omission[]
  readonly issues: readonly Issue[]
  /** What was masked; with `redact` and `failOnSecrets` only. */
  readonly redacted?: Redacted
}
