// The nouns of the product: header, event, surface, issue, snapshot data. Shapes only; no behaviour.

/** Format versions this build reads natively (FORMAT.md section 0). */
export const FORMAT_VERSIONS = [0, 1, 2, 3, 4] as const

/** The newest format version this build reads natively. */
export const NEWEST_FORMAT_VERSION = 4

/** The first row of a log (FORMAT.md section 2). Times are epoch milliseconds. */
export interface SessionHeader {
  readonly version: number
  readonly id: string
  readonly createdAt: number
  readonly cwd?: string
  readonly parentSession?: string
  /** v0 and v1: number of inherited leading events; presence means seeded. */
  readonly seedLength?: number
  /** v2 and later. */
  readonly isSeeded?: boolean
  readonly origin?: string
  readonly delegationDepth?: number
  readonly agentPreset?: string
}

/** Event types that may stand on a surface (FORMAT.md section 5). */
export type SurfaceType = 'user/message' | 'assistant/message' | 'tool/result' | 'system/message' | 'developer/message'

/**
 * How strictly rows are accepted (FORMAT.md sections 7.1 and 7.3). `native`: the generation a session lives in now.
 * `historical`: an older generation kept beside a newer one and named by its path.
 */
export type ReadingMode = 'native' | 'historical'

/**
 * The kinds of survivable defects. An issue never stops a read; `--strict` turns any of them into a refusal.
 */
export type IssueKind =
  | 'torn-tail'
  | 'discarded-rows'
  | 'unknown-event-type'
  | 'unknown-version'
  | 'extra-key'
  | 'retired-key'
  | 'header-field'
  | 'envelope-field'
  | 'message-id'
  | 'invalid-utf8'
  | 'seed-marker'
  | 'path-mismatch'
  | 'encoding-mismatch'
  | 'duplicate-id'
  | 'stray-file'
  | 'dangling-link'
  | 'missing-root'
  | 'unreadable-entry'
  | 'legacy-flat-file'
  | 'unreadable-log'
  | 'unsupported-log'
  | 'corrupt-log'
  | 'empty-conversation'
  | 'spill-failed'
  | 'salvaged'

/** A survivable defect met while reading, returned as data beside the result. */
export interface Issue {
  readonly kind: IssueKind
  /** One plain sentence without its place; the place is in the facts below. */
  readonly message: string
  readonly file?: string
  /** 1-based row number in the file; the header is line 1. */
  readonly line?: number
  /** 1-based zstd frame number; the header frame is frame 1. */
  readonly frame?: number
  readonly seq?: number
  readonly sessionId?: string
  /** How many times it was met; absent for once. The place is that of the first. */
  readonly count?: number
}

/** The message of a surface event, brought to one shape for all versions. */
export interface SurfaceMessage {
  readonly seq: number
  readonly type: SurfaceType
  readonly role: 'user' | 'assistant' | 'tool' | 'system' | 'developer'
  /** Absent when the stored message has none (an issue, not a refusal). */
  readonly id?: string
  /** `source.kind`, or `plugin:<name>` for a v0–v3 plugin source. */
  readonly sourceKind: string
  /** True for the user message a compaction left (FORMAT.md section 4.2). */
  readonly checkpoint: boolean
  /** Text blocks joined with `"\n"`; `""` when there is none. */
  readonly text: string
  /** UTF-8 bytes of a text that was counted only; `text` is empty then. */
  readonly textBytes?: number
}

/**
 * One surface event as decode hands it to fold. The payload stays in its stored bytes until somebody asks for it, because
 * most messages are shadowed later and never needed.
 */
export interface SurfaceEvent {
  readonly seq: number
  /** Milliseconds since the epoch, as stored. */
  readonly time: number
  readonly type: SurfaceType
  /** As stored; `undefined` when absent. The fold judges its shape. */
  readonly surfaceOp: unknown
  /** As stored; `undefined` when absent, and once the event was visited. The fold judges its shape. */
  readonly sourceEventSeqs: unknown
  /** Reads and checks the message; throws a refusal when its shape is wrong. */
  message(): SurfaceMessage
  /** The message with its text counted, not read; `undefined` when only `message` can tell. Refuses and reports nothing. */
  counted(): SurfaceMessage | undefined
  /** The stored `data`, checked like the message, old shapes brought up to date. */
  data(): unknown
  /** Says that nobody will ask for it again, so that its bytes may be forgotten. More than once does no harm. */
  release(): void
}

/** A replacement the fold applied: `seq` took the place of `shadowedSeqs`, in surface order. */
export interface Replacement {
  readonly seq: number
  readonly start: number
  readonly end: number
  readonly shadowedSeqs: readonly number[]
}

/** Any other event that some stage wants to see, in full. */
export interface LogOnlyEvent {
  readonly seq: number
  readonly time: number
  readonly type: string
  /** The stored `data`. */
  data(): unknown
  /** True when the row carries `surfaceOp` or `sourceEventSeqs`, which only surface events may. */
  readonly hasSurfaceMetadata: boolean
  /** True for a type this build knows. */
  readonly isKnown: boolean
  /** True for a type this build does not know whose row says that it may be skipped. */
  readonly isOpaque: boolean
}

/** One message of a conversation as projected (FORMAT.md section 4.3). */
export interface ProjectedMessage {
  readonly seq: number
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly checkpoint: boolean
  /** UTF-8 bytes of a text that was counted only; `text` is empty then. */
  readonly textBytes?: number
}

/** A message as it stands in the snapshot. */
export interface ConversationMessage {
  readonly role: 'user' | 'assistant'
  readonly text: string
}

/** The data object of one source, in the key order of its serialisation. */
export interface SnapshotData {
  readonly sessionId: string
  readonly label: string
  readonly cwd: string | null
  /** Seq of the last event stored in the log that was read; `null` for a log without events. */
  readonly capturedThroughSeq: number | null
  readonly conversation: readonly ConversationMessage[]
}

/** What retention did to one source. Bytes are UTF-8 bytes of message text. */
export interface RetentionFacts {
  readonly compacted: boolean
  readonly originalMessages: number
  readonly retainedMessages: number
  readonly omittedMessages: number
  readonly omittedBytes: number
  readonly truncated: boolean
}

/** A session named by somebody: the exact id, and the label they see it under. */
export interface Reference {
  readonly sessionId: string
  readonly label: string
}

/** One entry of the message's source record. Key order is part of the format. */
export interface ReferenceFacts extends RetentionFacts {
  readonly sessionId: string
  readonly label: string
  /** Format version of the file that was read; absent for 0. */
  readonly capturedFormatVersion?: number
  readonly capturedThroughSeq: number | null
  readonly inputIndex: number
}

/** Where the full transcript of a truncated source is, or why it is nowhere. */
export type FullSnapshot =
  | { readonly status: 'saved'; readonly locator: string; readonly bytes: number; readonly retrievalHint: string }
  | { readonly status: 'unavailable'; readonly reason: 'storage-not-configured' | 'save-failed' }

/** One entry of the omission notice. */
export interface Omission {
  readonly sessionId: string
  readonly capturedThroughSeq: number | null
  readonly omittedMessages: number
  readonly omittedBytes: number
  readonly fullSnapshot: FullSnapshot
}

/** The source record of the "Referenced sessions" message. */
export interface SessionReferenceSource {
  readonly kind: 'session-reference'
  readonly form: 'recall'
  readonly version: 1
  readonly references: readonly ReferenceFacts[]
}

/** A text block of a message. */
export interface TextBlock {
  readonly type: 'text'
  readonly text: string
}

/** The "Referenced sessions" message: user role, no authority. */
export interface ReferenceMessage {
  readonly role: 'user'
  readonly content: readonly TextBlock[]
  readonly source: SessionReferenceSource
}

/** How grave a finding is. */
export type Severity =
  /** The log is refused: damaged, not understood, or out of reach. */
  | 'corrupt'
  | 'unsupported'
  | 'unreadable'
  /** dsh-ref reads it and reports an issue; `--strict` refuses it. */
  | 'issue'
  /** dsh-ref reads it in silence; DSH itself refuses it. */
  | 'refused-by-dsh'
  /** Worth knowing, wrong to nobody. */
  | 'note'

/** One thing found in one log. */
export interface Finding {
  readonly severity: Severity
  /** The name of the rule: stable, kebab-case. */
  readonly rule: string
  readonly message: string
  readonly file: string
  readonly line?: number
  readonly frame?: number
  readonly seq?: number
  readonly expected?: unknown
  readonly actual?: unknown
  /** How many times; absent for once. */
  readonly count?: number
  /** With rule `secret`: what kind of secret it is. */
  readonly kind?: string
}

/** What is the matter with a log as a whole; the gravest finding decides. */
export type CheckStatus = 'ok' | 'issues' | 'corrupt' | 'unsupported' | 'unreadable'

/** The verification of one log. */
export interface CheckedLog {
  readonly path: string
  readonly status: CheckStatus
  readonly sessionId: string | null
  readonly formatVersion: number | null
  /** Events accepted. */
  readonly events: number
  readonly rows: number
  readonly frames: number
  readonly findings: readonly Finding[]
}

/** A place of the roots that is odd and holds no log that could be checked: a stray file, a root that is missing. */
export type CheckedPlace = Pick<CheckedLog, 'path' | 'status' | 'findings'>

/** Why a reading is not the whole log, and where it ends. */
export interface Degraded {
  readonly reason: string
  /** Seq of the last event of the prefix; `null` when none stands. */
  readonly throughSeq: number | null
  /** 1-based row, or zstd frame, of the damage, where known. */
  readonly line?: number
  readonly frame?: number
}
