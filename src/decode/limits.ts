// How much of a log is read at most.

import { constants as stringLimits } from 'node:buffer'

/** A row becomes a string, and no string is longer. */
export const LARGEST_ROW_BYTES = stringLimits.MAX_STRING_LENGTH

/** Limits that keep a hostile log from taking the machine. All in bytes. */
export interface DecodeLimits {
  /** Longest row, decompressed. */
  readonly maxRowBytes: number
  /** Largest zstd window. */
  readonly maxWindowBytes: number
  /** Largest log, decompressed. */
  readonly maxLogBytes: number
}

/** Limits no honest log comes near. */
export const DEFAULT_LIMITS: DecodeLimits = {
  maxRowBytes: 256 * 1024 * 1024,
  maxWindowBytes: 128 * 1024 * 1024,
  maxLogBytes: 64 * 1024 * 1024 * 1024,
}
