// What can be said of finding a log: where to look and how, and what was found. Shapes only.

import type { DecodeOptions, LogEncoding } from '../decode/decode.ts'
import type { DshRefError } from '../errors.ts'
import type { Issue, ReadingMode, SessionHeader } from '../types.ts'

/** A log on disk. */
export interface LocatedLog {
  readonly path: string
  readonly encoding: LogEncoding
  readonly mode: ReadingMode
  readonly header: SessionHeader
  /** What is odd about where it lies. */
  readonly issues: readonly Issue[]
  /** Why it is refused unless it is salvaged, although its header can be read. */
  readonly refusal?: DshRefError
}

/** Where to look, and how. With `everyRow` other logs that claim the id are looked for as well, in all headers of the roots. */
export interface LocateOptions
  extends Pick<DecodeOptions, 'allowUnknownVersion' | 'limits' | 'signal' | 'decoder' | 'everyRow'> {
  readonly roots: readonly string[]
  /** Find logs in a container that DSH refuses, too: they are marked when they are read. */
  readonly salvage?: boolean | undefined
}
