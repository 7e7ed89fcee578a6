// What can be said of reading one log: the source, the options, the reader that is fed, and the facts at the end. Shapes only.

import type { DshRefError } from '../errors.ts'
import type { Issue, ReadingMode, SessionHeader } from '../types.ts'
import type { AcceptanceState, LogVisitor } from './acceptance.ts'
import type { WantedTexts } from './kept-row.ts'
import type { DecodeLimits } from './limits.ts'
import type { ZstdDecoder } from './zstd-decoders.ts'

/** How the bytes of a log are stored. */
export type LogEncoding = 'raw' | 'zstd'

/** A log to read. `name` is what messages call it: the path, or `<stdin>`. */
export type LogSource =
  | {
      readonly kind: 'file'
      readonly path: string
      readonly encoding: LogEncoding
      readonly mode?: ReadingMode
      /** Whose log it was when it was located; a header that names another session means that it was replaced since. */
      readonly sessionId?: string
      /** Why the log is refused unless it is salvaged, although its bytes can be read. */
      readonly refusal?: DshRefError
    }
  | {
      readonly kind: 'bytes'
      readonly name: string
      readonly bytes: AsyncIterable<Uint8Array>
      readonly encoding: LogEncoding
    }

/** Options of one read. */
export interface DecodeOptions {
  readonly allowUnknownVersion?: boolean
  readonly limits?: Partial<DecodeLimits>
  readonly signal?: AbortSignal | undefined
  /**
   * Read everything, as `check` does: parse every row, and, where there is a fold, read every message. By default rows that
   * cannot matter are read by their first and last bytes, and messages that nobody asks for not at all.
   */
  readonly everyRow?: boolean
  /** Take a first frame that holds more than the header, as packing a log anew makes it; for salvage. */
  readonly allowFullHeaderFrame?: boolean
  /** Accept events through this seq only and end the log there, as if it had no more; for salvage. */
  readonly untilSeq?: number
  /**
   * Whose texts somebody will ask for: with `conversation` those of user and assistant messages, which is all that
   * projection keeps; the others read as empty and take no memory. Default: all.
   */
  readonly texts?: WantedTexts
  /** Memory, in bytes, for the surface rows of a log that cannot be read again by place, above which they are made slim. */
  readonly roomyBytes?: number
  /** zstd decoder; the default is the best there is for each frame (zstd.ts). */
  readonly decoder?: ZstdDecoder
  /**
   * Go on where an earlier read of the same file ended; the visitor sees only what was added since. Refuses with
   * `unreadable` when the bytes before that point are not the ones that were read. Files only.
   */
  readonly resumeFrom?: { readonly header: SessionHeader; readonly point: ResumePoint }
}

/** A place between two rows (raw) or frames (zstd) up to which everything was accepted, and what is known there. JSON. */
export interface ResumePoint {
  /** Byte of the file. */
  readonly offset: number
  /** The last bytes before it, base64. */
  readonly tail: string
  readonly plaintextBytes: number
  readonly frames: number
  readonly acceptance: AcceptanceState
  /** Issues of the header; those of rows are in `acceptance`. */
  readonly issues: readonly Issue[]
}

/** What is known about a log once it was read to its end. */
export interface LogFacts {
  readonly header: SessionHeader
  readonly formatVersion: number
  /** Seq of the last event stored; `null` for a log without events. */
  readonly capturedThroughSeq: number | null
  /** Time of that event, epoch milliseconds; `createdAt` for a log without events. */
  readonly updatedAt: number
  readonly hasOpenTurn: boolean
  readonly isTorn: boolean
  readonly issues: readonly Issue[]
  /** Work done, for tests and benchmarks. */
  readonly work: {
    readonly bytesRead: number
    readonly rows: number
    readonly parsedRows: number
    readonly frames: number
  }
  /** Where a later read can go on; absent when nothing was accepted whole, or the visitor takes no `mark`. */
  readonly resumePoint?: ResumePoint
}

/** A visitor that says what it made of the log, while messages can still be read. */
export interface LogReader<T> extends LogVisitor {
  finish(): T
  /** Called at every place where a later read could go on; the last one becomes the `resumePoint`. */
  mark?(): void
}
